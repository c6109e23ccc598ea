"""What a person should be told before they use a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fewhot.metrics.label_references import WORDS
from fewhot.metrics.summary import Number, Summary
from fewhot.metrics.verdicts import ALL_OPEN, ALL_SHUT

ENOUGH = 0.9
"""The share of the asked units at which the dial counts as settled."""
MAX_BELOW_HISTORY = 2.0
"""Nats per row that kept weights may lack of the best that training passed before it is worth a warning."""

_OF_LABELS = {
    "label_likelihood": "log likelihood",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
    "squared_error": "mean squared error",
}
_SEVERITIES = ("serious", "warning", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One thing that is wrong, in plain words.

    Attributes
    ----------
    name
        Its key.
    severity
        "serious": the codes are not what they should be; "warning": look before use; "note": mind when comparing.
    sentence
        What was seen, and what to do.
    """

    name: str
    severity: Literal["serious", "warning", "note"]
    sentence: str


def alarms(summary: Summary) -> list[Alarm]:
    """Return what is wrong with a model, worst first; an empty list when nothing is.

    Thresholds are those of `fewhot.metrics.verdicts`: an alarm is raised where a verdict is poor.

    Parameters
    ----------
    summary
        What `summarise` returned.

    Examples
    --------
    >>> from fewhot.metrics.summary import Number
    >>> shut = Summary(numbers=[Number(name="empty_rows", value=1.0)], facts={"gated": True, "n_units": 8})
    >>> [alarm.name for alarm in alarms(shut)]
    ['collapse']
    """
    return sorted(_found(summary), key=lambda alarm: _SEVERITIES.index(alarm.severity))


def _found(summary: Summary) -> Iterator[Alarm]:
    if summary.facts.get("gated"):
        yield from _gates(summary)
        yield from _gates_say_nothing(summary)
    else:
        yield from _says_nothing(summary)
    yield from _one_code(summary)
    yield from _labels(summary)
    yield from _references(summary)
    yield from _history(summary)
    yield from _bounds(summary)
    if summary.facts.get("grey_levels"):
        yield Alarm(
            name="grey_levels",
            severity="note",
            sentence="The bound is BCE on grey levels, which is not a proper likelihood; binarise the data before "
            "comparing it with bounds on binary data.",
        )


def _says_nothing(summary: Summary) -> Iterator[Alarm]:
    """Look at dense codes: a KL may be large because all rows miss the prior in the same way."""
    if summary.value("active_units") == 0:
        yield Alarm(
            name="collapse",
            severity="serious",
            sentence=f"None of the {summary.facts['n_units']} units varies over rows, so the codes say next to nothing "
            f"about them, whatever the KL; lower the weights of the KL and of other penalties, or train longer.",
        )
    elif summary.verdict("information") == "poor":
        yield Alarm(
            name="collapse",
            severity="serious",
            sentence=f"The codes carry {summary.value('information'):.2g} nats a row, so they say next to nothing "
            f"about it; lower the weight of the KL or train longer.",
        )


def _gates_say_nothing(summary: Summary) -> Iterator[Alarm]:
    """Look at codes with gates that are not all shut, and yet carry nothing."""
    told = [summary.verdict(name) for name in ("information", "mutual_information")]
    if told == ["poor", "poor"] and not summary.value("empty_rows") >= ALL_SHUT:
        yield Alarm(
            name="collapse",
            severity="serious",
            sentence=f"The codes carry {summary.value('information'):.2g} nats a row, so they say next to nothing "
            f"about it; lower the weights of the KL, train longer, or keep codes in use by against_collapse=.",
        )


def _one_code(summary: Summary) -> Iterator[Alarm]:
    """Look at codes that cost something and are not empty, and are yet the same for all rows."""
    if summary.verdict("mutual_information") == "poor" and summary.verdict("information") in ("good", "fair"):
        yield Alarm(
            name="one_code",
            severity="serious",
            sentence=f"The codes cost {summary.value('information'):.2g} nats a row and tell rows apart by "
            f"{summary.value('mutual_information'):.2g}, so all rows have about the same one; lower the weights of the "
            f"KL, train longer, or keep codes in use by against_collapse=.",
        )


