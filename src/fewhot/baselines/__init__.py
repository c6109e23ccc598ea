"""Recommenders to compare with, all with the same verbs: ``fit``, ``score_items``, ``recommend``."""

from fewhot.baselines.cdae import CDAE
from fewhot.baselines.ease import EASE
from fewhot.baselines.popularity import Popularity
from fewhot.baselines.slim import SLIM
from fewhot.baselines.wmf import WMF

__all__ = ["CDAE", "EASE", "SLIM", "WMF", "Popularity"]
