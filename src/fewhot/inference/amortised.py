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
    encoder_steps
        How many times the encoder alone moves, on other noise, after each step of all, so that it follows the decoder
        (He, Spokoyny, Neubig and Berg-Kirkpatrick, 2019).
    encoder_until
        The step from which it moves no more often than the rest.
    """

    def __init__(
        self,
        amsgrad: bool = False,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        n_draws: int = 1,
        encoder_steps: int = 0,
        encoder_until: int = 0,
    ) -> None:
        self.amsgrad = truth("amsgrad", amsgrad)
        self.n_draws = whole_number("n_draws", n_draws)
        self.weight_decay = real_number("weight_decay", weight_decay, low=0)
        self.decoupled_weight_decay = truth("decoupled_weight_decay", decoupled_weight_decay)
        self.encoder_steps = whole_number("encoder_steps", encoder_steps, least=0)
        self.encoder_until = whole_number("encoder_until", encoder_until, least=0)

    @property
    def n_stages(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Two where the encoder runs ahead for a while."""
        return 2 if self.encoder_steps else 1

    def stage(self, step: int) -> int:
        """Return 0 while the encoder runs ahead, and 1 afterwards."""
        return int(self.encoder_steps > 0 and step >= self.encoder_until)

    def phases(self, model: Model, stage: int = 0) -> list[Phase]:
        """Return the phase that moves everything, and those of the encoder alone while it runs ahead."""

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
        joint = Phase(name="joint", parameters=parameters, loss=loss, noise=noise, optimiser=optimiser)
        if stage == 1:
            return [joint]
        of_encoder = {id(parameter) for part in (model.encoder, model.latent) for parameter in part.parameters()}
        ahead = [parameter for parameter in parameters if id(parameter) in of_encoder]
        return [joint] + [
            Phase(name=f"encoder {i}", parameters=ahead, loss=loss, noise=noise, optimiser=optimiser, controls=False)
            for i in range(1, self.encoder_steps + 1)
        ]
