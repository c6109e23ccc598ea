"""The MATVAE estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from torch import nn

from fewhot.core.checks import real_number, weight
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.base import LatentEstimator
from fewhot.estimators.documentation import documented
from fewhot.estimators.recipes import Recipe
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse, mat_vae
from fewhot.models.latent_model import LatentModel

MMD_WEIGHTS = {None: 3.0, "mathieu2019": 100.0}


@ESTIMATORS.register("MATVAE")
@documented
class MATVAE(LatentEstimator):
    r"""MAT-VAE: Gaussian codes under a prior that is mostly near zero.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}[\log p(x|z)] - \psi\,\mathrm{KL}\big(q(z|x)\,\|\,p(z)\big)
        - \lambda\,\mathrm{MMD}^2\big(q(z), p(z)\big), \qquad
        p(z) = \prod_j (1-w)\,\mathcal{N}(0,1) + w\,\mathcal{N}(0,s_0^2)

    The posterior is a plain Gaussian, so codes are small where they are not wanted and never exactly zero; `VSC` has
    exact zeros. A posterior with one peak cannot match a prior with two widths: every unit costs
    :math:`-\log w` nats (0.22) where it has nothing to say, and :math:`-\log(1-w)` (1.6) more than in a `VAE` where it
    has. Give it no more units than the data need, and compare its bound with that of other sparse models.

    Parameters
    ----------
    n_components : int, default=64
        Number of latent units.
    spike_weight : float, default=0.8
        The weight w of the prior's narrow part; 0 is the standard normal prior.
    spike_std : float, default=0.05
        Its width :math:`s_0`.
    kl_weight : float, default=1.0
        Weight :math:`\psi` of the divergence in training; reported bounds always have weight 1.
    mmd_weight : float, default=None
        Weight :math:`\lambda` of the discrepancy between all codes and the prior; None takes the recipe's, 3. Around 10
        codes are sparsest and the bound is lower; from 30 on both get worse.
    {shared}

    Attributes
    ----------
    {learned}

    References
    ----------
    Mathieu, Rainforth, Siddharth and Teh (2019), Disentangling Disentanglement in Variational Autoencoders; Prokhorov
    et al. (2021) for text.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).random((100, 8))
    >>> fh.MATVAE(n_components=2, max_steps=20, random_state=0).fit_transform(X).shape
    (100, 2)
    """

    recipes: ClassVar[dict[str | None, Recipe]] = {
        None: Recipe(),
        "mathieu2019": Recipe(
            max_steps=9_600,
            batch_size=500,
            learning_rate=5e-4,
            encoder="conv",
            likelihood="laplace",
            likelihood_options=(("noise_scale", 0.1), ("standardise", False)),
            source="the public code of Mathieu et al. (2019) for sparse codes of Fashion-MNIST, not the paper; steps "
            "are its 80 epochs of 60,000 images. Its 50 units are yours to ask for; its images are resized to 32 by 32 "
            "pixels, where here 28 by 28 have a frame of zeros",
            about='trains as in the code of Mathieu et al. for Fashion-MNIST: ``encoder="conv"`` with 32, 64 and 128 '
            "channels and leaky ReLU, Laplace likelihood of scale 0.1, ``mmd_weight=100``, wide posteriors at the "
            "start, no warm-up, and AMSGrad at one learning rate. There is no batch normalisation, under which rows of "
            "a batch would see each other, and layers begin at a scale that does without. Rows that are no square "
            'pictures are refused unless ``encoder="mlp"`` is given. It tends to collapse on small data.',
        ),
    }

    def __init__(
        self,
        n_components: int = 64,
        *,
        spike_weight: float = 0.8,
        spike_std: float = 0.05,
        kl_weight: float = 1.0,
        mmd_weight: float | None = None,
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
        self.spike_weight = spike_weight
        self.spike_std = spike_std
        self.kl_weight = kl_weight
        self.mmd_weight = mmd_weight
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
        return mat_vae(
            spec,
            **self._model_arguments(spec),
            spike_weight=self.spike_weight,
            spike_std=self.spike_std,
            kl_weight=self.kl_weight,
            mmd_weight=MMD_WEIGHTS[self.recipe] if self.mmd_weight is None else self.mmd_weight,
            n_steps=n_steps,
            faithful=self.recipe == "mathieu2019",
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        real_number("spike_weight", self.spike_weight, low=0, high=1)
        real_number("spike_std", self.spike_std, low=0, open_low=True)
        weight("kl_weight", self.kl_weight)
        if self.mmd_weight is not None:
            real_number("mmd_weight", self.mmd_weight, low=0)
