"""Models of other families under the same verbs, to compare with."""

from fewhot.baselines.lda import LDA

__all__ = ["LDA"]
