"""scikit-learn estimators around the models."""

from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.beta_tcvae import BetaTCVAE
from fewhot.estimators.storage import load
from fewhot.estimators.vae import VAE
from fewhot.estimators.vsc import VSC

__all__ = ["VAE", "VSC", "BetaTCVAE", "LatentEstimator", "load"]
