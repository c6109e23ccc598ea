"""The one module that all models share."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from fewhot.core.parts import Part
from fewhot.core.records import Batch, ColumnMoments, Knobs, Noise, Params, Pass, Rows, Terms
from fewhot.core.registry import STRUCTURES
from fewhot.core.schedules import Schedule
from fewhot.core.seeding import stream
from fewhot.features.observations import Observation
from fewhot.inference import Inference
from fewhot.latents import Latent
from fewhot.models.decoder import Decoder
from fewhot.models.encoder import Encoder
from fewhot.models.sequence_decoder import SequenceDecoder
from fewhot.nn import Pretrained, UserBody
from fewhot.objectives import Objective
from fewhot.priors import Prior

EXACT = Knobs(gates="exact")


@STRUCTURES.register("latent-model")
class LatentModel(Part):
    """Observation, encoder, latent, prior, decoder, objective, inference, schedules: a model is a choice of each.

    The module keeps no state of a pass: noise and knobs are arguments, controllers are buffers of the objective.
    """

    def __init__(
        self,
        observation: Observation,
        encoder: Encoder,
        latent: Latent,
        prior: Prior,
        decoder: Decoder,
        objective: Objective,
        inference: Inference,
        schedules: Mapping[str, Schedule] | None = None,
    ) -> None:
        super().__init__()
        self.observation = observation
        self.encoder = encoder
        self.latent = latent
        self.prior = prior
        self.decoder = decoder
        self.objective = objective
        self.inference = inference
        self.schedules = dict(schedules or {})
        self.decoder.join(self.encoder)

    def fit_features(self, moments: ColumnMoments) -> None:
        """Keep what the parts need to know of the training rows."""
        for part in (self.encoder, self.prior, self.decoder, self.objective):
            part.fit(moments)

    def knobs(self, step: Tensor) -> Knobs:
        """Return the training knobs of a step, as tensors."""
        return Knobs({name: schedule(step) for name, schedule in self.schedules.items()}, gates="relaxed")

    @property
    def settled_at(self) -> int:
        """The step from which neither the objective's weights nor its controllers move any more."""
        weights = (schedule.settled_at for name, schedule in self.schedules.items() if name != "learning_rate")
        return max(0, self.objective.settled_at, *weights)

    @property
    def comparable_from(self) -> int:
        """The step before which gates are held open, so that its weights are not those of sparse codes."""
        closing = self.schedules.get("dial_weight")
        return 0 if closing is None else closing.settled_at

    @property
    def products_per_row(self) -> float:
        """How many products the layers take for a row; infinite where they use weights more than once a row."""
        if any(isinstance(part, nn.GRU | nn.Conv2d | nn.ConvTranspose2d) for part in self.modules()):
            return float("inf")
        return float(sum(weights.numel() for weights in self.parameters()))

    @property
    def compiles(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a step can be compiled: the ascents of some procedures cannot, and some parts cannot."""
        return self.inference.compiles and all(getattr(part, "compiles", True) for part in self.children())

    @property
    def reads_what_it_makes(self) -> bool:
        """Whether the encoder reads what the decoder makes: one of texts reads neither counts nor ids of its own."""
        if not self.encoder.reads_texts:
            return True
        return isinstance(self.decoder, SequenceDecoder) and not isinstance(self.encoder.body, Pretrained)

    @property
    def draws_globally(self) -> bool:
        """Whether a user's module may draw from torch's global generators, as dropout does; our parts never do."""
        return any(
            isinstance(module, UserBody) or not type(module).__module__.startswith(("fewhot.", "torch.nn."))
            for module in self.modules()
        )

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers of one pass over ``n_rows`` rows; 1 gives noise that all rows share."""
        noise = {**self.latent.noise(n_rows, generator), **self.objective.noise(n_rows, generator)}
        noise |= {**self.encoder.noise(n_rows, generator), **self.decoder.noise(n_rows, generator)}
        observed = self.observation.noise(n_rows, self.decoder.head.n_columns, generator)
        return noise if observed is None else {**noise, "observation": observed}

    def bank(
        self, n: int, seed: int, purpose: str, device: torch.device, *, as_in_training: bool = False
    ) -> list[Noise]:
        """Return the random numbers of ``n`` passes, each shared by all rows: the same on every device.

        Passes with the gates of training need noise ``as_in_training``; those with exact gates take it, too.
        """
        generator = stream(seed, purpose)
        draws = (self.latent.training_bank if as_in_training else self.latent.bank)(n, generator)
        observed = self.observation.noise(n, self.decoder.head.n_columns, generator)
        if observed is not None:
            draws = [{**draw, "observation": row[None]} for draw, row in zip(draws, observed, strict=True)]
        return [{name: value.to(device) for name, value in draw.items()} for draw in draws]

    def observe(self, batch: Batch, noise: Noise) -> Batch:
        """Return the rows that the bound is about."""
        return batch._replace(x=self.observation(batch.x, noise.get("observation")))

    def psi(self, batch: Batch, noise: Noise | None = None) -> Params:
        """Return the encoder's local parameters of observed rows; with noise, as in training."""
        return self.latent.psi(self.encoder(batch.x, None if noise is None else noise.get("dropout")))

    def posterior(self, psi: Params, knobs: Knobs) -> Distribution:
        """Return q(z | psi)."""
        return self.latent.posterior(psi, knobs)

    def posterior_of(self, x: Rows) -> Distribution:
        """Return q(z | x) of observed rows, for priors made of pseudo-inputs."""
        return self.posterior(self.psi(Batch(x)), EXACT)

    def run(self, psi: Params, batch: Batch, knobs: Knobs, noise: Noise) -> Pass:
        """Go from local parameters to the likelihood of observed rows."""
        q = self.posterior(psi, knobs)  # q(z | x), (B, K)
        draw = self.latent.draw(q, noise)  # z, (B, K)
        p = self.prior(self.posterior_of)  # p(z), over codes (K,)
        keys = noise.get("decoder") if knobs.gates == "relaxed" else None
        return Pass(batch, psi, q, p, draw, self.decoder.likelihood(draw.z, batch, draw.gate, keys), noise)

    def divergence(self, result: Pass) -> Params:
        """Return the named parts of KL(q || p), each (B,)."""
        return self.latent.divergence(result.q, result.p, result.draw)

    def bound(self, result: Pass) -> Tensor:
        """Return the unweighted bound of each row under the gates of this pass, (B,)."""
        reconstruction = result.px.log_prob(result.batch.x)
        return reconstruction - torch.stack(tuple(self.divergence(result).values())).sum(0)

    def log_weight(self, result: Pass) -> Tensor:
        """Return log p(x, z) - log q(z | x) of each row's draw, (B,)."""
        ratio = self.latent.log_ratio(result.q, result.p, result.draw)
        return result.px.log_prob(result.batch.x) - ratio

    def objective_of_rows(self, result: Pass, knobs: Knobs) -> Tensor:
        """Return the mean over rows of what training is after in each row, constraints left out."""
        return self.objective.of_rows(result, self.divergence(result), knobs)

    def terms(self, result: Pass, knobs: Knobs) -> Terms:
        """Return the training objective of a pass, taken apart."""
        return self.objective(result, self.divergence(result), knobs)
