"""scikit-learn estimators around the models."""

from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.beta_tcvae import BetaTCVAE
from fewhot.estimators.gumbel_vae import GumbelVAE
from fewhot.estimators.hsvae import HSVAE
from fewhot.estimators.mat_vae import MATVAE
from fewhot.estimators.nfa import NFA
from fewhot.estimators.sdlgm import SDLGM
from fewhot.estimators.sdlgm_classifier import SDLGMClassifier
from fewhot.estimators.sdlgm_counter import SDLGMCounter
from fewhot.estimators.storage import load
from fewhot.estimators.vae import VAE
from fewhot.estimators.vsc import VSC

__all__ = [
    "HSVAE",
    "MATVAE",
    "NFA",
    "SDLGM",
    "VAE",
    "VSC",
    "BetaTCVAE",
    "GumbelVAE",
    "LatentEstimator",
    "SDLGMClassifier",
    "SDLGMCounter",
    "load",
]
