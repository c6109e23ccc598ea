"""The GumbelVAE estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from fewhot.core.checks import one_of, truth, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.discrete import check_discrete, discrete_arguments
from fewhot.estimators.documentation import documented
from fewhot.estimators.recipes import Recipe
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, gumbel_vae
from fewhot.models.latent_model import LatentModel

KINDS = ("categorical", "bernoulli")


@dataclass(frozen=True, slots=True, kw_only=True)
class GumbelVAERecipe(Recipe):
    """What else a recipe of `GumbelVAE` decides: how choices are trained, and whether the rate stays."""

    estimator: str = "second-order"
    faithful: bool = False


@ESTIMATORS.register("GumbelVAE")
@documented
class GumbelVAE(LatentEstimator):
    r"""Variational autoencoder with discrete codes: one-hot vectors side by side, or units that are on or off.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \sum_n C(\pi_n\,\|\,\kappa_n)

    where C is the divergence of a row's choice from the prior's. Named after the relaxation it was published with;
    scores are always of exact codes.

    Parameters
    ----------
    n_components : int, default=64
        Width of the code.
    kind : {"categorical", "bernoulli"}, default="categorical"
        Groups of ``n_classes`` units of which exactly one is on, or units that are on or off one by one.
    n_classes : int, default=8
        Units of a group; ``n_components`` must be a multiple of it. Not for "bernoulli".
    learn_prior : bool, default=False
        Whether the prior's probabilities are learned; else every class, and on as off, are as likely.
    {discrete}
    sparse_output : bool, default=True
        Whether `transform` returns a `scipy.sparse.csr_array` or a dense array.
    {shared}

    Attributes
    ----------
    {learned}

    References
    ----------
    Jang, Gu and Poole (2017), Categorical reparameterization with Gumbel-softmax; Maddison, Mnih and Teh (2017).

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> Z = fh.GumbelVAE(n_components=12, n_classes=4, max_steps=20, random_state=0).fit_transform(X)
    >>> set(Z.sum(axis=1).tolist())
    {3.0}
    """

    recipes: ClassVar[dict[str | None, Recipe]] = {
        None: GumbelVAERecipe(),
        "jang2017": GumbelVAERecipe(
            hidden_layer_sizes=(512, 256),
            max_steps=50_000,
            batch_size=100,
            likelihood="bernoulli",
            estimator="concrete",
            faithful=True,
            clips=False,
            source="Jang, Gu and Poole's notebook",
            about="trains on soft codes with their networks and a constant rate; give ``n_components=300``, "
            "``n_classes=10``, ``temperature_decay=3e-5``.",
        ),
    }

    def __init__(
        self,
        n_components: int = 64,
        *,
        kind: str = "categorical",
        n_classes: int = 8,
        learn_prior: bool = False,
        estimator: str = "auto",
        temperature: float = 1.0,
        temperature_decay: float = 0.0,
        least_temperature: float = 0.5,
        n_draws: int | None = None,
        sparse_output: bool = True,
        hidden_layer_sizes: Sequence[int] | None = None,
        likelihood: str | Likelihood = "auto",
        observation: str = "auto",
        encoder: str | nn.Module = "auto",
        against_collapse: AgainstCollapse | None = None,
        max_steps: int | None = None,
        max_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = 10,
        warm_start: bool = False,
        refine_steps: int = 0,
        recipe: str | None = None,
        device: str = "auto",
        precision: str = "auto",
        compile: str | bool = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.n_classes = n_classes
        self.learn_prior = learn_prior
        self.estimator = estimator
        self.temperature = temperature
        self.temperature_decay = temperature_decay
        self.least_temperature = least_temperature
        self.n_draws = n_draws
        self.sparse_output = sparse_output
        self.hidden_layer_sizes = hidden_layer_sizes
        self.likelihood = likelihood
        self.observation = observation
        self.encoder = encoder
        self.against_collapse = against_collapse
        self.max_steps = max_steps
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.refine_steps = refine_steps
        self.recipe = recipe
        self.device = device
        self.precision = precision
        self.compile = compile
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        recipe = self.recipes[self.recipe]
        assert isinstance(recipe, GumbelVAERecipe)
        return gumbel_vae(
            spec,
            **self._model_arguments(spec),
            **discrete_arguments(self),
            n_classes=self.n_classes,
            binary=self.kind == "bernoulli",
            learn_prior=self.learn_prior,
            faithful=recipe.faithful,
            n_steps=n_steps,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_discrete(self)
        one_of("kind", self.kind, KINDS)
        truth("learn_prior", self.learn_prior)
        whole_number("n_classes", self.n_classes, least=2)
        if self._chosen("estimator") == "separate-concrete":
            raise InvalidParameterError(
                "estimator='separate-concrete' has gates of its own, which only SDLGM has; give 'concrete'."
            )
        if self.kind == "categorical" and self.n_components % self.n_classes:
            raise InvalidParameterError(
                f"n_components is {self.n_components}, which choices among {self.n_classes} classes do not fill; "
                f"give a multiple of n_classes={self.n_classes}."
            )
