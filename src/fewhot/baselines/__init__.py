"""Models of other families under the same verbs, to compare with: recommenders, topics of word counts, classifiers."""

from fewhot.baselines.cdae import CDAE
from fewhot.baselines.ease import EASE
from fewhot.baselines.label_head import LabelHead
from fewhot.baselines.lda import LDA
from fewhot.baselines.mult_vae import MultVAE
from fewhot.baselines.popularity import Popularity
from fewhot.baselines.slim import SLIM
from fewhot.baselines.text_classifier import TextClassifier
from fewhot.baselines.wmf import WMF

__all__ = ["CDAE", "EASE", "LDA", "SLIM", "WMF", "LabelHead", "MultVAE", "Popularity", "TextClassifier"]
