"""What `NFA` decides by the rows: which recipe there is behind the arguments that were left open."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.data import Dataset
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.histories import named_items
from fewhot.estimators.nfa_recipes import NFARecipe
from fewhot.estimators.row_kinds import COUNTS, LIKES, kind_of_rows
from fewhot.likelihoods.base import Likelihood


class NFASettings(LatentEstimator):
    """The recipe that was chosen for the rows, and what the arguments were with it."""

    weight_decay: float | None
    decoupled_weight_decay: bool | None
    kl_weight: float | None
    recipe_: str
    bytes_are_pixels = False  # this model is for counts
    _learns_pairs = False
    _mean_weight = 1.0

    @property
    def _is_judged_by_elbo(self) -> bool:
        return self.recipe_ != LIKES

    def _resolve(self, data: Dataset) -> None:
        """Choose the recipe by what the rows are, unless one is named: the one place where data decide of arguments."""
        of_images = data.spec.image_shape is not None
        of_proportions = self.likelihood in ("auto", "multinomial") and not of_images  # for which likes were measured
        kind, self._mean_weight = kind_of_rows(data)
        kind = LIKES if self._learns_pairs else kind
        self.recipe_ = self.recipe or (kind if of_proportions else COUNTS)
        if self.decoupled_weight_decay and not self._chosen("weight_decay"):
            raise InvalidParameterError(
                "decoupled_weight_decay=True, and weight_decay is 0; give weight_decay=0.1, say."
            )

    def _chosen_likelihood(self, spec: DataSpec) -> str | Likelihood:
        """Return the recipe's likelihood of proportions; pixels are none, and have what suits them."""
        of_images = getattr(self, "image_shape_", None) is not None and self.recipe is None
        return self.likelihood if of_images else super()._chosen_likelihood(spec)

    @property
    def _recipe(self) -> NFARecipe:
        recipe = self.recipes[self.recipe or getattr(self, "recipe_", None)]
        assert isinstance(recipe, NFARecipe)
        return recipe

    @property
    def settings_(self) -> dict[str, Any]:
        """What the arguments that a recipe decides were in the fit, by name: as given, or as the recipe has them."""
        check_is_fitted(self)
        of_recipe = {field.name for field in fields(NFARecipe)}
        chosen = {name: self._chosen(name) for name in self.get_params(deep=False) if name in of_recipe}
        own = {"decoupled_weight_decay": self._decays_decoupled, "kl_weight": self._weight_of_kl}
        return chosen | own | {"recipe": self.recipe_}

    @property
    def _decays_decoupled(self) -> bool:
        """Whether weight decay is decoupled: a recipe decides only of decay that is its own, too."""
        if self.decoupled_weight_decay is None and self.weight_decay is not None:
            return False
        return self._chosen("decoupled_weight_decay")

    @property
    def _weight_of_kl(self) -> float:
        """The weight of the divergence; that of likes is per mean weight of a like, whatever the scale of X."""
        is_scaled = self.kl_weight is None and self._recipe is self.recipes[LIKES]
        scale = self._mean_weight if is_scaled else 1.0
        return scale * self._chosen("kl_weight")

    def _n_steps(self, epoch: int, spec: DataSpec, *, streamed: bool = False) -> int:
        passes = self._recipe.max_epochs
        if passes is None or self.max_steps is not None or self.max_epochs is not None or streamed:
            return super()._n_steps(epoch, spec, streamed=streamed)
        return min(max(passes * epoch, self._recipe.min_steps), self._recipe.max_steps)

    def _fitted_state(self) -> dict[str, Any]:
        names = None if getattr(self, "items_", None) is None else self.items_.tolist()
        chosen = {"recipe": self.recipe_, "mean_weight": self._mean_weight}
        return {**super()._fitted_state(), **chosen, "items": names}

    def _restore_state(self, state: dict[str, Any]) -> None:
        super()._restore_state(state)
        self.recipe_ = one_of("recipe", state.get("recipe") or self.recipe or COUNTS, [*self.recipes])
        self._mean_weight = float(state.get("mean_weight", 1.0))
        if state.get("items") is not None:
            self.items_ = named_items(state["items"])
