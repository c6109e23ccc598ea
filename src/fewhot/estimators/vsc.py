"""The VSC estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import nn

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.documentation import documented
from fewhot.estimators.gated import GatedEstimator
from fewhot.estimators.recipes import Recipe
from fewhot.likelihoods.base import Likelihood
from fewhot.models import vsc
from fewhot.models.latent_model import LatentModel

PUBLISHED_RATE = 0.01


@ESTIMATORS.register("VSC")
@documented
class VSC(GatedEstimator):
    r"""Variational sparse coding: codes in which a few units are on, chosen anew for every row.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \sum_j \big[\gamma_j\,G_j + B(\gamma_j\,\|\,\rho_j)\big]

    where unit j is on with probability :math:`\gamma_j` given the row and :math:`\rho_j` in the prior, :math:`G_j` is
    the KL divergence of its Gaussian value from the prior's, and B that of one coin from another,
    :math:`B(\gamma\,\|\,\rho) = \gamma\log\frac{\gamma}{\rho} + (1-\gamma)\log\frac{1-\gamma}{1-\rho}`.

    Parameters
    ----------
    n_components : int, default=64
        Number of units to choose from.
    alpha : float, default=None
        Fix the prior's on-rate of every unit, with a standard slab, and let the data decide how many units are on.
    density : float, default=None
        Ask for this mean share of active units; the prior's rates and slabs are learned and a controller holds the
        share.
    l0 : float, default=None
        Ask for this mean number of active units. At most one of ``alpha``, ``density`` and ``l0`` may be given; none
        means ``density=0.05``, at least 4 units.
    max_active : int, default=None
        A ceiling on the active units of each row when encoding: the most probable ones stay.
    prior : {"fixed", "joint"}, default="fixed"
        "fixed" takes units to be independent, with rates fixed by ``alpha`` or learned; "joint" learns which units go
        together and what their values are then, and needs ``density`` or ``l0``. Neither depends on the row that is
        coded.
    sparse_output : bool, default=True
        Whether `transform` returns a `scipy.sparse.csr_array` or a dense array.
    {shared}

    Attributes
    ----------
    {learned}
    gate_shift_ : float
        What was added to every gate's logit at the end, so that held-out rows have the number of active units that was
        asked for; at most 1 in size.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational Sparse Coding.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> Z = fh.VSC(n_components=16, l0=2, max_steps=20, random_state=0).fit_transform(X)
    >>> type(Z).__name__, Z.shape
    ('csr_array', (100, 16))
    """

    recipes: ClassVar[dict[str | None, Recipe]] = {
        None: Recipe(),
        "iclr2019": Recipe(
            batch_size=100,
            observation="unit-norm",
            likelihood="gaussian",
            likelihood_options=(("floor", 1e-6), ("standardise", False)),
            source="Tonolini et al., ICLR 2019 submission; the batch size is not given there",
            about="trains as first published, with unit-norm rows, Gaussian likelihood, log rate -ReLU(-v), soft gates "
            "sharpened from 50 to 200, no warm-up and ``alpha=0.01``; it tends to shut its gates.",
        ),
    }

    def __init__(
        self,
        n_components: int = 64,
        *,
        alpha: float | None = None,
        density: float | None = None,
        l0: float | None = None,
        max_active: int | None = None,
        prior: str = "fixed",
        sparse_output: bool = True,
        hidden_layer_sizes: Sequence[int] | None = None,
        likelihood: str | Likelihood = "auto",
        observation: str = "auto",
        encoder: str | nn.Module = "auto",
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
        self.alpha = alpha
        self.density = density
        self.l0 = l0
        self.max_active = max_active
        self.prior = prior
        self.sparse_output = sparse_output
        self.hidden_layer_sizes = hidden_layer_sizes
        self.likelihood = likelihood
        self.observation = observation
        self.encoder = encoder
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
        faithful = self.recipe == "iclr2019"
        return vsc(
            spec,
            **self._model_arguments(spec),
            alpha=PUBLISHED_RATE if faithful and self.alpha is None else self.alpha,
            l0=self._asked(),
            joint=self.prior == "joint",
            n_steps=n_steps,
            faithful=faithful,
        )

    def _asked(self) -> float | None:
        return None if self.recipe == "iclr2019" else super()._asked()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self._given()
        if self.recipe == "iclr2019" and given not in ([], ["alpha"]):
            raise InvalidParameterError(
                f"recipe='iclr2019' has a fixed prior and no dial, and {given[0]} was given; give alpha instead."
            )
        if one_of("prior", self.prior, ("fixed", "joint")) == "joint" and self._asked() is None:
            raise InvalidParameterError(
                "prior='joint' learns its rates, and alpha was given or taken from the recipe; give density or l0 "
                "instead, or prior='fixed'."
            )
