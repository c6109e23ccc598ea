"""From a fitted estimator and rows to a summary."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from fewhot.core.checks import one_of
from fewhot.core.devices import in_float32
from fewhot.core.errors import InvalidInputError
from fewhot.core.evaluations import watched
from fewhot.core.registry import LATENTS, LIKELIHOODS, OBSERVATIONS
from fewhot.metrics.activity import ALWAYS_ON_SHARE, activity
from fewhot.metrics.calibration import self_calibration
from fewhot.metrics.code_kinds import Kind, activity_probabilities, code_matrix
from fewhot.metrics.comparison import Comparison, compare_with_references
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.examples import transformed
from fewhot.metrics.likelihood import exact_bound, information, iwae, mutual_information, perplexity, relaxation_gap
from fewhot.metrics.matrices import has_rows, row_sums, rows_at
from fewhot.metrics.numbers import estimated, measured, with_se
from fewhot.metrics.probe_numbers import check_labels, labeled_rows, marginal_probe_numbers, probe_numbers
from fewhot.metrics.ranking_numbers import ranking_numbers
from fewhot.metrics.reference_numbers import bound_and_references
from fewhot.metrics.sparsity import active_units, average_hoyer, support_overlap
from fewhot.metrics.summary import Number, Summary
from fewhot.metrics.topics import topic_coherence
from fewhot.metrics.words import TopWords, counts_of, things_of

IWAE_DRAWS = 64
IWAE_ROWS = 1000
COMPARED_ROWS, LEAST_COMPARED = 300, 20
_SEED = 0
_SHOWN_WORDS = 10
_OVERFITTED = 1.0  # nats per row that held-out rows lost while training went on
_KINDS: tuple[Kind, ...] = ("map", "mean", "sample")


@in_float32()
def summarise(
    estimator: Any,
    X: Any,
    y: Any = None,
    X_train: Any = None,
    y_train: Any = None,
    *,
    probe: Literal["linear", "marginal"] = "linear",
) -> Summary:
    """Measure a fitted model on rows, and say what each number means and whether it is good.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows, (n, p), or texts; held-out ones for honest numbers.
    y
        Labels of the rows, (n,). With them, a probe is measured on map, mean and sampled codes. For `SDLGMClassifier`
        and `SDLGMCounter`, what they predict, (n, K).
    X_train, y_train
        Rows and labels the probe learns from; without them it learns from one half of X and is tested on the other.
    probe
        "linear": `linear_probe`, from 5000 labels at most. "marginal": `marginal_probe`, from all of them, which
        averages over five sampled codes.

    Returns
    -------
    Summary
        Thresholds of its verdicts are those of `fewhot.metrics.verdicts`.

    Notes
    -----
    The importance-weighted bound is measured on at most 1000 rows, drawn with a fixed seed where X can be indexed.

    The ELBO stands beside the log density of the same rows under independent columns (``reference_columns``) and, of
    real numbers, under a factor analysis of as many factors as units are active (``reference_factors``);
    reconstructions (``fvu``) beside PCA's; what is found of hidden likes (``ndcg``) beside popularity; probes beside
    the commonest class and the columns. All but the last were fitted on the training rows, by `fit`, and are kept in
    ``references_``.

    Of labels that a model predicts, log likelihood and F1 scores stand beside those by the share of each label in the
    training rows (``_shares``) and by logistic regressions (``_linear``), whose thresholds are chosen by expected F1,
    too; of counts, squared errors beside those by the mean (``_means``) and by ridge regressions. They are kept in
    ``label_references_``.
    """
    if (X_train is None) != (y_train is None):
        raise InvalidInputError("Only one of X_train and y_train was given; give both or neither.")
    if y_train is not None and y is None:
        raise InvalidInputError("y_train was given without y; give the labels of X too.")
    one_of("probe", probe, ("linear", "marginal"))
    if getattr(estimator, "labelled", False):
        return _of_labels(estimator, X, y, X_train)
    return _of_rows(estimator, X, y, X_train, y_train, probe)


def _of_rows(estimator: Any, X: Any, y: Any, X_train: Any, y_train: Any, probe: str) -> Summary:
    gated = bool(estimator.module_.latent.gated)
    codes = transformed(estimator, X)
    varying = None if gated else active_units(codes).by_mean
    compared = compare_with_references(estimator, X, codes)
    bound = exact_bound(estimator, X)
    numbers = _bounds(estimator, X, bound, compared, mute=varying == 0)
    numbers += ranking_numbers(estimator, X)
    if varying is None:
        numbers += _activity(estimator, X, codes)
    else:
        numbers.append(_varying(varying))
    numbers += _sparsity(estimator, X, gated)
    if gated:
        numbers += _calibration(estimator)
    if y is not None:
        probed = probe_numbers if probe == "linear" else marginal_probe_numbers
        check_labels(np.asarray(y), codes.shape[0])
        probed_rows, y = labeled_rows(X, y)
        numbers += probed(estimator, probed_rows, np.asarray(y), *labeled_rows(X_train, y_train))
    numbers += _coherence(estimator, X)
    facts = _facts(estimator, codes)
    if compared is not None:
        facts["references"] = compared.facts(bound.values)
    return Summary(numbers=numbers, facts=facts)


def _of_labels(estimator: Any, X: Any, y: Any, X_train: Any) -> Summary:
    """Measure how well labels are predicted and, where rows are modeled too, what a summary says of rows."""
    if X_train is not None:
        raise InvalidInputError(
            f"X_train and y_train are for probes of codes, and {type(estimator).__name__} predicts labels itself; give "
            f"X and y alone."
        )
    rows = _of_rows(estimator, X, None, None, None, "linear") if estimator._has_bound else None
    if y is None and rows is not None:
        return rows
    data = estimator._rows(X)
    if y is None:
        raise InvalidInputError(
            f"{type(estimator).__name__} with variant='dis' is measured by labels; give those of X, too: "
            f"summarise(estimator, X, Y)."
        )
    numbers = estimator._label_numbers(data, y)
    facts = {
        "estimator": type(estimator).__name__,
        "n_rows": data.n_rows,
        "n_labels": estimator.n_labels_,
        "variant": estimator.variant,
        "steps": int(estimator.n_iter_),
    }
    if rows is not None:
        return Summary(numbers=[*numbers, *rows.numbers], facts={**rows.facts, **facts})
    return Summary(numbers=numbers, facts=facts)


# ---------------------------------------------------------------------------------------------------- bounds


def kept_record(estimator: Any) -> dict[str, Any] | None:
    """Return the line of the history whose weights the estimator has: the best one that keeps all constraints."""
    records: list[dict[str, Any]] = estimator.history_
    if not records or estimator.n_iter_no_change is None:
        return records[-1] if records else None
    settled_at = estimator.module_.settled_at
    kept = [record for record in records if record["admissible"] or record["step"] >= settled_at] or records[-1:]
    return max(kept, key=lambda record: (record["admissible"], watched(record["evaluation"])))


def _below_history(estimator: Any) -> dict[str, float]:
    """Return by how many nats the kept weights were below the best of their history, and what that one had active.

    What gates were worth while they were held open is left out: those were no sparse codes.
    """
    kept = kept_record(estimator)
    if kept is None or estimator.n_iter_no_change is None:
        return {}
    sparse = [record for record in estimator.history_ if record["step"] >= estimator.module_.comparable_from]
    best = max((record["evaluation"] for record in sparse or estimator.history_), key=watched)
    return {
        "below_history": watched(best) - watched(kept["evaluation"]),
        "history_active": best.get("active", 0.0),
        "overfitted": watched(estimator.history_[-1]["evaluation"]) < watched(kept["evaluation"]) - _OVERFITTED,
    }


def _bounds(estimator: Any, X: Any, bound: Estimate, compared: Comparison | None, mute: bool) -> list[Number]:
    """Return bounds and what codes carry; of a mute code, whose means do not vary, the KL is no sign of that."""
    nats = "nats a row"
    carried = information(estimator, X)
    gap = relaxation_gap(estimator, X)
    scale = max(carried.mean, 1.0)
    said = None if mute else carried.mean
    subset, rows = _some_rows(X, len(bound.values))
    tight = iwae(estimator, subset, IWAE_DRAWS)
    same = bound.values[rows]
    some = f"{len(rows)} rows"
    if len(rows) < len(bound.values):
        some += f", whose bound is {same.mean():.1f}"
    slack = estimate(tight.values - same)
    numbers = [
        *bound_and_references(bound, compared),
        estimated("iwae", tight, nats, f"a tighter bound, from {IWAE_DRAWS} weighted draws on {some}"),
        estimated("slack", slack, nats, "what the bound leaves unsaid on those rows, at least"),
        estimated("information", carried, nats, "how much a code says about its row, at most", said),
        _told_apart(estimator, subset, len(rows)),
        estimated("relaxation_gap", gap, nats, "what the bound gains from the gates of training", gap.mean / scale),
    ]
    if LIKELIHOODS.name_of(estimator.module_.decoder.head.__class__) == "multinomial":
        numbers += _perplexity(estimator, X, bound.values, compared)
    record = kept_record(estimator)
    if record is not None and "bound" in record["terms"]:
        trained = float(record["terms"]["bound"])
        numbers.append(
            measured("training_objective", trained, nats, "the bound as training saw it: its own rows and gates")
        )
        if record["rows"] == "held-out":
            others, n_others = float(record["evaluation"]["bound"]), _n_held_out(estimator, len(bound.values))
            if bound.mean < others:  # these rows are explained less well than those that were held out of the fit
                others, n_others = bound.mean, len(bound.values)
            ahead = trained - others - gap.mean
            chance = float(bound.values.std()) / max(1.0, n_others) ** 0.5
            meaning = "what training rows gained over others, gates apart, at the step whose weights were kept"
            judged = max(0.0, ahead - 2 * chance) / scale
            numbers.append(with_se(measured("training_gap", ahead, nats, meaning, judged), chance))
    if estimator.refine_steps_:
        gained = estimate(estimator.codes(X).gap)
        numbers.append(estimated("refinement", gained, nats, "what refinement adds to the encoder's bound"))
    return numbers


def _n_held_out(estimator: Any, n_rows: int) -> float:
    """Return how many rows were held out; rows given for that are taken to be as many as these."""
    return estimator.validation_fraction * estimator.data_spec_.n_rows or float(n_rows)


def _coherence(estimator: Any, X: Any) -> list[Number]:
    """Return how often words of one unit are found in one row; nothing for other rows than counts and texts."""
    kept: TopWords | None = getattr(estimator, "_kept_words", None)
    if kept is None or not kept.lists or not has_rows(X):
        return []
    found = topic_coherence([words[:_SHOWN_WORDS] for words in kept.lists], counts_of(estimator, X))
    if not len(found.values):
        return []
    things = things_of(estimator)
    meaning = (
        f"by how much two of a unit's {_SHOWN_WORDS} {things} are found in one of these rows more often than by "
        f"chance: 0 by chance, 1 always together; units without {things} are left out"
    )
    return [estimated("coherence", found, "NPMI", meaning)]


def _told_apart(estimator: Any, X: Any, n_rows: int) -> Number:
    """Return by how much codes differ from row to row; of a few rows nothing is said."""
    compared = min(n_rows, COMPARED_ROWS)
    apart = mutual_information(estimator, X, COMPARED_ROWS)
    meaning = f"how much codes tell rows apart by, at most {np.log(compared):.1f} of {compared} rows"
    judged = apart.mean if compared >= LEAST_COMPARED else np.nan
    return estimated("mutual_information", apart, "nats a row", meaning, judged)


def _perplexity(estimator: Any, X: Any, bounds: np.ndarray, compared: Comparison | None) -> list[Number]:
    """Return the perplexity of rows; nothing where no row has a count, or rows are weights, for it is per count."""
    totals = estimator._rows(X).totals()
    if not totals.any() or (totals != np.rint(totals)).any():
        return []
    found = perplexity(bounds, totals)
    meaning = "by the bound, as many columns are left for each count, were they equally likely; a mean over rows"
    numbers = [measured("perplexity", found, "columns", meaning)]
    if compared is not None:
        alone = "the same by the share of each column in all counts, without a code"
        numbers.append(measured("perplexity_columns", perplexity(compared.columns, totals), "columns", alone))
    return numbers


def _some_rows(X: Any, n_rows: int) -> tuple[Any, np.ndarray]:
    if n_rows <= IWAE_ROWS or not has_rows(X):
        return X, np.arange(n_rows)
    rows = np.sort(np.random.default_rng(_SEED).choice(n_rows, IWAE_ROWS, replace=False))
    return rows_at(X, rows), rows


# ------------------------------------------------------------------------------------------------- use of units


def _activity(estimator: Any, X: Any, codes: Any) -> list[Number]:
    use = activity(codes)
    per_row = estimate(row_sums(codes != 0))
    share = row_sums((codes != 0).T) / codes.shape[0]
    p = activity_probabilities(estimator, X)
    likely = estimate((p > 0.5).sum(axis=1))
    doubt = estimate(p.sum(axis=1))
    asked = asked_units(estimator)
    miss = None if asked is None else abs(likely.mean - asked) / asked
    excess = abs(doubt.mean / likely.mean - 1) if likely.mean else float("nan")
    common = support_overlap(codes)
    most = float(share[share > ALWAYS_ON_SHARE].sum() / share.sum()) if share.sum() else float("nan")
    even = use.effective / use.used if use.used else float("nan")
    choice = use.used / per_row.mean if use.used else 0.0
    return [
        estimated("active", per_row, "units a row", "units that are not zero in the map code of a row", miss),
        estimated(
            "expected_active", doubt, "units a row", "the sum of P(active), which a map code cuts at one half", excess
        ),
        measured("used", use.used, "units", "units active in at least 0.5 % of the rows", choice),
        measured("effective", use.effective, "units", "as many evenly used units would have the same entropy", even),
        measured("dead", use.dead, "units", "units active in no row"),
        measured("always_on", use.always_on, "units", "units active in more than half of the rows", most),
        measured("empty_rows", use.empty_rows, "share of rows", "rows without an active unit", use.empty_rows),
        measured("overlap", common, "share", "a row's active units that another row has too", common),
    ]


def asked_units(estimator: Any) -> float | None:
    """Return the mean number of active units that the sparsity dial was asked for; None without a dial."""
    return estimator.module_.objective.l0


def _sparsity(estimator: Any, X: Any, gated: bool) -> list[Number]:
    kinds = ("map",) if estimator.refine_steps_ else _KINDS
    numbers: list[Number] = []
    for kind in kinds:
        codes = code_matrix(estimator, X, kind, _SEED)
        if codes.shape[1] < 2:
            continue
        found = average_hoyer(codes)
        left_out = f"; rows without an active unit left out: {found.skipped}" if found.skipped else ""
        meaning = f"how uneven {kind} codes are, from 0 (all units alike) to 1 (one unit){left_out}"
        judged = found.mean if gated and kind != "mean" else None
        numbers.append(estimated(f"hoyer_{kind}", found, "", meaning, judged, rule="hoyer"))
        if gated and kind == "mean":
            numbers.append(_varying(active_units(codes).by_mean))
    return numbers


def _varying(units: int) -> Number:
    return measured("active_units", units, "units", "units whose mean varies over rows, with a variance above 0.01")


def _calibration(estimator: Any) -> list[Number]:
    if not estimator.module_.reads_what_it_makes:
        return []
    found = self_calibration(estimator, random_state=_SEED)
    above = max(0.0, found.ece - found.noise) / found.rate if found.rate else float("nan")
    above = above if _draws_like_data(estimator) else None
    number = measured(
        "calibration", found.ece, "probability", "how far P(active) is off, on rows drawn from the model", above
    )
    return [with_se(number, found.se)]


def _draws_like_data(estimator: Any) -> bool:
    """Say whether rows drawn from the model are of the kind it was fitted on."""
    return not grey_levels(estimator) and observation_of(estimator) != "unit-norm"


def observation_of(estimator: Any) -> str:
    """Return what is done to rows before they are scored, by name."""
    kind = estimator.module_.observation.__class__
    return OBSERVATIONS.name_of(kind) or kind.__name__


def grey_levels(estimator: Any) -> bool:
    """Say whether a Bernoulli likelihood was fitted to values between 0 and 1."""
    spec = estimator.module_.observation.spec(estimator.data_spec_)
    return estimator.likelihood_ == "bernoulli" and not spec.binary


# ---------------------------------------------------------------------------------------------------------- facts


def _facts(estimator: Any, codes: Any) -> dict[str, Any]:
    module = estimator.module_
    spec = module.observation.spec(estimator.data_spec_)
    return {
        "estimator": type(estimator).__name__,
        "n_rows": int(codes.shape[0]),
        "n_units": int(codes.shape[1]),
        "gated": bool(module.latent.gated),
        "binary": LATENTS.name_of(module.latent.__class__) == "bernoulli",
        "asked": asked_units(estimator),
        "likelihood": str(estimator.likelihood_),
        "likelihood_says": str(module.decoder.head.describe(spec)),
        "observation": observation_of(estimator),
        "grey_levels": grey_levels(estimator),
        "steps": int(estimator.n_iter_),
        **_below_history(estimator),
    }
