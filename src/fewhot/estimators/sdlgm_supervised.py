"""What SDLGM's classifier and counter share: labels beside the rows, and a code whose first units stand for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch

from fewhot.core.checks import one_of, real_number, weight, whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.records import Batch, DataSpec, Knobs
from fewhot.core.seeding import derive_seed
from fewhot.data import Dataset, LabelledDataset
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.label_references import label_references_of
from fewhot.estimators.labels import as_tensor, check_columns, check_label_names, classes_of
from fewhot.estimators.recipes import Recipe
from fewhot.estimators.references import some_rows
from fewhot.latents import SlotCountsLatent
from fewhot.metrics.code_kinds import encoded
from fewhot.metrics.label_numbers import count_numbers, label_numbers
from fewhot.metrics.label_references import LabelReferences
from fewhot.metrics.linear_labels import Target
from fewhot.metrics.summary import Number
from fewhot.models.latent_model import LatentModel
from fewhot.models.sdlgm_labels import FARTHEST, FEATURES, VARIANTS, sdlgm_labels
from fewhot.objectives.labels import KINDS

_HALF_A_ROW = 0.5
"""Counted for and against every label, so that one all rows have leaves a slope."""
_EXACT = Knobs(gates="exact")
_THROUGH_SOFT_CODES = "separate-concrete"
MOST_PROBABILITIES = 5_000_000
"""How many are looked at after a fit: of rows with a thousand labels, 5,000 rows."""
SLOTS_PER_LABEL = 4
"""How many times as many slots there are as a row has labels, where "presence" asks whether each is there."""
MOST_SLOTS = 1_000_000
"""A step has a number for every slot of every row of a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisedRecipe(Recipe):
    """Choices for rows with labels, which are often few.

    ``starts_at_rates`` lets slots of one law begin as often with a label as rows have it, and ``limit`` is from how
    many deviations on features grow with their logarithm.
    """

    hidden_layer_sizes: tuple[int, ...] = (200,)
    max_steps: int = 10_000
    batch_size: int = 100
    starts_at_rates: bool = True
    limit: float | None = FARTHEST


_AS_PUBLISHED = SupervisedRecipe(
    hidden_layer_sizes=(100,),
    max_steps=2000,
    starts_at_rates=False,
    limit=None,
    source="Xu, Onoro Rubio, Serra and Niepert",
    about="begins with slots that are on half the time and prefer no label, and standardizes columns with long tails "
    "as any other, as published.",
)


