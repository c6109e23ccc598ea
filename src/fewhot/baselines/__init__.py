"""Models of other families under the same verbs, to compare with: recommenders, topics of word counts, label heads.

Other packages add theirs by entry points of the group ``fewhot.baselines``, so that `fewhot.load` reads them, too.
"""

from fewhot.baselines.ease import EASE
from fewhot.baselines.label_head import LabelHead
from fewhot.baselines.lda import LDA
from fewhot.baselines.mult_vae import MultVAE
from fewhot.baselines.popularity import Popularity
from fewhot.baselines.wmf import WMF

__all__ = ["EASE", "LDA", "WMF", "LabelHead", "MultVAE", "Popularity"]
