"""The contract of an inference procedure: which psi a batch gets in training, and which phases a step has."""

from __future__ import annotations

from fewhot.core.parts import Configurable
from fewhot.inference.phases import Model, Phase


class Inference(Configurable):
    """How local and global parameters are found.

    A procedure may change over training, at steps that it names: its stages. The first has all phases; a later one has
    the same, over the same parameters and with other losses, or the first few of them.
    """

    n_stages: int = 1
    compiles: bool = True
    """Whether a step's losses are worth compiling."""

    def stage(self, step: int) -> int:
        """Return the stage that a step belongs to, from 0."""
        return 0

    def phases(self, model: Model, stage: int = 0) -> list[Phase]:
        """Return the phases of a step."""
        raise TypeError(f"{type(self).__name__} does not say its phases; define phases(model, stage).")

    @property
    def steps_a_row(self) -> int:
        """How many steps of refinement a row's code needs at least; 0 where the encoder's word is good enough."""
        return 0

    @property
    def steps_in_training(self) -> int:
        """How many steps of refinement rows get in training."""
        return 0
