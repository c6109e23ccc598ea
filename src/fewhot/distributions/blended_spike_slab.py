"""The spike and slab of spike pre-training: draws take only a share of what the slab says."""

from __future__ import annotations

from torch import Tensor

from fewhot.core.records import Draw, Noise
from fewhot.distributions.gaussian import Gaussian
from fewhot.distributions.noise import ONE_DRAW, Shape
from fewhot.distributions.spike_slab import Relaxation, SpikeSlab


class BlendedSpikeSlab(SpikeSlab):
    r"""A `SpikeSlab` whose training draws blend the slab with a standard one.

    .. math:: z = s\,(\lambda\mu + \sigma^{\lambda}\epsilon), \qquad \epsilon \sim \mathcal{N}(0, 1)

    with s the gate. At :math:`\lambda = 0` only the gates carry information; at 1 the draw is that of the law. Only
    `draw` and `rsample` blend: the law, its divergences and `sample` are those of `SpikeSlab`.

    Parameters
    ----------
    logits, loc, scale, relaxation, validate_args
        As for `SpikeSlab`.
    share
        The share :math:`\lambda` in [0, 1], a number or a 0-d tensor.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding; the rule is that of the authors' code.
    """

    def __init__(
        self,
        logits: Tensor,
        loc: Tensor,
        scale: Tensor,
        share: float | Tensor,
        relaxation: Relaxation | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.share = share
        super().__init__(logits, loc, scale, relaxation, validate_args)

    def draw(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Draw:
        """Draw codes and their gates, with the gradients of the relaxation."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        gate = self.gate.rsample(sample_shape, noise["gate"])
        slab = Gaussian(self.share * self.loc, self.scale**self.share, validate_args=False)
        return Draw(gate * slab.rsample(sample_shape, noise["slab"]), gate)