def _gates(summary: Summary) -> Iterator[Alarm]:
    n_units = summary.facts["n_units"]
    active = summary.value("active")
    if summary.value("empty_rows") >= ALL_SHUT:
        yield Alarm(
            name="collapse",
            severity="serious",
            sentence=f"All gates are shut in {summary.value('empty_rows'):.0%} of the rows, so the codes are empty; "
            f"{_more_units(summary)}.",
        )
        return
    if active >= ALL_OPEN * n_units:
        yield Alarm(
            name="all_open",
            severity="serious",
            sentence=f"{active:.3g} of {n_units} units are active in a row, so the code is dense; ask for fewer with "
            f"l0= or density=, or give it more units.",
        )
    elif summary.verdict("overlap") == "poor" and not _is_binary(summary):
        yield Alarm(
            name="same_units",
            severity="serious",
            sentence=f"The same units serve most rows (two rows share {summary.value('overlap'):.0%} of theirs): it "
            f"selects dimensions instead of coding sparsely; train longer, or ask for another number of units.",
        )
    yield from _units(summary, n_units)
    yield from _dial(summary)


def _units(summary: Summary, n_units: int) -> Iterator[Alarm]:
    if summary.verdict("used") == "poor" and not _is_binary(summary):
        yield Alarm(
            name="few_units",
            severity="warning",
            sentence=f"Only {summary.value('used'):.0f} of {n_units} units are in use, and "
            f"{summary.value('active'):.3g} are active per row, so there is little to choose; train longer "
            f"(max_steps=).",
        )
    if summary.value("always_on") > 0 and summary.verdict("always_on") != "good" and not _is_binary(summary):
        count = int(summary.value("always_on"))
        units, they, their = ("unit is", "tells", "its") if count == 1 else ("units are", "tell", "their")
        yield Alarm(
            name="always_on_units",
            severity="warning",
            sentence=f"{count} {units} active in more than half of the rows and {they} them apart by value only; do "
            f"not read {their} activity as a choice.",
        )
    if summary.verdict("empty_rows") == "poor":
        yield Alarm(
            name="empty_rows",
            severity="warning",
            sentence=f"{summary.value('empty_rows'):.0%} of the rows have no active unit, and so one code for all; "
            f"{_more_units(summary)}.",
        )


def _is_binary(summary: Summary) -> bool:
    """Say whether units are coins, without values: half of them on is what the prior expects."""
    return bool(summary.facts.get("binary"))


def _more_units(summary: Summary) -> str:
    """Say how to have more units on: fewer than were asked for means that the fit is not done."""
    asked = summary.facts.get("asked")
    if asked is None:
        return "ask for a number of units with l0= or density="
    reached = summary.value("active") >= ENOUGH * asked
    return "ask for more units with l0= or density=" if reached else "train longer (max_steps=)"


def _dial(summary: Summary) -> Iterator[Alarm]:
    active = summary.get("active")
    if active is not None and active.verdict in ("fair", "poor") and _is_off(active, summary.facts["asked"]):
        yield Alarm(
            name="asked_number",
            severity="warning",
            sentence=f"{summary.facts['asked']:g} active units a row were asked for and {summary.value('active'):.3g} "
            f"are on; give the dial more steps to settle (max_steps=).",
        )
    if summary.verdict("expected_active") == "poor":
        yield Alarm(
            name="doubtful_gates",
            severity="warning",
            sentence=f"P(active) sums to {summary.value('expected_active'):.3g} units a row where "
            f"{summary.value('active'):.3g} are on, so much of a sampled code is noise; prefer map codes.",
        )


def _is_off(number: Number, asked: float) -> bool:
    """Say whether a number differs from what was asked by more than the rows' own noise."""
    return abs(number.value - asked) > 2 * (number.se or 0.0)


def _history(summary: Summary) -> Iterator[Alarm]:
    """Look at whether training passed better weights that could not be kept, for they missed the sparsity target."""
    below = summary.facts.get("below_history", 0.0)
    if below > MAX_BELOW_HISTORY:
        yield Alarm(
            name="below_history",
            severity="warning",
            sentence=f"The ELBO on held-out rows was {below:.3g} nats per row better earlier in training, with "
            f"{summary.facts['history_active']:.3g} active units per row, too far from the target to be kept; these "
            f"rows are explained better by more of them than were asked for (l0=).",
        )