class SupervisedSDLGM(LatentEstimator):
    """Labels as counts from slots. Subclasses say what labels are, and what becomes of their probabilities."""

    recipes: ClassVar[dict[str | None, Recipe]] = {None: SupervisedRecipe(), "xu": _AS_PUBLISHED}

    labelled = True
    _target: ClassVar[Target]
    """What labels are."""

    variant: str
    n_slots: int | None
    slots: str = "shared"
    label_loss: str = "count"
    label_weight: float
    label_smoothing: float = 0.0
    kl_weight: float
    features: str
    dropout: float
    hidden_dropout: float
    weight_decay: float
    n_labels_: int
    n_slots_: int
    classes_: np.ndarray
    label_references_: LabelReferences | None
    _held_out_scores: dict[str, float] | None

    def _labels(self, y: Any, n_rows: int, name: str = "y") -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say its labels; define _labels(y, n_rows).")

    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X
            Rows, (n, p).
        y
            Their labels, (n, K).
        X_val, y_val
            Held-out rows and labels for early stopping; None holds out ``validation_fraction`` of X when
            ``n_iter_no_change`` is set.
        """
        if X_val is None and y_val is not None:
            raise InvalidInputError("y_val was given without X_val; give the rows of these labels, too.")
        return self._fit_rows((X, y), (X_val, y_val), further=self.warm_start)

    def elbo(self, X: Any) -> np.ndarray:
        """Return the evidence lower bound of each row in nats, without its labels: exact codes, KL weight 1, (n,)."""
        return super().score_samples(X)

    def _training_rows(self, X: Any, y: Any, *, goes_on: bool) -> LabelledDataset:
        self._check_refinement()
        data = super()._training_rows(X, y, goes_on=goes_on)
        labels = self._labels(y, data.n_rows)
        if goes_on:
            self._known(labels, "y")
            check_label_names(y, self.classes_)
        else:
            self.n_labels_ = labels.shape[1]
            self.n_slots_ = self._slots_for(labels)
            self.classes_ = classes_of(y, self.n_labels_)
        return LabelledDataset(data, as_tensor(labels))

    def _held_out_rows(self, X_val: Any, y_val: Any) -> LabelledDataset:
        data = super()._held_out_rows(X_val, y_val)
        labels = self._known(self._labels(y_val, data.n_rows, "y_val"), "y_val")
        check_label_names(y_val, self.classes_, "y_val")
        return LabelledDataset(data, as_tensor(labels))

    def _known(self, labels: np.ndarray, name: str) -> np.ndarray:
        """Return labels that the fitted model can have; refuse others."""
        check_columns(labels, self.n_labels_, name)
        most = int(labels.sum(axis=1).max(initial=0))
        if self.label_loss == "count" and most > self.n_slots_:
            raise InvalidInputError(
                f"A row of {name} has {most} labels and the model {self.n_slots_} slots; fit it with n_slots={most}."
            )
        return labels

    def _keep_references(self, train: Dataset | None, held_out: Dataset | None) -> None:
        """Keep simple models of the labels, too, and what the model and they make of held-out rows."""
        super()._keep_references(train, held_out)
        self.label_references_, self._held_out_scores = None, None
        if train is None:
            return
        assert isinstance(train, LabelledDataset)
        assert held_out is None or isinstance(held_out, LabelledDataset)
        if held_out is not None:
            most = max(1, MOST_PROBABILITIES // self.n_labels_)
            held_out = some_rows(held_out, most, derive_seed(self.seed_, "held-out labels")).to(train.device)
        average = getattr(self, "threshold_average", "micro")
        self.label_references_ = label_references_of(self.module_, train, held_out, self.seed_, self._target, average)
        if held_out is not None:
            numbers = self._numbers_of(held_out, held_out.labels.cpu().numpy())
            found = {number.name: number.value for number in numbers if np.isfinite(number.value)}
            self._held_out_scores = {"n_rows": held_out.n_rows, **found}

    def _label_numbers(self, data: Dataset, y: Any) -> list[Number]:
        """Return how well the labels y of rows are predicted, and how well by the references."""
        labels = self._labels(y, data.n_rows)
        check_columns(labels, self.n_labels_)
        check_label_names(y, self.classes_)
        return self._numbers_of(data, labels)

    def _numbers_of(self, data: Dataset, labels: np.ndarray) -> list[Number]:
        return (label_numbers if self._target == "labels" else count_numbers)(self, data, labels)

    def _check_refinement(self) -> None:
        """Refuse to fit a model that would refine codes and has no bound to refine them by."""
        if self.refine_steps and self.variant == "dis":
            raise InvalidParameterError(
                f"refine_steps is {self.refine_steps}, and variant='dis' has no bound on rows to refine codes by; give "
                f"refine_steps=0, variant='gen' or variant='con'."
            )

    def _slots_for(self, labels: np.ndarray) -> int:
        """Return how many slots there are: as asked, or by how many labels the row with the most of them has.

        A label by itself is there with probability 1 - (1 - 1/n)^n where n slots are shared by n sure labels, which is
        .63; with four times as many slots .98 can be said.
        """
        most = max(1, int(labels.sum(axis=1).max(initial=1)))
        if self.n_slots is None and most > MOST_SLOTS:
            raise InvalidInputError(
                f"A row of y counts {most:.3g} things, each of which needs a slot, and there are at most "
                f"{MOST_SLOTS:,} slots; count in larger units."
            )
        if self.n_slots is None:
            return min(SLOTS_PER_LABEL * most, MOST_SLOTS) if self.label_loss == "presence" else most
        if self.label_loss == "count" and self.n_slots < most:
            raise InvalidParameterError(
                f"n_slots is {self.n_slots} and a row has {most} labels, which so few slots cannot say; give at least "
                f"{most}{', or another label_loss' if 'label_loss' in self.get_params(deep=False) else ''}."
            )
        return int(self.n_slots)

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        arguments = self._model_arguments(spec)
        arguments["n_latent"] = self.n_labels_ + (self.n_components if self.variant == "con" else 0)
        return sdlgm_labels(
            spec,
            **arguments,
            n_labels=self.n_labels_,
            n_slots=self.n_slots_,
            shared=self.slots == "shared",
            variant=self.variant,
            label_loss=self.label_loss,
            label_weight=self.label_weight,
            label_smoothing=self.label_smoothing,
            kl_weight=self.kl_weight,
            estimator=_THROUGH_SOFT_CODES if self.label_loss == "sample" else "second-order",
            features=self.features,
            limit=self._recipe.limit,
            dropout=self.dropout,
            hidden_dropout=self.hidden_dropout,
            weight_decay=self.weight_decay,
            n_steps=n_steps,
        )

    def _new_module(self, train: Dataset, seed: int, n_steps: int) -> LatentModel:
        assert isinstance(train, LabelledDataset)
        module = super()._new_module(train, seed, n_steps)
        if self._recipe.starts_at_rates and self.slots == "shared":
            assert isinstance(module.latent, SlotCountsLatent)
            module.latent.start_at(self._chances(train.labels.double().cpu()).float())
        return module

    def _chances(self, labels: torch.Tensor) -> torch.Tensor:
        """Return how often a slot begins with each label, so that rows have it as often as training rows, (K,)."""
        n_rows, counts = len(labels), self.label_loss == "count"
        if counts:
            return labels.mean(0) / self.n_slots_
        rates = (labels.sum(0) + _HALF_A_ROW) / (n_rows + 2 * _HALF_A_ROW)
        return -torch.expm1(torch.log1p(-rates) / self.n_slots_)

    @property
    def _recipe(self) -> SupervisedRecipe:
        recipe = self.recipes[self.recipe]
        assert isinstance(recipe, SupervisedRecipe)
        return recipe

    def _of_labels(self, X: Any, what: str) -> np.ndarray:
        """Return a property of each row's law of counts, of the units that stand for labels, (n, K)."""
        return self._of_encoded(encoded(self, X), what)

    def _of_encoded(self, batches: Iterable[tuple[Batch, Any]], what: str) -> np.ndarray:
        parts = []
        for _, psi in batches:
            law = self.module_.latent.posterior(psi, _EXACT)
            parts.append(getattr(law, what)[:, : self.n_labels_].cpu().numpy())
        return np.concatenate(parts)

    def _fitted_state(self) -> dict[str, Any]:
        return {
            "n_labels": self.n_labels_,
            "n_slots": self.n_slots_,
            "classes": self.classes_.tolist(),
            "held_out_scores": self._held_out_scores,
        }

    def _restore_state(self, state: dict[str, Any]) -> None:
        self.n_labels_, self.n_slots_ = int(state["n_labels"]), int(state["n_slots"])
        self._held_out_scores = state.get("held_out_scores")
        classes = state.get("classes") or list(range(self.n_labels_))
        self.classes_ = np.asarray(classes, dtype=None if isinstance(classes[0], int) else object)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("variant", self.variant, VARIANTS)
        one_of("label_loss", self.label_loss, KINDS)
        one_of("features", self.features, FEATURES)
        if self.n_slots is not None and whole_number("n_slots", self.n_slots) > MOST_SLOTS:
            raise InvalidParameterError(f"n_slots is {self.n_slots}; it must be at most {MOST_SLOTS:,}.")
        real_number("label_weight", self.label_weight, low=0, open_low=True)
        weight("kl_weight", self.kl_weight)
        real_number("dropout", self.dropout, low=0, high=0.99)
        real_number("hidden_dropout", self.hidden_dropout, low=0, high=0.99)
        real_number("weight_decay", self.weight_decay, low=0)
