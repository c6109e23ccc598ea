"""Which models are fitted: one function a dataset makes every cell, so that figures asking for the same fit share it.

- Smiley as published, 40,000 steps, at 20, 60 and 120 units: the VSC on three seeds, 9 fits; both baselines with four
  betas on one seed, 21 fits as a beta of 1 is the same in both, then with the chosen beta on two more, up to 12 fits;
  one fit of 200,000 steps.
- Smiley in black and white, 30,000 steps of smaller networks: the same fits but the long one, with the VSC of this
  library.
- Fashion-MNIST, 40,000 steps, three seeds: VSC and beta-VAE at five sizes, 30 fits; VSC at three more alphas, 9 fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fewhot_papers.reproduction.entry import Cell

PAPER = "Tonolini, Jensen and Murray-Smith, Variational Sparse Coding, UAI 2019"
SEEDS = (0, 1, 2)
STEPS = 40_000
BATCH = 500
HIDDEN = 3000
ALPHA = 0.01
QUICK_STEPS = 60
QUICK_HIDDEN = 50
QUICK_BATCH = 50

SMILEY_SIZES = (20, 60, 120)
SMILEY_MIDDLE = 60
SMILEY_STEPS = 200_000
BETAS = (1.0, 4.0, 8.0, 16.0)
BASELINES = {"beta-vae": "β-VAE", "beta-tcvae": "β-TCVAE"}
VSCS = {"vsc": "VSC as published", "vsc-dense": "VSC with a dense start"}
MODELS = {**VSCS, **BASELINES}

ELBO_SIZES = (10, 30, 60, 120, 200)
ELBO_MIDDLE = 60
ELBO_ALPHAS = (0.01, 0.05, 0.2, 0.5)

_PAIRS = 30
"""Units at which looking at all pairs of a batch, as the beta-TCVAE does, takes as long as the rest of a step."""
_FASHION_STEP_SIZE = 1e-3

OPEN_CHOICES = (
    "Initialisation, hidden activation and variance floor: not given; torch's defaults, ReLU, and exp(-9), as in the "
    "figures of the ICLR submission.",
    "Gates of the pseudo-inputs: sharpened with a slope of 10, as in the authors' code; the selection's printed rule "
    "is 0 / 0 where no score is positive and vanishes for equal scores, so a softmax comes before it and one after.",
    "Number of seeds: three, where the paper has five for the ELBO and does not say for the others.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faces:
    """How faces are shown to the models, and how these are trained.

    Attributes
    ----------
    pictures
        "unit-norm" with a Gaussian likelihood, as published, or "binary" as they are drawn, with a Bernoulli one.
    vsc
        Which VSC stands against the baselines.
    seeds
        The first is the one on which the baselines' beta is chosen.
    steps, hidden, batch_size, learning_rate
        Of every model.
    """

    pictures: str
    vsc: str
    seeds: tuple[int, ...]
    steps: int
    hidden: int
    batch_size: int
    learning_rate: float


AS_PUBLISHED = Faces(
    pictures="unit-norm", vsc="vsc", seeds=SEEDS, steps=STEPS, hidden=HIDDEN, batch_size=BATCH, learning_rate=5e-4
)
BLACK_AND_WHITE = Faces(
    pictures="binary", vsc="vsc-dense", seeds=(6, 7, 8), steps=30_000, hidden=2000, batch_size=BATCH, learning_rate=1e-3
)


def smiley_fit(
    faces: Faces,
    model: str,
    n_units: int,
    seed: int,
    *,
    beta: float | None = None,
    steps: int | None = None,
    quick: bool = False,
) -> Cell:
    """Return the cell of one fit to faces; with a beta of 1 the beta-TCVAE is the beta-VAE, and shares its cell."""
    if beta == 1:
        model = "beta-vae"
    settings: dict[str, Any] = {
        "data": "smiley",
        "pictures": faces.pictures,
        "model": model,
        "n_units": n_units,
        "seed": seed,
        "alpha": ALPHA if model == "vsc" else None,
        "beta": beta,
        "steps": QUICK_STEPS if quick else steps or faces.steps,
        "hidden": QUICK_HIDDEN if quick else faces.hidden,
        "batch_size": QUICK_BATCH if quick else faces.batch_size,
        "learning_rate": faces.learning_rate,
        "n_train": 1000 if quick else 60_000,
        "n_test": 500 if quick else 10_000,
    }
    weight = "" if beta is None else f" β = {beta:g}"
    name = (
        f"Smiley, {faces.pictures}, {MODELS[model]}{weight}, {n_units} units, {settings['steps']:,} steps, seed {seed}"
    )
    cost = settings["steps"] * (1 + (n_units / _PAIRS if model == "beta-tcvae" else 0))
    return Cell(kind="uai2019-smiley", settings=settings, data="smiley", cost=cost, name=name)


def fashion_fit(model: str, n_units: int, seed: int, *, alpha: float | None = None, quick: bool = False) -> Cell:
    """Return the cell of one fit to Fashion-MNIST: a VSC with this prior on-rate, or a beta-VAE with a beta of 1."""
    settings: dict[str, Any] = {
        "data": "fashion_mnist",
        "model": model,
        "n_units": n_units,
        "seed": seed,
        "alpha": alpha,
        "beta": 1.0 if model == "beta-vae" else None,
        "steps": QUICK_STEPS if quick else STEPS,
        "hidden": QUICK_HIDDEN if quick else HIDDEN,
        "batch_size": QUICK_BATCH if quick else BATCH,
        "learning_rate": _FASHION_STEP_SIZE,
        "n_train": 1000 if quick else None,
        "n_test": 300 if quick else None,
        "measure": _measures(alpha, n_units, seed),
    }
    rate = "" if alpha is None else f" α = {alpha:g}"
    name = f"Fashion-MNIST, {MODELS[model]}{rate}, {n_units} units, {settings['steps']:,} steps, seed {seed}"
    return Cell(kind="uai2019-fashion", settings=settings, data="fashion_mnist", cost=settings["steps"], name=name)


def _measures(alpha: float | None, n_units: int, seed: int) -> list[str]:
    """Return what is measured besides bounds and the activity of the units: all that figures 6 and 7 ask for."""
    if (alpha, n_units) != (ALPHA, ELBO_MIDDLE):
        return []
    return ["classes", "neighbours", "walks", *(["pictures"] if seed == SEEDS[0] else [])]
