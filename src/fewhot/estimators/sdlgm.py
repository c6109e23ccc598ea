"""The SDLGM estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from fewhot.core.checks import one_of, truth, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.discrete import check_discrete, discrete_arguments
from fewhot.estimators.documentation import documented
from fewhot.estimators.gated import GatedEstimator
from fewhot.estimators.recipes import Recipe
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, sdlgm
from fewhot.models.discrete import BY_SCORE
from fewhot.models.latent_model import LatentModel

GATE_LAYERS = (256, 64)
"""Widths of the network that gates have to themselves."""
SLOTS_A_UNIT = 2
"""Slots for each active unit asked for, where their number is left open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SDLGMRecipe(Recipe):
    """What else a recipe of `SDLGM` decides.

    Attributes
    ----------
    alpha
        The prior's probability that a slot is on, where none of ``alpha``, ``density`` and ``l0`` is given; None takes
        the dial.
    n_slots, slots, estimator, learn_temperatures, gate_layer_sizes, off_slots_choose
        As the arguments of the same names.
    faithful
        Whether there is neither a warm-up nor a decay of the rate, as published.
    """

    alpha: float | None = None
    n_slots: int | None = None
    slots: str = "independent"
    estimator: str = "second-order"
    learn_temperatures: bool = False
    gate_layer_sizes: tuple[int, ...] | None = None
    off_slots_choose: bool = False
    faithful: bool = False


