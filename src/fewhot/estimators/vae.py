"""The VAE estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from fewhot.core.checks import one_of, real_number, weight
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.documentation import documented
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, vae
from fewhot.models.latent_model import LatentModel


@ESTIMATORS.register("VAE")
@documented
class VAE(LatentEstimator):
    r"""Variational autoencoder: dense Gaussian codes.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \beta\,\mathrm{KL}(q(z|x)\,\|\,\mathcal{N}(0, I))

    Parameters
    ----------
    n_components : int, default=64
        Number of latent units.
    beta : float, default=1.0
        Weight of the divergence in training; reported bounds always have weight 1.
    penalty : {None, "l1", "l2"}, default=None
        A norm of the posterior's means and deviations added to the loss.
    penalty_weight : float, default=0.01
        Its weight.
    {shared}

    Attributes
    ----------
    {learned}

    References
    ----------
    Kingma and Welling (2014); Higgins et al. (2017); Prokhorov et al. (2021) for the penalties.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> fh.VAE(n_components=2, max_steps=20, random_state=0).fit_transform(X).shape
    (100, 2)
    """

    def __init__(
        self,
        n_components: int = 64,
        *,
        beta: float = 1.0,
        penalty: str | None = None,
        penalty_weight: float = 0.01,
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
        self.penalty = penalty
        self.penalty_weight = penalty_weight
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
        return vae(
            spec,
            **self._model_arguments(spec),
            beta=self.beta,
            penalty=self.penalty,
            penalty_weight=self.penalty_weight,
            n_steps=n_steps,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        weight("beta", self.beta)
        one_of("penalty", self.penalty, (None, "l1", "l2"))
        real_number("penalty_weight", self.penalty_weight, low=0)