def _references(summary: Summary) -> Iterator[Alarm]:
    """Look at what explains the rows better than the model does: the columns alone, linear factors, PCA."""
    words = summary.facts.get("references", {})
    elbo, columns, factors = (summary.value(name) for name in ("bound", "reference_columns", "reference_factors"))
    if summary.verdict("bound") == "poor" and elbo < columns:
        yield Alarm(
            name="below_columns",
            severity="serious",
            sentence=f"The ELBO ({elbo:.4g} nats per row) is below that of {words['columns']} alone ({columns:.4g}), "
            f"so rows are explained better without the model; {_remedy(summary)}.",
        )
    elif summary.verdict("bound") == "poor":
        yield Alarm(
            name="below_factors",
            severity="warning",
            sentence=f"The ELBO ({elbo:.4g} nats per row) is below {words['factors']} ({factors:.4g}), a linear code "
            f"of as many dimensions as units are active; {_remedy(summary)}.",
        )
    if summary.verdict("ndcg") in ("fair", "poor"):
        yield Alarm(
            name="as_popular",
            severity="serious" if summary.verdict("ndcg") == "poor" else "warning",
            sentence=f"Of hidden items the model finds no more than what is popular does (NDCG "
            f"{summary.value('ndcg'):.3g} and {summary.value('ndcg_popularity'):.3g}); train longer (max_steps=), or "
            f"give more users.",
        )
    columns_probe = summary.get("probe_columns")
    if columns_probe is not None and summary.verdict("probe_map") == "poor":
        codes, majority = summary.value("probe_map"), summary.value("probe_majority")
        if columns_probe.value - max(codes, majority) > 2 * (columns_probe.se or 0.0):
            yield Alarm(
                name="probe_below_columns",
                severity="note",
                sentence=f"A linear classifier of the labels is right for {codes:.0%} of the rows by their codes, for "
                f"{columns_probe.value:.0%} by their columns and for {majority:.0%} by naming the commonest class; for "
                f"that purpose ask for more active units per row (l0=).",
            )
    if summary.verdict("fvu") == "poor":
        yield Alarm(
            name="below_pca",
            severity="warning",
            sentence=f"Decoded codes leave {summary.value('fvu'):.0%} of the variance unexplained and "
            f"{words['axes']} {summary.value('fvu_pca'):.0%}; {_remedy(summary)}.",
        )


def _labels(summary: Summary) -> Iterator[Alarm]:
    """Look at what predicts labels, or counts, better than the model does: their shares or means, a linear model."""
    poor = [number for number in summary.numbers if number.name in _OF_LABELS and number.verdict == "poor"]
    for end in ("shares", "means", "linear"):
        worse = [number for number in poor if _is_below(number, summary.value(f"{number.name}_{end}"))]
        if worse:
            of_counts = worse[0].name == "squared_error"
            scores = [
                f"{_OF_LABELS[number.name]} {summary.value(f'{number.name}_{end}'):.3g} against {number.value:.3g}"
                for number in worse
            ]
            yield Alarm(
                name=f"below_{end}",
                severity="warning" if end == "linear" else "serious",
                sentence=f"The {'counts' if of_counts else 'labels'} are predicted better by "
                f"{WORDS['counts' if of_counts else 'labels'][end]} than by the model: {', '.join(scores)}; "
                f"{_remedy_for_labels(summary, [number.name for number in worse])}.",
            )
            return


def _remedy_for_labels(summary: Summary, worse: list[str]) -> str:
    if summary.facts.get("variant", "dis") != "dis":
        return "give variant='dis', which models labels alone, or more weight to labels (label_weight=)"
    if worse == ["macro_f1"]:
        return "threshold_average='macro' predicts rare labels more often"
    return "give more rows, or try dropout=0.2 and weight_decay=0.3"


def _is_below(number: Number, reference: float) -> bool:
    """Say whether a score of labels is worse than that of a reference."""
    return number.value > reference if number.name == "squared_error" else number.value < reference


def _remedy(summary: Summary) -> str:
    """Say what to try, by whether training went on to learn its own rows alone."""
    if summary.verdict("training_gap") in ("fair", "poor") or summary.facts.get("overfitted"):
        return (
            "training rows are explained better than others: give fewer units (n_components=), fewer hidden ones "
            "(hidden_layer_sizes=) or more rows"
        )
    more = "" if summary.value("dead") > summary.facts["n_units"] / 2 else "give more units (n_components=), "
    return f"train longer (max_steps=), {more}or ask for more of them active per row (l0=)"


def _bounds(summary: Summary) -> Iterator[Alarm]:
    if summary.verdict("relaxation_gap") == "poor":
        yield Alarm(
            name="relaxed_objective",
            severity="warning",
            sentence=f"The gates of training flatter the bound by {summary.value('relaxation_gap'):.3g} nats a row; "
            f"trust the exact bound ({summary.value('bound'):.4g}), not the training curve.",
        )
    if summary.verdict("training_gap") == "poor":
        yield Alarm(
            name="training_rows",
            severity="warning",
            sentence=f"Training rows have a bound {summary.value('training_gap'):.3g} nats above others; more "
            f"rows or fewer units (n_components=) would narrow it.",
        )
