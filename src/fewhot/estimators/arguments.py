"""What every estimator is told: its arguments, the recipe behind those left open, and their checks."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from torch import nn

from fewhot.core.checks import one_of, real_number, truth, whole_number
from fewhot.core.devices import PRECISIONS
from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import DataSpec
from fewhot.core.registry import LIKELIHOODS
from fewhot.core.seeding import resolve_seed
from fewhot.estimators.recipes import Recipe
from fewhot.likelihoods import MultinomialLikelihood
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse
from fewhot.nn import Pretrained
from fewhot.nn.conv import CHANNELS
from fewhot.nn.gru import N_HIDDEN
from fewhot.training import Callback, RunFolder
from fewhot.training.callbacks import as_callback
from fewhot.training.capture import CHOICES

PASSES, MIN_STEPS = 100, 3000
"""The default length of a fit: so many passes over the rows, and steps. Chosen on 14 real tables: see decision 0035."""
PASSES_OF_BAGS, MIN_STEPS_OF_BAGS, RATE_OF_BAGS = 40, 1500, 2e-3
"""The same, and the learning rate, for texts as bags of words: see decision 0029."""
_TRAINING_ARGUMENTS = frozenset(
    [
        "max_steps",
        "max_epochs",
        "batch_size",
        "learning_rate",
        "validation_fraction",
        "n_iter_no_change",
        "warm_start",
        "refine_steps",
        "device",
        "precision",
        "compile",
        "random_state",
        "verbose",
        "callbacks",
        "sparse_output",
        "max_active",
        "threshold",
        "threshold_average",
        "n_folds",
        "drop_unlabelled",
    ]
)
"""Arguments that may change while a model is trained further; all others say what the model is."""


class Arguments(BaseEstimator):
    """The arguments of a latent variable model, as given and as chosen."""

    recipes: ClassVar[dict[str | None, Recipe]] = {None: Recipe()}
    # Parameters that every subclass declares in its constructor.
    n_components: int
    hidden_layer_sizes: Any
    likelihood: Any
    observation: str
    encoder: Any
    against_collapse: AgainstCollapse | None
    max_steps: int | None
    max_epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    validation_fraction: float
    n_iter_no_change: int | None
    warm_start: bool
    refine_steps: int
    recipe: str | None
    device: Any
    precision: str
    compile: Any
    random_state: Any
    verbose: int
    callbacks: Any

    def _structure(self) -> dict[str, str]:
        return {name: repr(v) for name, v in self.get_params(deep=False).items() if name not in _TRAINING_ARGUMENTS}

    def _n_steps(self, epoch: int, spec: DataSpec, *, streamed: bool = False) -> int:
        """Return the length of a fit whose passes take ``epoch`` steps each; rows that are streamed are not counted."""
        if self.max_epochs is None:
            scaled = self.max_steps is None and self.recipe is None and not streamed
            longest = self._chosen("max_steps")
            passes, least = (PASSES_OF_BAGS, MIN_STEPS_OF_BAGS) if self._says_bags(spec) else (PASSES, MIN_STEPS)
            return min(longest, max(least, passes * epoch)) if scaled else longest
        steps = self.max_epochs * epoch
        return steps if self.max_steps is None else min(steps, self.max_steps)

    def _callbacks(self) -> tuple[RunFolder | None, list[Callback]]:
        if not isinstance(self.callbacks, list | tuple | None):
            raise InvalidParameterError(
                f"callbacks is {self.callbacks!r}; it must be a list, such as [RunFolder(path)]."
            )
        given = list(self.callbacks or [])
        runs = [item for item in given if isinstance(item, RunFolder)]
        if len(runs) > 1:
            raise InvalidParameterError("callbacks holds more than one RunFolder; a fit writes to one.")
        return next(iter(runs), None), [as_callback(item) for item in given if not isinstance(item, RunFolder)]

    def _seed_for(self, run: RunFolder | None) -> int:
        """Return the seed of a fresh fit; one without a random_state that resumes takes its folder's."""
        known = run.seed if run is not None and self.random_state is None else None
        return resolve_seed(self.random_state) if known is None else known

    def _chosen(self, name: str) -> Any:
        """Return an argument, or the recipe's value where it was left open."""
        value = getattr(self, name)
        return getattr(self._recipe, name) if value is None or _is_auto(value) else value

    @property
    def _recipe(self) -> Recipe:
        """The choices for everything left open."""
        return self.recipes[self.recipe]

    def _chosen_likelihood(self, spec: DataSpec) -> str | Likelihood:
        recipe = self._recipe
        if not _is_auto(self.likelihood):
            return self.likelihood
        if recipe.likelihood != "auto":
            return LIKELIHOODS[recipe.likelihood](spec.n_columns, **dict(recipe.likelihood_options))
        return "multinomial" if spec.kind == "text" and not self._says_words(spec) else "auto"

    def _chosen_encoder(self, spec: DataSpec | None = None) -> Any:
        """Return what reads the rows; texts that are said word by word are read so, too."""
        if not _is_auto(self.encoder):
            return self.encoder
        return "gru" if spec is not None and self._says_words(spec) else self._recipe.encoder

    def _says_words(self, spec: DataSpec) -> bool:
        """Say whether such rows are texts that the model says word by word, and not bags of words.

        So it does for an encoder that reads them in order, and in a recipe. Recurrent networks take hours on a CPU.
        """
        return spec.kind == "text" and self._takes_words_in_order

    @property
    def _takes_words_in_order(self) -> bool:
        is_open = _is_auto(self.likelihood) and self._recipe.likelihood == "auto"
        return is_open and (self.recipe is not None or _reads_in_order(self.encoder))

    @property
    def _tokeniser(self) -> str:
        """How strings are cut: numbers and marks are left out of bags of words."""
        return "plain" if self._takes_words_in_order or _reads_in_order(self.encoder) else "words"

    def _says_bags(self, spec: DataSpec) -> bool:
        """Say whether such rows are texts that the model takes for bags of words by its defaults."""
        if spec.kind != "text" or _reads_in_order(self.encoder):
            return False
        likelihood = self._chosen_likelihood(spec)
        of_counts = isinstance(likelihood, MultinomialLikelihood) or likelihood == "multinomial"
        return of_counts and self.recipe is None and self._recipe.likelihood == "auto"

    def _rate_of_steps(self, spec: DataSpec) -> float:
        """Return the learning rate: that of bags of words is larger, for their fits are shorter."""
        return RATE_OF_BAGS if self.learning_rate is None and self._says_bags(spec) else self._chosen("learning_rate")

    def _hidden_layer_sizes(self, spec: DataSpec | None = None) -> Any:
        """Return the widths of the layers; convolutions and recurrent networks have their own where none are given."""
        own = {"conv": CHANNELS, "gru": (N_HIDDEN,)}
        encoder = self._chosen_encoder(spec)
        if self.hidden_layer_sizes is None and isinstance(encoder, str) and encoder in own:
            return own[encoder]
        return self._chosen("hidden_layer_sizes")

    def _model_arguments(self, spec: DataSpec) -> dict[str, Any]:
        return {
            "n_latent": self.n_components,
            "hidden_layer_sizes": tuple(self._hidden_layer_sizes(spec)),
            "encoder": self._chosen_encoder(spec),
            "likelihood": self._chosen_likelihood(spec),
            "observation": self._chosen("observation"),
        }

    def _check_parameters(self) -> None:
        one_of("recipe", self.recipe, list(self.recipes))
        whole_number("n_components", self.n_components)
        for name in ("max_steps", "max_epochs", "batch_size", "n_iter_no_change"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        whole_number("refine_steps", self.refine_steps, least=0)
        if not isinstance(self.verbose, bool | np.bool_):
            whole_number("verbose", self.verbose, least=0)
        for name in ("warm_start", "sparse_output"):
            truth(name, getattr(self, name, False))
        if self.learning_rate is not None:
            real_number("learning_rate", self.learning_rate, low=0, open_low=True)
        real_number("validation_fraction", self.validation_fraction, low=0, high=0.9)
        one_of("precision", self.precision, PRECISIONS)
        one_of("compile", self.compile, CHOICES)
        if isinstance(self.likelihood, str) and not _is_auto(self.likelihood):
            LIKELIHOODS[self.likelihood]
        sizes = self._hidden_layer_sizes()
        if isinstance(sizes, str) or not np.iterable(sizes) or not isinstance(sizes, Sized) or not len(sizes):
            raise InvalidParameterError(
                f"hidden_layer_sizes is {sizes!r}; it must be a sequence of whole numbers, such as (400,)."
            )
        for size in sizes:
            whole_number("each of hidden_layer_sizes", size)
        if not isinstance(self.against_collapse, AgainstCollapse | None):
            raise InvalidParameterError(
                f"against_collapse is {self.against_collapse!r}; give it a fewhot.models.AgainstCollapse, or None."
            )


def _reads_in_order(encoder: Any) -> bool:
    """Say whether an encoder goes through the words of a text, and does not count them."""
    is_module = isinstance(encoder, nn.Module) and not isinstance(encoder, Part)
    return is_module or isinstance(encoder, Pretrained) or (isinstance(encoder, str) and encoder == "gru")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
