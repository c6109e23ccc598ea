"""Training: a pure step, a loop around it, and everything that makes long work safe."""

from fewhot.training.callbacks import Callback
from fewhot.training.run_folder import RunFolder
from fewhot.training.settings import Settings
from fewhot.training.trainer import Trainer

__all__ = ["Callback", "RunFolder", "Settings", "Trainer"]
