"""Recipes: named sets of training choices; whatever a user states explicitly overrides them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a constructor argument left at None or "auto" becomes.

    Attributes
    ----------
    hidden_layer_sizes, max_steps, batch_size, learning_rate
        Networks and optimisation.
    encoder
        The encoder's body, mirrored in the decoder.
    observation
        What happens to rows before the model sees them.
    likelihood
        A likelihood's name, or "auto" for what the data suggest.
    likelihood_options
        Arguments of that likelihood.
    clips
        Whether gradients much longer than usual are shortened.
    source
        Where the recipe comes from.
    about
        What it does, in the words of the estimator's documentation.
    """

    hidden_layer_sizes: tuple[int, ...] = (400,)
    max_steps: int = 20_000
    batch_size: int = 200
    learning_rate: float = 1e-3
    encoder: str = "auto"
    observation: str = "as-is"
    likelihood: str = "auto"
    likelihood_options: tuple[tuple[str, object], ...] = ()
    clips: bool = True
    source: str = "chosen by measurement"
    about: str = ""
