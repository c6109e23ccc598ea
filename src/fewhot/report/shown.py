"""The sections with pictures: training, codes, reconstructions, units, traversals, usage, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewhot.metrics import activity, self_calibration
from fewhot.metrics.traversal import usual_values
from fewhot.plots.codes import codes as draw_codes
from fewhot.plots.curves import curves
from fewhot.plots.effects import UnitEffect
from fewhot.plots.reconstructions import reconstructions
from fewhot.plots.reliability import reliability
from fewhot.plots.traversals import traversals
from fewhot.plots.units import draw_units, unit_words
from fewhot.plots.usage import ACTIVE_VARIANCE, usage
from fewhot.report.markup import amount, paragraph, picture, section, table
from fewhot.report.sample import Sample

_CODES_SHOWN = 40
_ROWS_SHOWN = 8
_TURNED = 6
_NAMED = 5


def training_section(estimator: Any, asked: float | None) -> str:
    """Return the curves of the run."""
    history = getattr(estimator, "history_", [])
    bound = history[-1].get("evaluation", {}).get("bound", float("nan")) if history else float("nan")
    shift = getattr(estimator, "gate_shift_", 0.0)
    shifted = (
        f" After the last step every gate was shifted alike, by {shift:+.2g} in its logit, so that held-out rows have "
        f"the number of active units that was asked for; the curves do not show it."
        if shift
        else ""
    )
    drawing = picture(
        curves(history, asked=asked),
        key="curves",
        alt=f"Bounds and units over {len(history)} evaluations; the exact bound ends at {amount(bound)} nats a row.",
        caption="Left: the exact bound is what counts. Where the bound as trained lies far above it, training flatters "
        "itself. Early values may lie outside the picture. The weights that were kept may be those of an earlier "
        f"step than the last.{shifted}",
    )
    return section("training", "Training", drawing)


def codes_section(sample: Sample) -> str:
    """Return the codes of some rows as a picture."""
    rows = sample.examples(_CODES_SHOWN)
    labels = None if sample.y is None else [sample.y[row] for row in rows]
    sorted_by = "" if labels is None else " Rows of one label stand together."
    words = (
        f"Each line is a row, each column a unit. {_use_in_words(sample)} A good sparse code lights different units "
        f"for different kinds of rows.{sorted_by}"
        if sample.gated
        else f"Each line is a row, each column a unit. {_use_in_words(sample)}{sorted_by}"
    )
    drawing = picture(
        draw_codes(sample.codes[rows], labels=labels, max_rows=_CODES_SHOWN),
        key="codes",
        alt=f"Map of {len(rows)} rows by {sample.n_units} units; coloured where a unit is not zero.",
        caption="Orange is positive, blue negative; the stronger the colour, the larger the value."
        + (" Empty is exactly zero." if sample.gated else ""),
    )
    return section("codes", "Codes", paragraph(words), drawing)


def reconstructions_section(sample: Sample) -> str:
    """Return originals beside what the decoder makes of their codes."""
    rows = sample.examples(_ROWS_SHOWN if sample.data.image_shape is not None else _ROWS_SHOWN // 2)
    labels = [f"row {sample.numbers[row]}" if sample.y is None else sample.y[row] for row in rows]
    drawing = picture(
        reconstructions(
            sample.estimator,
            sample.X[rows],
            codes=sample.codes[rows],
            image_shape=sample.data.image_shape,
            feature_names=sample.data.feature_names,
            labels=labels,
            background=None if sample.data.image_shape is not None else sample.X,
        ),
        key="reconstructions",
        alt=f"{len(rows)} rows beside the decoder's mean of their codes, and the codes as bars.",
        caption=_what_rows_show(sample)
        + (" Where few units are on, the bars have their numbers." if sample.gated else ""),
    )
    words = "What survives the code: the closer the decoded row is to the original, the less the code left out."
    return section("reconstructions", "Originals and reconstructions", paragraph(words), drawing)


def units_section(sample: Sample, effects: Sequence[UnitEffect]) -> str:
    """Return what the strongest units do."""
    drawing = picture(
        draw_units(effects, sample.X, columns=sample.columns, image_shape=sample.data.image_shape),
        key="units",
        alt=f"What the {len(effects)} strongest units add to a row: units "
        + (", ".join(str(effect.unit) for effect in effects) or "none")
        + ".",
        caption=_what_units_show(sample),
    )
    words = "Strongest first: units by how much they change rows, times how many rows they change."
    return section("units", "What the strongest units do", paragraph(words), drawing, _units_table(sample, effects))


def traversals_section(sample: Sample, effects: Sequence[UnitEffect]) -> str:
    """Return one row while one unit at a time is turned."""
    units = [effect.unit for effect in effects[:_TURNED]]
    if not units:
        return ""
    row = sample.typical()
    number = sample.numbers[row]
    values = usual_values(sample.codes, units)
    drawing = picture(
        traversals(
            sample.estimator,
            sample.X[[row]],
            units,
            values=values,
            image_shape=sample.data.image_shape,
            feature_names=sample.data.feature_names,
            background=None if sample.data.image_shape is not None else sample.X,
        ),
        key="traversals",
        alt=f"Row {number} decoded while units {', '.join(map(str, units))} take {values.shape[1]} values each.",
        caption=f"Each unit goes through the range it usually has{'; 0 is off' if sample.gated else ''}. The value "
        f"that it has in this row is given as “here”."
        + ("" if sample.data.image_shape is not None else " Blue is the lowest value, orange the highest."),
    )
    return section(
        "traversals", "Turning one unit", paragraph(f"Row {number}, with one unit at a time changed."), drawing
    )


def usage_section(sample: Sample) -> str:
    """Return how the rows are spread over the units."""
    drawing = picture(
        usage(sample.codes),
        key="usage",
        alt=_use_in_words(sample),
        caption=f"Counted on {sample.n_rows:,} rows.",
    )
    words = (
        "Work is well spread if many units lie between the two lines. Units that are never on are capacity that the "
        "data did not need, or that training did not find a use for; units that are always on do not choose."
        if sample.gated
        else "These codes have no gates, so every unit is on in every row. A unit whose value hardly varies over rows "
        "says nothing about them."
    )
    return section("usage", "How units are used", paragraph(words), drawing)


def calibration_section(sample: Sample) -> str:
    """Return whether P(active) means what it says; nothing for models without gates, or that cannot tell."""
    module = getattr(sample.estimator, "module_", None)
    if not sample.gated or module is None or not module.reads_what_it_makes:
        return ""
    found = self_calibration(sample.estimator)
    drawing = picture(
        reliability(found),
        key="calibration",
        alt=f"Stated probabilities against the share that came true; the mean miss is {amount(found.ece)}.",
        caption="On the dashed line a probability of 30 % comes true in 30 % of cases.",
    )
    words = "Measured on rows drawn from the model, for which the active units are known."
    return section("calibration", "Whether P(active) can be believed", paragraph(words), drawing)


def _use_in_words(sample: Sample) -> str:
    if not sample.gated:
        used = int((np.asarray(sample.codes, dtype=np.float64).var(axis=0) > ACTIVE_VARIANCE).sum())
        return f"{used} of {sample.n_units} units vary over the rows."
    use = activity(sample.codes)
    return (
        f"A row has {amount(round(use.active, 2))} active units on average; of {sample.n_units} units {use.used} are "
        f"used, {use.always_on} always on and {use.dead} never on."
    )


def _what_rows_show(sample: Sample) -> str:
    if sample.data.image_shape is not None:
        in_color = sample.data.image_shape[2:] not in ((), (1,))
        return "Colors are those of the pixels." if in_color else "Black is the smallest value, white the largest."
    if sample.columns.profile:
        return "Each line runs over the columns of a row."
    scale = f", in {sample.columns.unit}" if sample.columns.scaled else ""
    return f"The columns with the largest values of each row{scale}."


def _what_units_show(sample: Sample) -> str:
    if not sample.gated:
        first = "What changes when the unit goes from its 10 % to its 90 % quantile, the others as they are"
        second = "the tenth of rows with its largest values less the tenth with its smallest"
    else:
        first = "What is added when the unit is switched on, averaged over rows that use it"
        second = "the mean of rows that use it less the mean of the others"
    if sample.data.image_shape is not None:
        return f"{first}: orange is brighter, blue darker. Beside it, rows with its largest values."
    scale = " In standard deviations of each column." if sample.columns.scaled else ""
    return (
        f"Bars: {first[0].lower()}{first[1:]}. Dots: {second}, in the data. Where the two disagree, other units do "
        f"part of the work.{scale}"
    )


def _units_table(sample: Sample, effects: Sequence[UnitEffect]) -> str:
    if not effects or sample.data.image_shape is not None:
        return ""
    rows = []
    for effect in effects:
        change = sample.columns.change(effect.change)
        order = np.argsort(-change, kind="stable")
        raised = [sample.columns.name(column) for column in order[:_NAMED] if change[column] > 0]
        lowered = [sample.columns.name(column) for column in order[::-1][:_NAMED] if change[column] < 0]
        rows.append((f"unit {effect.unit}", unit_words(effect), ", ".join(raised), ", ".join(lowered)))
    return (
        "<details><summary>As a table</summary>"
        + table(("Unit", "Use", "Raises most", "Lowers most"), rows, "What the strongest units do.")
        + "</details>"
    )
