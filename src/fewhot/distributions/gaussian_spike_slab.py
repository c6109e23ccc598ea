"""The spike and slab whose spike has a width: a mixture of a narrow and a wide Gaussian."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, constraints

from fewhot.core.records import Noise
from fewhot.distributions.gates import ExactGate
from fewhot.distributions.gaussian import Gaussian
from fewhot.distributions.noise import ONE_DRAW, Shape, wide_and_alike


class GaussianSpikeSlab(Distribution):
    r"""Near zero with probability :math:`1-\gamma`, Gaussian otherwise.

    .. math:: p(z) = \gamma\,\mathcal{N}(z;\,\mu,\sigma^2) + (1-\gamma)\,\mathcal{N}(z;\,0,s_0^2)

    An ordinary density: nothing is ever exactly zero. As :math:`s_0 \to 0` its draws become those of `SpikeSlab`.

    Parameters
    ----------
    logits
        The logit of the slab's weight :math:`\gamma`; infinite values are allowed.
    loc, scale
        Mean and standard deviation of the slab.
    spike_scale
        Standard deviation :math:`s_0` of the spike.
    validate_args
        As in torch: whether to check arguments and values.

    Examples
    --------
    >>> code = GaussianSpikeSlab(torch.tensor([-2.0, 2.0]), torch.ones(2), torch.ones(2), torch.tensor(0.1))
    >>> code.sample(noise={"gate": torch.tensor(0.5), "slab": torch.tensor(0.5)})
    tensor([0.0500, 1.5000])
    """

    arg_constraints: ClassVar = {  # type: ignore[override]
        "logits": constraints.real,
        "loc": constraints.real,
        "scale": constraints.positive,
        "spike_scale": constraints.positive,
    }
    support = constraints.real  # type: ignore[override]
    has_rsample = False
    logits: Tensor
    loc: Tensor
    scale: Tensor
    spike_scale: Tensor

    def __init__(
        self, logits: Tensor, loc: Tensor, scale: Tensor, spike_scale: Tensor, validate_args: bool | None = None
    ) -> None:
        self.logits, self.loc, self.scale, self.spike_scale = wide_and_alike(logits, loc, scale, spike_scale)
        super().__init__(self.logits.shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same law with its batch broadcast to ``batch_shape``."""
        new = copy(self) if _instance is None else _instance
        for name in self.arg_constraints:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        new._batch_shape = torch.Size(batch_shape)
        return new

    @property
    def probs(self) -> Tensor:
        """The slab's weight."""
        return self.logits.sigmoid()

    @property
    def mean(self) -> Tensor:
        """Expected value."""
        return self.probs * self.loc

    @property
    def variance(self) -> Tensor:
        """Variance: of the two parts, and of the choice between them around the mean."""
        on, off = self.probs, (-self.logits).sigmoid()
        return on * (self.scale.square() + off * self.loc.square()) + off * self.spike_scale.square()

    def log_prob(self, value: Tensor) -> Tensor:
        """Log density."""
        if self._validate_args:
            self._validate_sample(value)
        gate = ExactGate(self.logits, validate_args=False)
        spike = Gaussian(torch.zeros_like(self.loc), self.spike_scale, validate_args=False)
        slab = Gaussian(self.loc, self.scale, validate_args=False)
        return torch.logaddexp(gate.log_on + slab.log_prob(value), gate.log_off + spike.log_prob(value))

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Noise:
        """Draw the numbers a draw would use: ``gate`` uniform, ``slab`` standard normal."""
        gate = ExactGate(self.logits, validate_args=False)
        slab = Gaussian(self.loc, self.scale, validate_args=False)
        return {
            "gate": gate.noise_like(sample_shape, generator),
            "slab": slab.noise_like(sample_shape, generator),
        }

    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Tensor:
        """Draw; both parts use the same standard normal number."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        with torch.no_grad():
            on = ExactGate(self.logits, validate_args=False).sample(sample_shape, noise=noise["gate"])
            slab = Gaussian(self.loc, self.scale, validate_args=False).rsample(sample_shape, noise=noise["slab"])
            return torch.where(on > 0, slab, self.spike_scale * noise["slab"])
