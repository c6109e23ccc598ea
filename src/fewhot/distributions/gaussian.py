"""The Gaussian, with its noise in the open so that draws can share random numbers."""

from __future__ import annotations

import torch
from torch import Generator, Tensor
from torch.distributions import Normal

from fewhot.distributions.noise import ONE_DRAW, Shape, fit_noise


class Gaussian(Normal):
    r"""A normal law whose noise can be given.

    .. math:: z = \mu + \sigma\epsilon, \qquad \epsilon \sim \mathcal{N}(0, 1)

    Everything else, the divergence between two of them included, is torch's `Normal`.

    >>> Gaussian(torch.tensor(1.0), torch.tensor(2.0)).rsample(noise=torch.tensor(0.5))
    tensor(2.)
    """

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Tensor:
        """Draw the standard normal numbers that `rsample` would use."""
        shape = self._extended_shape(sample_shape)
        return torch.randn(shape, dtype=self.loc.dtype, device=self.loc.device, generator=generator)

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw with gradients to ``loc`` and ``scale``; ``noise`` may broadcast to ``sample_shape + batch_shape``."""
        if noise is None:
            noise = self.noise_like(sample_shape)
        return self.loc + self.scale * fit_noise(noise, self._extended_shape(sample_shape))


def gaussian_kl(q: Normal, p: Normal) -> Tensor:
    r"""Divergence of two Gaussians, elementwise.

    .. math:: G(\mu,\sigma^2\,\|\,m,s^2) = \log\frac{s}{\sigma} + \frac{\sigma^2 + (\mu-m)^2}{2s^2} - \frac{1}{2}

    The value of ``kl_divergence(q, p)`` without its dispatch, which `torch.compile` cannot trace on a first call.
    """
    ratio = q.scale / p.scale
    distance = (q.loc - p.loc) / p.scale
    return p.scale.log() - q.scale.log() + 0.5 * (ratio.square() + distance.square() - 1)
