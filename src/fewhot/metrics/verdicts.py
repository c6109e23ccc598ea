"""Good, fair or poor: every threshold of summaries and alarms, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["good", "fair", "poor", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is looked at, and from where on it is good, or at least fair.

    Attributes
    ----------
    what
        The quantity that is judged, in words.
    good, fair
        The last value that is good, and the last that is fair.
    higher
        Whether more is better.
    because
        Why the thresholds lie there.
    """

    what: str
    good: float
    fair: float
    higher: bool
    because: str

    def __call__(self, value: float) -> Verdict:
        """Judge a value; nothing is said of one that is not defined."""
        if value != value:
            return ""
        sign = 1 if self.higher else -1
        return "good" if sign * value >= sign * self.good else "fair" if sign * value >= sign * self.fair else "poor"

    def why(self, value: float) -> str:
        """Say what was judged and by which thresholds."""
        if value != value:
            return f"{self.what} is not defined here"
        word = "from" if self.higher else "up to"
        return f"{self.what} is {value:.3g}; good {word} {self.good:g}, fair {word} {self.fair:g}: {self.because}"


RULES: dict[str, Rule] = {
    "bound": Rule(
        what="the ELBO above the better reference, in standard errors of the difference (below: at most one nat),",
        good=2.0,
        fair=-2.0,
        higher=True,
        because="a code that explains rows worse than their columns do, or than as many linear factors, is not worth "
        "having; in between chance decides",
    ),
    "fvu": Rule(
        what="the unexplained variance over that of as many principal axes",
        good=1.0,
        fair=1.25,
        higher=False,
        because="each row chooses its units, which PCA cannot, and so should need no more of them",
    ),
    "ndcg": Rule(
        what="the NDCG above that of popularity, in standard errors of the difference,",
        good=2.0,
        fair=-2.0,
        higher=True,
        because="lists that are the same for all users need no model",
    ),
    "labels": Rule(
        what="the gain over the better simple model, in standard errors of the difference (of nats, below: at most "
        "one),",
        good=2.0,
        fair=-2.0,
        higher=True,
        because="labels that a linear model predicts better need no network; in between chance decides",
    ),
    "information": Rule(
        what="the number of nats a code carries",
        good=2.0,
        fair=0.5,
        higher=True,
        because="below half a nat a code cannot even tell two kinds of rows apart",
    ),
    "mutual_information": Rule(
        what="the number of nats by which codes tell rows apart",
        good=1.0,
        fair=0.5,
        higher=True,
        because="a coin tells two kinds of rows apart by 0.7 nats, and a code can cost many nats and be the same for "
        "all rows",
    ),
    "relaxation_gap": Rule(
        what="the flattery of relaxed gates, as a share of the nats the code carries (at least 1)",
        good=0.1,
        fair=0.25,
        higher=False,
        because="on MNIST soft gates hid 16 to 18 nats, straight-through ones less than 2",
    ),
    "training_gap": Rule(
        what="what training rows gain over held-out ones beyond two standard errors, as a share of the nats the code "
        "carries (at least 1)",
        good=0.1,
        fair=0.25,
        higher=False,
        because="beyond a quarter the code is to a good part about the training rows",
    ),
    "active": Rule(
        what="the relative miss of the number that was asked for",
        good=0.1,
        fair=0.25,
        higher=False,
        because="a fit warns beyond a tenth",
    ),
    "expected_active": Rule(
        what="the sum of P(active) over the number of active units, less 1,",
        good=0.2,
        fair=1.0,
        higher=False,
        because="many units that are each on with a small probability are noise that a map code does not show",
    ),
    "used": Rule(
        what="the number of used units over that of active ones",
        good=3.0,
        fair=1.5,
        higher=True,
        because="a row chooses its units among those in use, and with few of them there is little choice",
    ),
    "always_on": Rule(
        what="the share of activations that belong to always-on units",
        good=0.1,
        fair=0.5,
        higher=False,
        because="a unit that most rows use does not tell them apart",
    ),
    "effective": Rule(
        what="the number of effective units over that of used ones",
        good=0.5,
        fair=0.25,
        higher=True,
        because="an uneven use leaves the work to a few units",
    ),
    "empty_rows": Rule(
        what="the share of rows without an active unit",
        good=0.01,
        fair=0.1,
        higher=False,
        because="an empty code says only what all empty rows have in common",
    ),
    "overlap": Rule(
        what="the share of a row's active units that another row has too",
        good=0.3,
        fair=0.5,
        higher=False,
        because="beyond a half two rows share most of their units, whatever they show",
    ),
    "hoyer": Rule(
        what="the average Hoyer sparsity",
        good=0.7,
        fair=0.45,
        higher=True,
        because="Gaussian codes reach 0.2 to 0.25, spike-and-slab codes 0.52 with half and 0.77 with a fifth on",
    ),
    "calibration": Rule(
        what="the calibration error above noise, as a share of the rate of active units,",
        good=0.1,
        fair=0.3,
        higher=False,
        because="P(active) can then be read as a probability to within a tenth of its size",
    ),
    "probe": Rule(
        what="the share of the majority vote's errors that the probe avoids",
        good=0.8,
        fair=0.5,
        higher=True,
        because="0 is what no code at all would reach, 1 is without error",
    ),
}

ALL_SHUT = 0.95
"""From this share of rows without an active unit, the model has collapsed."""
ALL_OPEN = 0.9
"""From this share of units active in a row, the code is dense."""
