"""Amortised inference: psi is what the encoder says, and one phase moves everything."""

from __future__ import annotations

from functools import partial

from fewhot.core.checks import real_number, truth, whole_number
from fewhot.core.records import Batch, Knobs, Noise, Params, Terms
from fewhot.core.registry import INFERENCES
from fewhot.inference.base import Inference
from fewhot.inference.phases import Model, OptimiserSpec, Phase, with_draws


@INFERENCES.register("amortised")
class Amortised(Inference):
    r"""Joint ascent of :math:`\mathcal{L}(x; \theta, \psi_\phi(x))` in :math:`\theta` and :math:`\phi`.

    Parameters
    ----------
    amsgrad
        Take that variant of Adam (Reddi, Kale and Kumar, 2018).
    weight_decay, decoupled_weight_decay
        As `OptimiserSpec`.
    n_draws
        How many draws of every row's code a step averages.
    """

    def __init__(
        self,
        amsgrad: bool = False,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        n_draws: int = 1,
    ) -> None:
        self.amsgrad = truth("amsgrad", amsgrad)
        self.n_draws = whole_number("n_draws", n_draws)
        self.weight_decay = real_number("weight_decay", weight_decay, low=0)
        self.decoupled_weight_decay = truth("decoupled_weight_decay", decoupled_weight_decay)

    def phases(self, model: Model, stage: int = 0) -> list[Phase]:
        """Return the single phase."""

        def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            seen = model.observe(batch, noise)
            return model.terms(model.run(model.psi(seen, noise), seen, knobs, noise), knobs)

        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimiser = OptimiserSpec(
            amsgrad=self.amsgrad,
            weight_decay=self.weight_decay,
            decoupled_weight_decay=self.decoupled_weight_decay,
        )
        noise = partial(with_draws, model, self.n_draws)
        return [Phase(name="joint", parameters=parameters, loss=loss, noise=noise, optimiser=optimiser)]
