"""Models: short compositions of parts around one module."""

from fewhot.models.against_collapse import AgainstCollapse
from fewhot.models.beta_tcvae import beta_tcvae
from fewhot.models.decoder import ConvDecoder, Decoder
from fewhot.models.defaults import decoder_for, encoder_for, likelihood_for, observation_for
from fewhot.models.encoder import Encoder
from fewhot.models.gumbel_vae import gumbel_vae
from fewhot.models.hsvae import hsvae
from fewhot.models.latent_model import LatentModel
from fewhot.models.mat_vae import mat_vae
from fewhot.models.nfa import nfa
from fewhot.models.sdlgm import sdlgm
from fewhot.models.sdlgm_labels import sdlgm_labels
from fewhot.models.vae import vae
from fewhot.models.vsc import vsc

__all__ = [
    "AgainstCollapse",
    "ConvDecoder",
    "Decoder",
    "Encoder",
    "LatentModel",
    "beta_tcvae",
    "decoder_for",
    "encoder_for",
    "gumbel_vae",
    "hsvae",
    "likelihood_for",
    "mat_vae",
    "nfa",
    "observation_for",
    "sdlgm",
    "sdlgm_labels",
    "vae",
    "vsc",
]
