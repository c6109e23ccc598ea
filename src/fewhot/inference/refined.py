"""Inference with local parameters that are optimised in every training step, from the encoder or from nothing."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor
from torch.distributions import kl_divergence

from fewhot.core.checks import one_of, real_number, truth, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Batch, Knobs, Noise, Params, Terms
from fewhot.core.registry import INFERENCES
from fewhot.inference.ascent import Ascent, Best, is_candidate
from fewhot.inference.base import Inference
from fewhot.inference.evaluation import EXACT
from fewhot.inference.phases import Model, OptimiserSpec, Phase

INNER = "inner/"
LOCAL = "local/"

ORDERS = ("model-first", "encoder-first")
TEACHERS = ("bound", "kl")
KEPT = ("last", "best")


class LocalAscent(Inference):
    r"""What procedures with optimised local parameters share: M steps up the objective in :math:`\psi`.

    Noise is fresh in every step and Adam's moments begin anew with every batch. Rows do not see each other. Gated
    families move along the gradient of the gates that they train with.

    Parameters
    ----------
    n_steps
        How many steps M.
    learning_rate
        Their size.
    beta1
        How much of its first moment the inner Adam keeps.
    keep
        ``"last"`` takes the last iterate; ``"best"`` takes, for every row, the best of a few on the way, the start
        among them, on the noise that the model's own step uses.
    weight_decay, decoupled_weight_decay
        Of the model's and the encoder's weights, as `OptimiserSpec`.
    """

    compiles = False  # a hundred steps in a row take a compiler minutes

    def __init__(
        self,
        n_steps: int = 100,
        learning_rate: float = 0.01,
        beta1: float = 0.9,
        keep: str = "last",
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
    ) -> None:
        self.n_steps = whole_number("n_steps", n_steps, least=0)
        self.learning_rate = real_number("learning_rate", learning_rate, low=0, open_low=True)
        self.beta1 = real_number("beta1", beta1, low=0, high=0.999)
        self.keep = one_of("keep", keep, KEPT)
        self.weight_decay = real_number("weight_decay", weight_decay, low=0)
        self.decoupled_weight_decay = truth("decoupled_weight_decay", decoupled_weight_decay)

    @property
    def steps_in_training(self) -> int:
        """All of them."""
        return self.n_steps

    @property
    def _optimiser(self) -> OptimiserSpec:
        return OptimiserSpec(weight_decay=self.weight_decay, decoupled_weight_decay=self.decoupled_weight_decay)

    def _noise(self, model: Model, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the noise of a pass, and that of the M steps before it, (M, B, ...)."""
        inner = model.latent.noise(self.n_steps * n_rows, generator) if self.n_steps else {}
        stacked = {INNER + name: value.unflatten(0, (self.n_steps, n_rows)) for name, value in inner.items()}
        return {**model.noise(n_rows, generator), **stacked}

    def _optimised(self, model: Model, seen: Batch, psi: Params, knobs: Knobs, noise: Noise) -> Params:
        """Return psi after the ascent, without a graph behind it."""
        inner = {name.removeprefix(INNER): value for name, value in noise.items() if name.startswith(INNER)}
        outer = {name: value for name, value in noise.items() if not name.startswith(INNER)}
        held = {name: value.detach() for name, value in psi.items() if name not in model.latent.refinable}
        ascent = Ascent({name: psi[name] for name in model.latent.refinable}, self.beta1)

        def objective(psi: Params, noise: Noise) -> Tensor:
            result = model.run({**held, **psi}, seen, knobs, {**outer, **noise})
            return seen.x.n_rows * model.objective_of_rows(result, knobs)

        def judge(psi: Params) -> Tensor:
            return model.bound(model.run({**held, **psi}, seen, EXACT, outer))

        best = Best(ascent.psi, judge) if self.keep == "best" else None
        for step in range(self.n_steps):
            drawn = {name: value[step] for name, value in inner.items()}
            ascent.step(lambda psi, drawn=drawn: objective(psi, drawn), self.learning_rate)
            if best is not None and is_candidate(step + 1, self.n_steps):
                best.offer(ascent.psi)
        return {**held, **(ascent.psi if best is None else best.psi)}


@INFERENCES.register("svi")
class SVI(LocalAscent):
    r"""Stochastic variational inference: :math:`\psi` from 0 for every batch, then a step of the model.

    What stands in the place of an encoder says the same of every row and does not learn.
    """

    @property
    def steps_a_row(self) -> int:
        """As many as in training: there is no encoder to ask."""
        return self.n_steps

    def phases(self, model: Model, stage: int = 0) -> list[Phase]:
        """Return the single phase."""

        def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            seen = model.observe(batch, noise)
            psi = self._optimised(model, seen, model.psi(seen), knobs, noise)
            return model.terms(model.run(psi, seen, knobs, noise), knobs)

        return [
            Phase(
                name="model",
                parameters=_model_parameters(model),
                loss=loss,
                noise=partial(self._noise, model),
                optimiser=self._optimiser,
            )
        ]


