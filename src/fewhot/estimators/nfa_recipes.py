"""The recipes of `NFA`: which choices go together, for likes, for counts, and as published."""

from __future__ import annotations

from dataclasses import dataclass

from fewhot.estimators.recipes import Recipe
from fewhot.estimators.row_kinds import COUNTS, LIKES


@dataclass(frozen=True, slots=True, kw_only=True)
class NFARecipe(Recipe):
    """What else a recipe of `NFA` decides: the arguments of the same names."""

    hidden_layer_sizes: tuple[int, ...] = (400, 400)
    batch_size: int = 500
    likelihood: str = "multinomial"
    n_layers: int = 3
    inference: str = "amortised"
    features: str = "auto"
    activation: str = "relu"
    weight_decay: float = 0.0
    dropout: float = 0.0
    kl_weight: float = 1.0
    kl_annealing: str = "none"
    kl_annealing_steps: int = 10_000
    decoupled_weight_decay: bool = False
    max_epochs: int | None = None
    min_steps: int = 0


_LIKES = NFARecipe(
    hidden_layer_sizes=(600,),
    n_layers=1,
    batch_size=100,
    learning_rate=2e-3,
    features="unit",
    dropout=0.6,
    weight_decay=0.4,
    decoupled_weight_decay=True,
    kl_weight=0.2,
    kl_annealing="linear",
    max_epochs=60,
    min_steps=300,  # of few users, a pass is a step or two, and 60 of them teach too little
    likelihood_options=(("fractional", True),),
    about="is what None takes where rows are likes: yes or no, or graded from 0 up in few of many columns. One linear "
    "layer that decodes, one hidden layer of 600, rate 2e-3, rows of length 1 with 60 % of their entries left out, a "
    "divergence whose weight grows to 0.2 over half of the steps, decoupled weight decay of 0.4, and 60 passes (300 "
    "steps at least) in batches of 100.",
)  # chosen on validation users of MovieLens 1M: docs/decisions/0028
_COUNTS = NFARecipe(
    n_layers=1,
    max_epochs=100,
    min_steps=800,
    about="is what None takes for all other rows, such as counts of words: one log-linear layer that decodes, and 100 "
    "passes (800 steps at least).",
)  # with three, documents had one axis: docs/decisions/0030

RECIPES: dict[str | None, NFARecipe] = {
    None: _COUNTS,
    LIKES: _LIKES,
    COUNTS: _COUNTS,
    "krishnan2018": NFARecipe(
        inference="refined",
        learning_rate=8e-4,
        weight_decay=4e-5,
        source="Krishnan, Liang and Hoffman 2018; hidden widths, rate and weight decay are those of their code",
        about="trains as published: optimised local parameters, two hidden layers of 400 on either side, rate "
        "8e-4, batches of 500 and the L2 penalty of the authors' code.",
    ),
    "miao2016": NFARecipe(
        hidden_layer_sizes=(500,),
        n_layers=1,
        inference="amortised",
        features="counts",
        activation="tanh",
        batch_size=64,
        learning_rate=5e-5,
        source="Miao, Yu and Blunsom 2016 (NVDM) and their code",
        about="is the neural variational document model: a log-linear decoder, one layer of 500 that reads the "
        "counts, rate 5e-5; encoder and decoder move together here, where the authors alternate by tens of epochs.",
    ),
    "liang2018": NFARecipe(
        hidden_layer_sizes=(600,),
        n_layers=2,
        inference="amortised",
        features="unit",
        activation="tanh",
        dropout=0.5,
        kl_weight=0.2,
        kl_annealing="linear",
        kl_annealing_steps=200_000,
        source="Liang, Krishnan, Hoffman and Jebara 2018 (Mult-VAE) and their code",
        about="is Mult-VAE: one hidden layer of 600 on either side with tanh, rows of length 1 with half of their "
        "entries left out, and a divergence whose weight grows to 0.2 over 200,000 steps (half of a shorter fit).",
    ),
}
