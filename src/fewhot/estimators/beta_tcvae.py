"""The BetaTCVAE estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from fewhot.core.checks import one_of, weight
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.documentation import documented
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, beta_tcvae
from fewhot.models.latent_model import LatentModel
from fewhot.objectives.total_correlation import SAMPLINGS


@ESTIMATORS.register("BetaTCVAE")
@documented
class BetaTCVAE(LatentEstimator):
    r"""beta-TCVAE: dense Gaussian codes whose units are pushed towards independence.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \mathrm{MI} - \beta\,\mathrm{TC} - \mathrm{DWKL}

    The KL divergence from the prior is the mutual information of rows and codes, the total correlation of the units,
    and what remains unit by unit; only the second is weighted.

    Parameters
    ----------
    n_components : int, default=64
        Number of latent units.
    beta : float, default=6.0
        Weight of the total correlation in training; reported bounds always have weight 1.
    sampling : {"stratified", "weighted"}, default="stratified"
        How a batch stands for all rows in the estimate of the total correlation; ``"weighted"`` is biased.
    {shared}

    Attributes
    ----------
    {learned}

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018), Isolating Sources of Disentanglement in Variational Autoencoders. The weights
    of the stratified estimate stand on the diagonal, as derived there; the authors' code has them in a column.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> fh.BetaTCVAE(n_components=2, max_steps=20, random_state=0).fit_transform(X).shape
    (100, 2)
    """

    def __init__(
        self,
        n_components: int = 64,
        *,
        beta: float = 6.0,
        sampling: str = "stratified",
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
        self.beta = beta
        self.sampling = sampling
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
        return beta_tcvae(spec, **self._model_arguments(spec), beta=self.beta, sampling=self.sampling, n_steps=n_steps)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        weight("beta", self.beta)
        one_of("sampling", self.sampling, SAMPLINGS)