@INFERENCES.register("refined")
class Refined(LocalAscent):
    r"""Local parameters from the encoder, optimised; the model learns from them, the encoder from the new model.

    .. math:: \psi^* \leftarrow \psi_\phi(x) \text{ and M steps up } \mathcal{L}(x; \theta, \psi), \qquad
        \theta \leftarrow \theta + \nabla_\theta \mathcal{L}(x; \theta, \psi^*), \qquad
        \phi \leftarrow \phi + \nabla_\phi \mathcal{L}(x; \theta_\text{new}, \psi_\phi(x))

    Algorithm 3 of Krishnan, Liang and Hoffman (2018).

    Parameters
    ----------
    n_steps, learning_rate, beta1, keep, weight_decay, decoupled_weight_decay
        As `LocalAscent`.
    order
        ``"model-first"`` as above; ``"encoder-first"`` moves :math:`\phi` before :math:`\theta`, as the authors' code.
    encoder_by
        What the encoder learns from: the ``"bound"``, as above, or the ``"kl"`` divergence of
        :math:`q_{\psi^*}` from what it says.
    begin, end
        The steps between which local parameters are optimised; before and after, the model learns from
        :math:`\psi_\phi(x)` itself. ``end=None`` never stops.
    """

    n_stages = 2

    def __init__(
        self,
        n_steps: int = 100,
        learning_rate: float = 0.01,
        beta1: float = 0.9,
        keep: str = "last",
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        order: str = "model-first",
        encoder_by: str = "bound",
        begin: int = 0,
        end: int | None = None,
    ) -> None:
        super().__init__(n_steps, learning_rate, beta1, keep, weight_decay, decoupled_weight_decay)
        self.order = one_of("order", order, ORDERS)
        self.encoder_by = one_of("encoder_by", encoder_by, TEACHERS)
        self.begin = whole_number("begin", begin, least=0)
        self.end = None if end is None else whole_number("end", end, least=0)
        if self.end is not None and self.end <= self.begin:
            raise InvalidParameterError(f"begin is {begin} and end is {end}; there are no steps between them.")

    def stage(self, step: int) -> int:
        """Return 1 while local parameters are optimised."""
        return int(self.begin <= step and (self.end is None or step < self.end))

    def phases(self, model: Model, stage: int = 1) -> list[Phase]:
        """Return a phase for the model and one for the encoder."""

        def local(seen: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Params:
            """Return psi* of this step, found in whichever phase comes first."""
            found = {name.removeprefix(LOCAL): value for name, value in memo.items() if name.startswith(LOCAL)}
            if not found:
                psi = {name: value.detach() for name, value in model.psi(seen).items()}
                found = self._optimised(model, seen, psi, knobs, noise) if stage else psi
                memo |= {LOCAL + name: value for name, value in found.items()}
            return found

        def of_model(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            seen = model.observe(batch, noise)
            return model.terms(model.run(local(seen, knobs, noise, memo), seen, knobs, noise), knobs)

        def of_encoder(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            seen = model.observe(batch, noise)
            if self.order == "encoder-first":
                local(seen, knobs, noise, memo)
            psi = model.psi(seen, noise)
            terms = model.terms(model.run(psi, seen, knobs, noise), knobs)
            if self.encoder_by == "bound":
                return terms
            if not stage:  # the same terms by name as in every other stage
                return terms._replace(per_example={**terms.per_example, "kl_to_local": torch.zeros_like(terms.bound)})
            taught = model.posterior(local(seen, knobs, noise, memo), knobs)
            apart = kl_divergence(taught, model.posterior(psi, knobs))
            teaching = apart.reshape(len(apart), -1).sum(-1)
            return terms._replace(loss=teaching.mean(), per_example={**terms.per_example, "kl_to_local": teaching})

        parts = {
            "model": (_model_parameters(model), of_model),
            "encoder": (_encoder_parameters(model), of_encoder),
        }
        names = ["model", "encoder"] if self.order == "model-first" else ["encoder", "model"]
        return [
            Phase(
                name=name,
                parameters=parts[name][0],
                loss=parts[name][1],
                noise=partial(self._noise, model) if stage and name == names[0] else model.noise,
                optimiser=self._optimiser,
                controls=name == "encoder",
            )
            for name in names
        ]


def _encoder_parameters(model: Model) -> list[torch.nn.Parameter]:
    return [p for part in (model.encoder, model.latent) for p in part.parameters() if p.requires_grad]


def _model_parameters(model: Model) -> list[torch.nn.Parameter]:
    amortised = {id(p) for p in _encoder_parameters(model)}
    return [p for p in model.parameters() if p.requires_grad and id(p) not in amortised]
