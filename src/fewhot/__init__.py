"""Few-hot codes: sparse latent representations from variational autoencoders, with a scikit-learn face.

>>> import fewhot as fh
>>> sorted(name for name in fh.__all__ if name.isupper())
['HSVAE', 'MATVAE', 'NFA', 'SDLGM', 'VAE', 'VSC']
"""

import os
import sys
from typing import TYPE_CHECKING, Any

if (
    "torch" not in sys.modules
):  # threads that wait give way after microseconds: as quick alone, up to twice so in company
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from fewhot.core.errors import FewhotError as FewhotError
from fewhot.core.loaders import register_loader
from fewhot.core.registry import register_part as register_part
from fewhot.core.version import __version__ as __version__

if TYPE_CHECKING:
    from fewhot.codes import Codes as Codes
    from fewhot.estimators import HSVAE as HSVAE
    from fewhot.estimators import MATVAE as MATVAE
    from fewhot.estimators import NFA as NFA
    from fewhot.estimators import SDLGM as SDLGM
    from fewhot.estimators import VAE as VAE
    from fewhot.estimators import VSC as VSC
    from fewhot.estimators import BetaTCVAE as BetaTCVAE
    from fewhot.estimators import GumbelVAE as GumbelVAE
    from fewhot.estimators import SDLGMClassifier as SDLGMClassifier
    from fewhot.estimators import SDLGMCounter as SDLGMCounter
    from fewhot.estimators import load as load
    from fewhot.training import Callback as Callback
    from fewhot.training import RunFolder as RunFolder

_HOMES = {
    "HSVAE": "fewhot.estimators",
    "MATVAE": "fewhot.estimators",
    "NFA": "fewhot.estimators",
    "SDLGM": "fewhot.estimators",
    "VAE": "fewhot.estimators",
    "VSC": "fewhot.estimators",
    "BetaTCVAE": "fewhot.estimators",
    "GumbelVAE": "fewhot.estimators",
    "SDLGMClassifier": "fewhot.estimators",
    "SDLGMCounter": "fewhot.estimators",
    "load": "fewhot.estimators",
    "Codes": "fewhot.codes",
    "Callback": "fewhot.training",
    "RunFolder": "fewhot.training",
}
_SUBPACKAGES = (
    *("baselines", "bench", "codes", "data", "distributions", "estimators", "likelihoods", "metrics", "models"),
    *("plots", "report", "search", "training"),
)

register_loader("baseline", "fewhot.baselines.storage:restore")

__all__ = [
    "HSVAE",
    "MATVAE",
    "NFA",
    "SDLGM",
    "VAE",
    "VSC",
    "BetaTCVAE",
    "Callback",
    "Codes",
    "FewhotError",
    "GumbelVAE",
    "RunFolder",
    "SDLGMClassifier",
    "SDLGMCounter",
    "load",
    "register_part",
]


def __getattr__(name: str) -> Any:
    """Load the rest on first use, so that importing the package stays quick."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _SUBPACKAGES:
        return import_module(f"fewhot.{name}")
    raise AttributeError(f"module 'fewhot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES, "__version__"])
