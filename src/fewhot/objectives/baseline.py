"""A learned baseline: what the likelihood of a row is expected to be, before a code is drawn."""

from __future__ import annotations

from torch import nn

from fewhot.core.checks import whole_number
from fewhot.core.records import ColumnMoments, Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.features.transforms import Features
from fewhot.nn import RowsMLP
from fewhot.objectives.objective import Term


@TERMS.register("baseline")
class LearnedBaseline(Term):
    r"""A network b that reads the row, :math:`\tfrac{1}{D}\,(b(x) - \log p(x|z))^2`; no part of the bound.

    Procedures that learn from the score function take b from the signal.

    Parameters
    ----------
    features
        What the network reads of a row.
    n_columns
        Width D of the rows.
    n_hidden
        Width of its hidden layer.
    """

    constraint = True
    weighted = False

    def __init__(self, features: Features, n_columns: int, n_hidden: int = 100) -> None:
        super().__init__()
        self.features = features
        self.n_columns = n_columns
        self.n_hidden = whole_number("n_hidden", n_hidden)
        self.body = RowsMLP(n_columns, [n_hidden])
        self.head = nn.Linear(n_hidden, 1)

    def fit(self, moments: ColumnMoments) -> None:
        """Fit what the network reads."""
        self.features.fit(moments)

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return how far the guess is off."""
        value = result.px.log_prob(result.batch.x).detach()  # (..., B)
        guess = self.n_columns * self.head(self.body(self.features(result.batch.x))).squeeze(-1).float()  # (B,)
        error = (guess - value).square() / self.n_columns
        return Terms(value.new_zeros(()), error.mean(), {"baseline": guess.expand(value.shape)})