@ESTIMATORS.register("SDLGM")
@documented
class SDLGM(GatedEstimator):
    r"""Sparse deep latent generative model: codes of whole numbers, of which only a few are not zero.

    .. math:: z = \sum_{\ell=1}^{L_0} \omega_\ell\, e_{s_\ell}, \qquad
        \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \sum_\ell \big[B(\lambda_\ell\,\|\,\rho_\ell) + \lambda_\ell\,C(\pi_\ell\,\|\,\kappa_\ell)\big]

    Each of :math:`L_0` slots is on with probability :math:`\lambda_\ell` given the row and :math:`\rho_\ell` in the
    prior, and then chooses one unit, by :math:`\pi_\ell` and :math:`\kappa_\ell`. So a code has at most :math:`L_0`
    units that are not zero. B and C are the divergences of coins and of choices.

    Parameters
    ----------
    n_components : int, default=64
        Number of units to choose from.
    n_slots : int, default=None
        The number :math:`L_0` of slots. None takes the recipe's, else twice the number of active units asked for, or a
        fifth of the units with ``alpha``; at most as many as there are units, and at least 2.
    slots : {"auto", "independent", "shared"}, default="auto"
        Whether every slot of a row has a law of its own, or all share one. "auto" takes the recipe's, "independent".
    alpha : float, default=None
        Fix the prior: every slot is on with this probability, and every unit as likely as any other.
    density : float, default=None
        Ask for this mean share of active units; the prior is learned and a controller holds the share.
    l0 : float, default=None
        Ask for this mean number of active units. At most one of ``alpha``, ``density`` and ``l0`` may be given; none
        means ``density=0.05``, at least 4 units.
    max_active : int, default=None
        A ceiling on the active units of each row when encoding: the most probable ones stay.
    max_share : float, default=None
        The largest share of rows that any one unit may serve, where a number of active units is asked for. None takes
        six times the mean share, at most 0.4; where the mean share is above 0.3, halfway from it to 1.
    prior : {"auto", "fixed", "joint"}, default="auto"
        "fixed" takes slots to be independent, with laws fixed by ``alpha`` or learned; "joint" learns what slots choose
        together, for estimators with a gradient through choices. "auto" is "fixed".
    {discrete}
    learn_temperatures : bool, default=None
        Whether the temperatures of gates and units are learned, from ``temperature`` on: those of
        "separate-concrete"; other soft choices have one for both. None takes the recipe's, False.
    share_trunk : bool, default=None
        Whether gates read what the encoder gives the units, or have a network of two layers of their own, of 256 and 64
        units. None takes the recipe's, True.
    off_slots_choose : bool, default=None
        Whether slots that are off pay for a choice too, as published: a looser bound. None takes the recipe's, False.
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
    Xu, Onoro Rubio, Serra and Niepert, Learning Sparsity of Representations with Discrete Latent Variables.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> Z = fh.SDLGM(n_components=16, l0=2, max_steps=20, random_state=0).fit_transform(X)
    >>> bool((Z.data == Z.data.round()).all()), int(Z.sum(axis=1).max()) <= 4
    (True, True)
    """

    recipes: ClassVar[dict[str | None, Recipe]] = {
        None: SDLGMRecipe(),
        "xu": SDLGMRecipe(
            hidden_layer_sizes=(512, 384, 256),
            max_steps=10_000,
            batch_size=100,
            likelihood="bernoulli",
            alpha=0.5,
            n_slots=40,
            slots="shared",
            estimator="separate-concrete",
            learn_temperatures=True,
            gate_layer_sizes=GATE_LAYERS,
            off_slots_choose=True,
            faithful=True,
            clips=False,
            source="Xu, Onoro Rubio, Serra and Niepert; optimiser, rate and activations are not given there",
            about="trains as published: soft gates times soft choices with learned temperatures, one law for 40 slots, "
            "networks of their own for gates and units, no warm-up, no clipping; give ``n_components=200``. Its "
            "objective looks like a bound of 99 nats on MNIST, and its exact codes are worth hundreds of nats less.",
        ),
    }
    dense_start = 0.0

    def __init__(
        self,
        n_components: int = 64,
        *,
        n_slots: int | None = None,
        slots: str = "auto",
        alpha: float | None = None,
        density: float | None = None,
        l0: float | None = None,
        max_active: int | None = None,
        max_share: float | None = None,
        prior: str = "auto",
        estimator: str = "auto",
        temperature: float = 1.0,
        temperature_decay: float = 0.0,
        least_temperature: float = 0.5,
        n_draws: int | None = None,
        learn_temperatures: bool | None = None,
        share_trunk: bool | None = None,
        off_slots_choose: bool | None = None,
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
        self.n_slots = n_slots
        self.slots = slots
        self.alpha = alpha
        self.density = density
        self.l0 = l0
        self.max_active = max_active
        self.max_share = max_share
        self.prior = prior
        self.estimator = estimator
        self.temperature = temperature
        self.temperature_decay = temperature_decay
        self.least_temperature = least_temperature
        self.n_draws = n_draws
        self.learn_temperatures = learn_temperatures
        self.share_trunk = share_trunk
        self.off_slots_choose = off_slots_choose
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
        return sdlgm(
            spec,
            **self._model_arguments(spec),
            n_slots=self._n_slots(),
            shared=self._chosen("slots") == "shared",
            gate_layer_sizes=self._gate_layer_sizes(),
            alpha=self._rate(),
            l0=self._asked(),
            max_share=self.max_share,
            joint=self.prior == "joint",
            **discrete_arguments(self),
            learn_temperatures=self._chosen("learn_temperatures"),
            off_slots_choose=self._chosen("off_slots_choose"),
            faithful=self._recipe.faithful,
            n_steps=n_steps,
        )

    @property
    def _recipe(self) -> SDLGMRecipe:
        recipe = self.recipes[self.recipe]
        assert isinstance(recipe, SDLGMRecipe)
        return recipe

    def _n_slots(self) -> int:
        """Return how many slots a code has."""
        given = self._chosen("n_slots")
        if given is not None:
            return given
        asked = self._asked()
        wanted = SLOTS_A_UNIT * asked if asked is not None else self.n_components / 5
        return max(2, min(round(wanted), self.n_components))

    def _gate_layer_sizes(self) -> tuple[int, ...] | None:
        if self.share_trunk is None:
            return self._recipe.gate_layer_sizes
        return None if self.share_trunk else GATE_LAYERS

    def _rate(self) -> float | None:
        """Return the prior's on-rate where it is fixed, by the argument or by the recipe."""
        return self.alpha if self._given() else self._recipe.alpha

    def _asked(self) -> float | None:
        return None if self._rate() is not None else super()._asked()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("slots", self.slots, ("auto", "independent", "shared"))
        one_of("prior", self.prior, ("auto", "fixed", "joint"))
        check_discrete(self)
        if self.prior == "joint":
            self._check_joint()
        for name in ("learn_temperatures", "share_trunk", "off_slots_choose"):
            if getattr(self, name) is not None:
                truth(name, getattr(self, name))
        if self.learn_temperatures:
            self._check_temperatures()
        if self.n_slots is not None:
            whole_number("n_slots", self.n_slots)
        asked = self._asked()
        if asked is not None and self._n_slots() < asked:
            raise InvalidParameterError(
                f"n_slots is {self._n_slots()}, so a code has at most so many active units, and {asked:g} are asked "
                f"for in the mean row; give more slots."
            )

    def _check_temperatures(self) -> None:
        if self._chosen("estimator") in ("second-order", *BY_SCORE):
            raise InvalidParameterError(
                f"learn_temperatures=True needs a gradient by the temperature, and "
                f"estimator={self._chosen('estimator')!r} has none; choose another of the two."
            )

    def _check_joint(self) -> None:
        if self._rate() is not None:
            fixes = "alpha" if self._given() else f"recipe={self.recipe!r}"
            raise InvalidParameterError(f"{fixes} fixes the prior, and prior='joint' learns it; give one of them.")
        if self._chosen("estimator") in BY_SCORE:
            raise InvalidParameterError(
                f"prior='joint' needs a gradient through choices, and estimator={self._chosen('estimator')!r} has "
                f"none; choose another of the two."
            )
