"""Amortised inference: psi is what the encoder says, and one phase moves everything."""

from __future__ import annotations

from fewhot.core.checks import truth
from fewhot.core.parts import Configurable
from fewhot.core.records import Batch, Knobs, Noise, Params, Terms
from fewhot.core.registry import INFERENCES
from fewhot.inference.phases import Model, OptimiserSpec, Phase


@INFERENCES.register("amortised")
class Amortised(Configurable):
    r"""Joint ascent of :math:`\mathcal{L}(x; \theta, \psi_\phi(x))` in :math:`\theta` and :math:`\phi`.

    ``amsgrad`` takes that variant of Adam (Reddi, Kale and Kumar, 2018).
    """

    def __init__(self, amsgrad: bool = False) -> None:
        self.amsgrad = truth("amsgrad", amsgrad)

    def phases(self, model: Model) -> list[Phase]:
        """Return the single phase."""

        def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            seen = model.observe(batch, noise)
            return model.terms(model.run(model.psi(seen), seen, knobs, noise), knobs)

        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimiser = OptimiserSpec(amsgrad=self.amsgrad)
        return [Phase(name="joint", parameters=parameters, loss=loss, noise=model.noise, optimiser=optimiser)]
