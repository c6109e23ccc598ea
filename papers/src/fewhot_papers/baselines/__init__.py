"""Models that papers compare with, under the verbs of `fewhot.baselines`; `fewhot.load` reads what they save."""

from fewhot_papers.baselines.cdae import CDAE
from fewhot_papers.baselines.slim import SLIM
from fewhot_papers.baselines.text_classifier import TextClassifier

__all__ = ["CDAE", "SLIM", "TextClassifier"]
