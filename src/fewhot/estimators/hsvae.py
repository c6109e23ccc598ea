"""The HSVAE estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import nn

from fewhot.core.checks import one_of, real_number, truth, weight
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.documentation import documented
from fewhot.estimators.gated import GatedEstimator
from fewhot.estimators.recipes import Recipe
from fewhot.latents.beta_spike_slab import FORMS
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, hsvae
from fewhot.models.latent_model import LatentModel

TOTAL_CONCENTRATION = 5.0
PUBLISHED_PRIOR = (4.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HSVAERecipe(Recipe):
    """What else a recipe of `HSVAE` decides.

    Attributes
    ----------
    gate_prior
        The prior's concentrations where none of ``gate_prior``, ``alpha``, ``density`` and ``l0`` is given; None takes
        the dial.
    kl_weight, gate_kl_weight, form, spike_std
        As the arguments of the same names.
    faithful
        Whether gates, heads and schedules are the published ones.
    """

    gate_prior: tuple[float, float] | None = None
    kl_weight: float = 1.0
    gate_kl_weight: float = 1.0
    form: str = "collapsed"
    spike_std: float = 0.0
    faithful: bool = False


@ESTIMATORS.register("HSVAE")
@documented
class HSVAE(GatedEstimator):
    r"""Hierarchical sparse VAE: sparse codes whose on-probabilities have a Beta prior.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \sum_j \Big[\tfrac{b_j}{a_j+b_j}\,G_j
        + B\big(\tfrac{b_j}{a_j+b_j}\,\|\,\tfrac{b}{a+b}\big)\Big]

    Unit j is off with a probability drawn from :math:`\mathrm{Beta}(a_j, b_j)` given the row, and from
    :math:`\mathrm{Beta}(a, b)` in the prior; :math:`G_j` and :math:`B` are as in `VSC`. With the probabilities
    integrated out, as above, the bound is tightest: that is what is reported, unless ``slab_sees_gamma``.

    Parameters
    ----------
    n_components : int, default=64
        Number of units to choose from.
    gate_prior : tuple or array of two floats, default=None
        Fix the prior's concentrations :math:`(a, b)` of being off and on, such as ``(4, 1)`` for one unit in five.
    alpha : float, default=None
        Fix the prior's mean on-rate, with :math:`a + b = 5`.
    density : float, default=None
        Ask for this mean share of active units; the prior's concentrations and slabs are learned and a controller
        holds the share.
    l0 : float, default=None
        Ask for this mean number of active units. At most one of ``gate_prior``, ``alpha``, ``density`` and ``l0`` may
        be given; none means ``density=0.05``, at least 4 units.
    max_active : int, default=None
        A ceiling on the active units of each row when encoding: the most probable ones stay. Bounds and probabilities
        are those of the whole posterior, without the ceiling.
    max_share : float, default=None
        The largest share of rows that any one unit may serve, where a number of active units is asked for. None takes
        six times the mean share, at most 0.4; where the mean share is above 0.3, halfway from it to 1.
    dense_start : float, default=None
        Share of the steps, at most 0.6, in which the gates begin open and nothing closes them, as in a dense VAE; then
        the dial comes in over a tenth of the steps, or, where the prior is fixed, the divergence over a fifth. A unit
        then stands for what its value says rather than for when it is on: for data whose sources are there in many
        rows, such as half of them, with ``max_share`` to match, and for texts. None takes 0.3 for texts under a
        dial, and 0 otherwise.
    kl_weight : float, default=None
        Weight of the values' divergence in training; reported bounds always have weight 1. None takes the recipe's, 1.
    gate_kl_weight : float, default=None
        Weight of the gates' divergence in training. None takes the recipe's, 1.
    form : {"auto", "collapsed", "hierarchical"}, default="auto"
        Whether training integrates the on-probabilities out, or draws them and pays for their Beta laws, as published.
        "auto" takes the recipe's, "collapsed", and "hierarchical" with ``slab_sees_gamma``.
    spike_std : float, default=None
        Width of the spike in hierarchical training; codes and scores have exact zeros all the same. None takes the
        recipe's, 0.
    slab_sees_gamma : bool, default=False
        Whether a row's slabs also depend on the drawn probabilities :math:`\gamma` of being off, as the paper has it
        and its code has not. They cannot be integrated out then: the reported bound is the hierarchical one,
        :math:`\mathbb{E}\big[\log p(x|z) - \sum_j (1-\gamma_j)\,G_j(\gamma)\big] - \sum_j
        \mathrm{KL}(\mathrm{Beta}(a_j,b_j)\,\|\,\mathrm{Beta}(a,b))`, and codes are those at the mean of
        :math:`\gamma`.
    sparse_output : bool, default=True
        Whether `transform` returns a `scipy.sparse.csr_array` or a dense array.
    {shared}

    Attributes
    ----------
    {learned}
    gate_shift_ : float
        What was added to every gate's logit at the end, so that held-out rows (all rows, where fewer than 100 are held
        out) have the number of active units that was asked for; at most 1 in size.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning Sparse Sentence Encoding without Supervision.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> Z = fh.HSVAE(n_components=16, l0=2, max_steps=20, random_state=0).fit_transform(X)
    >>> type(Z).__name__, Z.shape
    ('csr_array', (100, 16))
    """

    fixed_priors = ("gate_prior", "alpha")
    recipes: ClassVar[dict[str | None, Recipe]] = {
        None: HSVAERecipe(),
        "prokhorov2021": HSVAERecipe(
            batch_size=256,
            learning_rate=8e-4,
            gate_prior=PUBLISHED_PRIOR,
            kl_weight=0.01,
            gate_kl_weight=0.01,
            form="hierarchical",
            spike_std=0.05,
            faithful=True,
            source="Prokhorov et al. 2021; batch size, prior, weights, temperature and the spike's width are those of "
            "the authors' code, which trains 15 epochs of sentences",
            about="trains as published, on vectors: Beta laws drawn, their concentrations from softplus heads, a spike "
            "of width 0.05, temperature 0.5, ``gate_prior=(4, 1)``, both divergences weighted 0.01, no warm-up.",
        ),
    }

    def __init__(
        self,
        n_components: int = 64,
        *,
        gate_prior: tuple[float, float] | None = None,
        alpha: float | None = None,
        density: float | None = None,
        l0: float | None = None,
        max_active: int | None = None,
        max_share: float | None = None,
        dense_start: float | None = None,
        kl_weight: float | None = None,
        gate_kl_weight: float | None = None,
        form: str = "auto",
        spike_std: float | None = None,
        slab_sees_gamma: bool = False,
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
        self.gate_prior = gate_prior
        self.alpha = alpha
        self.density = density
        self.l0 = l0
        self.max_active = max_active
        self.max_share = max_share
        self.dense_start = dense_start
        self.kl_weight = kl_weight
        self.gate_kl_weight = gate_kl_weight
        self.form = form
        self.spike_std = spike_std
        self.slab_sees_gamma = slab_sees_gamma
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
        return hsvae(
            spec,
            **self._model_arguments(spec),
            gate_prior=self._concentrations(),
            l0=self._asked(),
            max_share=self.max_share,
            dense_start=self._chosen_dense_start(spec),
            kl_weight=self._chosen("kl_weight"),
            gate_kl_weight=self._chosen("gate_kl_weight"),
            form=self._chosen_form(),
            spike_std=self._chosen("spike_std"),
            slab_sees_gamma=self.slab_sees_gamma,
            faithful=self._recipe.faithful,
            n_steps=n_steps,
        )

    def _chosen_form(self) -> str:
        return "hierarchical" if self.slab_sees_gamma and self.form == "auto" else self._chosen("form")

    def _concentrations(self) -> tuple[float, float]:
        """Return the prior's concentrations of being off and on, where they are fixed."""
        if self.alpha is not None:
            return TOTAL_CONCENTRATION * (1 - self.alpha), TOTAL_CONCENTRATION * self.alpha
        given = self._chosen("gate_prior")
        off, on = PUBLISHED_PRIOR if given is None else _plain(given)
        return off, on

    @property
    def _recipe(self) -> HSVAERecipe:
        recipe = self.recipes[self.recipe]
        assert isinstance(recipe, HSVAERecipe)
        return recipe

    def _asked(self) -> float | None:
        return None if not self._given() and self._recipe.gate_prior is not None else super()._asked()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.gate_prior is not None:
            _check_pair(self.gate_prior)
        for name in ("kl_weight", "gate_kl_weight"):
            weight(name, self._chosen(name))
        real_number("spike_std", self._chosen("spike_std"), low=0)
        one_of("form", self.form, ("auto", *FORMS))
        truth("slab_sees_gamma", self.slab_sees_gamma)
        if self.slab_sees_gamma and self.form == "collapsed":
            raise InvalidParameterError(
                "slab_sees_gamma is True and form is 'collapsed', where rates are integrated out and there is none to "
                "see; give form='hierarchical' or 'auto'."
            )
        if self._chosen("spike_std") and self._chosen_form() != "hierarchical":
            raise InvalidParameterError(
                f"spike_std is {self._chosen('spike_std'):g} and rates are integrated out, where the spike is a point; "
                f"give form='hierarchical', or spike_std=0."
            )


def _check_pair(gate_prior: Any) -> None:
    pair = _plain(gate_prior)
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidParameterError(f"gate_prior is {gate_prior!r}; it must be two numbers above 0, such as (4, 1).")
    for value in pair:
        real_number("Each number of gate_prior", value, low=0, open_low=True)


def _plain(gate_prior: Any) -> Any:
    """Return an array as a list, and anything else as it is."""
    return gate_prior.tolist() if isinstance(gate_prior, np.ndarray) else gate_prior
