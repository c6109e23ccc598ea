"""The parameters all estimators share, described once."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TypeVar

from fewhot.estimators.recipes import Recipe

C = TypeVar("C", bound=type)

SHARED = """\
hidden_layer_sizes : sequence of int, default=None
        Widths of the encoder's hidden layers, {and_decoder}; None takes the recipe's,
        {hidden}. With ``encoder="conv"`` they are channels, and None is (32, 64, 128); with "gru" one width,
        and None is 512.
    likelihood : str or Likelihood, default="auto"
        How rows are scored: "bernoulli" (on grey levels this is BCE, not a proper likelihood), "gaussian", "laplace",
        "poisson", "negative-binomial", "multinomial" (without the multinomial coefficient, as is usual for
        documents), or a configured part. "auto" takes {auto_likelihood}.
    observation : str, default="auto"
        What happens to rows before the model sees them: "as-is", "unit-norm" or "stochastic-binarise".
    encoder : str or torch.nn.Module, default="auto"
        The encoder's body; "auto" takes the recipe's, "mlp". "mlp" is a perceptron on dense or sparse rows. "conv"
        takes rows of side² or 3 side² columns as square pictures, pixels line by line, each with its channels; every
        layer halves them, in a frame of zeros where need be{and_back}. "gru" reads
        texts in order; "mlp" reads tf-idf weights of their words. A module from (B, n_features), or from ids of words
        and which of them are there, to (B, H) is deep-copied at fit, `fewhot.nn.Pretrained` among them; one of your own
        may have dropout, so the fit uses torch's global generator: other threads should not draw from it meanwhile.
    against_collapse : AgainstCollapse, default=None
        Free bits, word dropout, a warm-up or steps of the encoder alone, for decoders that could do without the code;
        a `fewhot.models.AgainstCollapse`. None takes free bits of 4 and drops half of the words where texts are said
        word by word, unless a recipe is named; ``AgainstCollapse()`` does nothing.
    max_steps : int, default=None
        Optimisation steps; None takes 100 passes over the rows, at least 3,000 and at most {steps} steps, or what a
        named recipe takes.
    max_epochs : int, default=None
        Passes over the rows; with ``max_steps`` given too, whichever ends first.
    batch_size : int, default=None
        Rows a step; None takes the recipe's, {batch}. Never more than there are rows.
    learning_rate : float, default=None
        Adam's rate; None takes the recipe's, {rate}.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping.
    n_iter_no_change : int, default=10
        Stop after so many evaluations without a better ELBO on held-out rows, and keep the best weights, among those
        that reach the sparsity target if there is one. Until schedules and controllers have settled, only evaluations
        that are more than 2 nats worse than the best one are counted. Where weights or penalties make the objective
        another than the ELBO, the objective is looked at. None trains on all rows for all steps.
    warm_start : bool, default=False
        Whether `fit` goes on from the last fit instead of beginning anew; schedules stay at their ends, the learning
        rate at a tenth of where it began. A model that was loaded has its weights to go on from, not what the
        optimiser remembered.
    refine_steps : int, default=0
        Gradient steps on each row's own posterior when encoding and scoring: slower, tighter.
    recipe : {recipes}, default=None
        A named set of choices for everything left open.{about_recipes}
    device : str, default="auto"
        "cpu", "cuda", or "auto".
    precision : {"auto", "float32", "tf32", "bf16"}, default="auto"
        Matrix products in training; reported bounds are always float32.
    compile : {"auto", True, False, "graph"}, default="auto"
        On CUDA: capture the step as a graph, compiled first when the run is long enough; "graph" captures without
        compiling; False runs eagerly.
    random_state : int, numpy generator or None, default=None
        One seed for initialisation, order, noise and evaluation.
    verbose : int, default=0
        1 shows live progress.
    callbacks : list, default=None
        `RunFolder` (history, checkpoints, resuming), `Callback` objects, or functions of each history record."""

DISCRETE = """\
estimator : str, default="auto"
        How gradients pass the choices in training. Exact codes with a gradient of something soft: "second-order",
        "straight-through", "straight-through-concrete", "rao-blackwellised"; see `fewhot.distributions.choices`. Soft
        codes, whose objective bounds nothing: "concrete" (Gumbel-softmax), "separate-concrete" (the last class, and
        what is chosen otherwise, one by one: gates and units of slots). The score function, unbiased: with a learned
        baseline ("score-function"), with an expansion around the mean code, too ("muprop"), with several draws that
        judge each other ("leave-one-out"), for the importance-weighted bound ("vimco"). Scores are always of exact
        codes. "auto" takes the recipe's, "{estimator}".
    temperature : float, default=1.0
        Of an estimator that has one, to begin with: lower is harder.
    temperature_decay : float, default=0.0
        The temperature falls by this share a step, down to ``least_temperature``; 0 keeps it.
    least_temperature : float, default=0.5
        Where it stops.
    n_draws : int, default=None
        Draws of every row's code a step averages, or compares. None takes 1, or 4 for estimators that compare."""

LEARNED = """\
module_ : LatentModel
        The fitted torch module.
    history_ : list of dict
        One record an evaluation: step, epoch, means of the training terms, exact bound and use of units.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Columns seen at fit."""


IN_WORDS = {
    "{and_decoder}": "mirrored in the decoder",
    "{auto_likelihood}": (
        "Bernoulli for values in [0, 1],\n        negative binomial for other non-negative whole numbers, Gaussian "
        "with learned variance otherwise. Texts\n        are bags of words, "
        '"multinomial" with a log-linear decoder, fitted in 40 passes (1,500 steps at least) at\n        a rate of '
        "2e-3; where the encoder reads them in order, or a recipe is named, a recurrent network\n        says them "
        "word by word, which takes hours on a CPU"
    ),
    "{and_back}": ", and the decoder has transposed convolutions",
}
"""What an estimator may say in words of its own, in ``in_words``."""


def documented(cls: C) -> C:
    """Fill the shared sections into an estimator's docstring."""
    recipes: Mapping[str | None, Recipe] = getattr(cls, "recipes", {None: Recipe()})
    filled = {
        "{shared}": SHARED,
        **IN_WORDS,
        **getattr(cls, "in_words", {}),
        "{discrete}": DISCRETE,
        "{learned}": LEARNED,
        "{recipes}": "{" + ", ".join("None" if name is None else f'"{name}"' for name in recipes) + "}",
        "{about_recipes}": "".join(_about(name, recipe) for name, recipe in recipes.items() if name is not None),
    }
    plain = recipes[None]
    filled |= {
        "{hidden}": str(plain.hidden_layer_sizes),
        "{steps}": f"{plain.max_steps:,}",
        "{batch}": str(plain.batch_size),
        "{rate}": f"{plain.learning_rate:g}",
        "{estimator}": getattr(plain, "estimator", ""),
    }
    for mark, text in filled.items():
        cls.__doc__ = (cls.__doc__ or "").replace(mark, text)
    return cls


def _about(name: str, recipe: Recipe) -> str:
    indent = " " * 8
    return "\n" + textwrap.fill(f'"{name}" {recipe.about}', 120, initial_indent=indent, subsequent_indent=indent)
