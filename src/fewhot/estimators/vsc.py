"""The VSC estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import nn

from fewhot.codes import score_terms
from fewhot.core.checks import one_of, real_number, truth, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.documentation import documented
from fewhot.estimators.gated import GatedEstimator
from fewhot.estimators.recipes import Recipe
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, vsc
from fewhot.models.latent_model import LatentModel
from fewhot.models.vsc import LONGEST_PRETRAINING
from fewhot.objectives.pseudo_inputs import BOUNDS
from fewhot.objectives.selection import RULES
from fewhot.priors import JointSpikeSlabPrior

PUBLISHED_RATE = 0.01
AS_PUBLISHED: dict[str, Any] = {
    "observation": "unit-norm",
    "likelihood": "gaussian",
    "likelihood_options": (("floor", 1e-6), ("standardise", False), ("variance", "per-row")),
    "alpha": PUBLISHED_RATE,
    "faithful": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VSCRecipe(Recipe):
    """What else a recipe of `VSC` decides.

    Attributes
    ----------
    alpha
        The prior's on-rate where none of ``alpha``, ``density`` and ``l0`` is given; None takes the dial.
    prior
        As the argument; None takes "joint" with the dial and "fixed" with ``alpha``.
    trained_bound, pretrain_spikes
        As the arguments of the same names.
    faithful
        Whether gates, heads and schedules are the published ones.
    """

    alpha: float | None = None
    prior: str | None = None
    trained_bound: str = "corrected"
    pretrain_spikes: float = 0.0
    faithful: bool = False


@ESTIMATORS.register("VSC")
@documented
class VSC(GatedEstimator):
    r"""Variational sparse coding: codes in which a few units are on, chosen anew for every row.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)]
        - \sum_j \big[\gamma_j\,G_j + B(\gamma_j\,\|\,\rho_j)\big]

    where unit j is on with probability :math:`\gamma_j` given the row and :math:`\rho_j` in the prior, :math:`G_j` is
    the KL divergence of its Gaussian value from the prior's, and B that of one coin from another,
    :math:`B(\gamma\,\|\,\rho) = \gamma\log\frac{\gamma}{\rho} + (1-\gamma)\log\frac{1-\gamma}{1-\rho}`.

    With ``prior="pseudo-inputs"`` the prior is the mixture :math:`\frac{1}{U}\sum_u q(z|x_u)` of U learned rows
    :math:`x_u`, and the sum gives way to a bound on the divergence from it,
    :math:`-\log\frac{1}{U}\sum_u \exp(-\mathrm{KL}(q(z|x)\,\|\,q(z|x_u)))`.

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
        A ceiling on the active units of each row when encoding: the most probable ones stay. Bounds and probabilities
        are those of the whole posterior, without the ceiling.
    max_share : float, default=None
        The largest share of rows that any one unit may serve, where a number of active units is asked for. None takes
        three times the mean share (six with independent units), at most 0.4; where the mean share is above 0.3, halfway
        from it to 1.
    dense_start : float, default=None
        Share of the steps, at most 0.6, in which the gates begin open and nothing closes them, as in a dense VAE; then
        the dial comes in over a tenth of the steps, or, where the prior is fixed, the divergence over a fifth. A unit
        then stands for what its value says rather than for when it is on: for data whose sources are there in many
        rows, such as half of them, with ``max_share`` to match, and for texts. None takes 0.3 for texts under a
        dial, and 0 otherwise.
    decoder_sees_gates : bool, default=False
        Whether the decoder reads which units are on beside their values, so that a unit that is on at a value near 0
        differs from one that is off. Often a better bound, with codes that are harder to read by a linear model.
    prior : {"auto", "fixed", "joint", "pseudo-inputs"}, default="auto"
        "fixed" takes units to be independent, with rates fixed by ``alpha`` or learned; "joint" learns which units go
        together and what their values are then, and cannot be had with ``alpha``; "pseudo-inputs" is a mixture of what
        the encoder says of a few learned rows, whose aggregate on-rate ``alpha`` fixes. None depends on the row that is
        coded. "auto" takes the recipe's, else "fixed" with ``alpha`` and "joint" without.
    n_pseudo_inputs : int, default=20
        How many rows a prior of pseudo-inputs learns.
    prior_sharpness : float, default=10.0
        Sharpen the gates of a prior of pseudo-inputs to :math:`\sigma(\nu(\gamma - \tfrac12))`; None takes them as the
        encoder gives them.
    trained_bound : {"auto", "mixture", "corrected", "paper"}, default="auto"
        What training pays for a code under a prior of pseudo-inputs: the tightest closed bound under their mixture;
        the same with the weights of a selection network; or these without the cost of selecting, as published, which
        bounds nothing. Scores are always those of the mixture; `bounds` shows all three. "auto" takes the recipe's,
        "corrected".
    selection : {"softmax", "relu", "sigmoid"}, default="softmax"
        How the selection network, where there is one, turns scores into weights; "relu" is the published rule made
        safe, "sigmoid" that of the authors' code.
    pretrain_spikes : float, default=None
        Share of the steps, at most 0.6, in which only gates carry information; over a third as many steps the values
        come in. None takes the recipe's, 0.
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
    Tonolini, Jensen and Murray-Smith (2019), Variational Sparse Coding; its supplement for pseudo-inputs.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> Z = fh.VSC(n_components=16, l0=2, max_steps=20, random_state=0).fit_transform(X)
    >>> type(Z).__name__, Z.shape
    ('csr_array', (100, 16))
    """

    recipes: ClassVar[dict[str | None, Recipe]] = {
        None: VSCRecipe(),
        "iclr2019": VSCRecipe(
            **AS_PUBLISHED,
            batch_size=100,
            source="Tonolini et al., ICLR 2019 submission; the batch size is not given there",
            about="trains as first published, with unit-norm rows, Gaussian likelihood, log rate -ReLU(-v), soft gates "
            "sharpened from 50 to 200, no warm-up and ``alpha=0.01``; it tends to shut its gates.",
        ),
        "uai2019": VSCRecipe(
            **AS_PUBLISHED,
            hidden_layer_sizes=(3000,),
            max_steps=70_000,
            batch_size=500,
            prior="pseudo-inputs",
            trained_bound="paper",
            pretrain_spikes=15 / 70,
            source="Tonolini, Jensen and Murray-Smith, UAI 2019, supplement; ``prior_sharpness`` is from the authors' "
            "code",
            about="trains as published later: the same with 20 pseudo-inputs and their selection network, spikes "
            "trained first and a learning rate that drops to a tenth when the values have come in; give ``density`` "
            "or ``l0`` for the dial instead of ``alpha=0.01``.",
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
        max_share: float | None = None,
        dense_start: float | None = None,
        decoder_sees_gates: bool = False,
        prior: str = "auto",
        n_pseudo_inputs: int = 20,
        prior_sharpness: float | None = 10.0,
        trained_bound: str = "auto",
        selection: str = "softmax",
        pretrain_spikes: float | None = None,
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
        self.alpha = alpha
        self.density = density
        self.l0 = l0
        self.max_active = max_active
        self.max_share = max_share
        self.dense_start = dense_start
        self.decoder_sees_gates = decoder_sees_gates
        self.prior = prior
        self.n_pseudo_inputs = n_pseudo_inputs
        self.prior_sharpness = prior_sharpness
        self.trained_bound = trained_bound
        self.selection = selection
        self.pretrain_spikes = pretrain_spikes
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

    def bounds(self, X: Any) -> dict[str, np.ndarray]:
        """Return three bounds of each row by name, for a prior of pseudo-inputs: exact gates, KL weight 1, each (n,).

        "mixture" is `score_samples`; "corrected" takes the pseudo-input that the selection network chooses and pays
        for the choice; "paper" does not pay, and bounds nothing. Without a selection network, which
        ``trained_bound="mixture"`` does not need, the weights are the best ones, and "corrected" is "mixture".
        """
        data = self._rows(X)
        terms = score_terms(self.module_, data, self._encoding())
        if "kl_paper" not in terms:
            kind = "joint" if isinstance(self.module_.prior, JointSpikeSlabPrior) else "fixed"
            raise InvalidParameterError(
                f"This VSC was fitted with prior={kind!r}, which has one bound; call score_samples, or fit with "
                f"prior='pseudo-inputs'."
            )
        kl = {"mixture": sum(terms[f"kl_{part}"] for part in ("gate", "slab", "choice"))}
        kl |= {name: terms[f"kl_{name}"] for name in ("corrected", "paper")}
        return {name: terms["reconstruction"] - cost for name, cost in kl.items()}

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        return vsc(
            spec,
            **self._model_arguments(spec),
            alpha=self._rate(),
            l0=self._asked(),
            max_share=self.max_share,
            dense_start=self._chosen_dense_start(spec),
            decoder_sees_gates=self.decoder_sees_gates,
            joint=self._prior() == "joint",
            n_pseudo_inputs=self.n_pseudo_inputs if self._prior() == "pseudo-inputs" else 0,
            bound=self._chosen("trained_bound"),
            selection=self.selection,
            sharpness=self.prior_sharpness,
            pretrain_spikes=self._chosen("pretrain_spikes"),
            n_steps=n_steps,
            faithful=self._recipe.faithful,
        )

    @property
    def _recipe(self) -> VSCRecipe:
        recipe = self.recipes[self.recipe]
        assert isinstance(recipe, VSCRecipe)
        return recipe

    def _prior(self) -> str:
        """Return the kind of prior, by the argument, by the recipe, or by what is known of its rates."""
        return self._chosen("prior") or ("fixed" if self._asked() is None else "joint")

    def _rate(self) -> float | None:
        """Return the prior's on-rate where it is fixed, by the argument or by the recipe."""
        return self.alpha if self._given() else self._recipe.alpha

    def _chosen_dense_start(self, spec: DataSpec) -> float:
        gates_first = self.dense_start is None and self._chosen("pretrain_spikes")
        return 0.0 if gates_first else super()._chosen_dense_start(spec)

    def _asked(self) -> float | None:
        return None if self._rate() is not None else super()._asked()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self._given()
        if self.recipe == "iclr2019" and given not in ([], ["alpha"]):
            raise InvalidParameterError(
                f"recipe='iclr2019' has a fixed prior and no dial, and {given[0]} was given; give alpha instead."
            )
        truth("decoder_sees_gates", self.decoder_sees_gates)
        one_of("prior", self.prior, ("auto", "fixed", "joint", "pseudo-inputs"))
        if self.prior == "joint" and self._asked() is None:
            raise InvalidParameterError(
                "prior='joint' learns its rates, and alpha was given or taken from the recipe; give density or l0 "
                "instead, or prior='fixed'."
            )
        if self.recipe == "iclr2019" and self.prior == "pseudo-inputs":
            raise InvalidParameterError(
                "recipe='iclr2019' has a fixed prior, and prior='pseudo-inputs' was given; give recipe='uai2019'."
            )
        whole_number("n_pseudo_inputs", self.n_pseudo_inputs)
        if self.prior_sharpness is not None:
            real_number("prior_sharpness", self.prior_sharpness, low=0, open_low=True)
        one_of("trained_bound", self.trained_bound, ("auto", *BOUNDS))
        one_of("selection", self.selection, tuple(RULES))
        if self.pretrain_spikes is not None:
            real_number("pretrain_spikes", self.pretrain_spikes, low=0, high=LONGEST_PRETRAINING)
        if self.pretrain_spikes and self.dense_start:
            raise InvalidParameterError(
                "pretrain_spikes trains gates before values and dense_start values before gates; give one of them."
            )
