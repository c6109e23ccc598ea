"""What a preparation does to the columns of a table, in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from fewhot.data.tables.cells import day_text
from fewhot.data.tables.plans import Category, Date, Dropped, Number, Plan

_MAX_NAMED = 12


def summary_lines(plans: Sequence[Plan]) -> list[str]:
    """Return a line for each thing that is done, with the columns it is done to."""
    numbers = [plan for plan in plans if isinstance(plan, Number)]
    groups = {
        "numbers": [_number(plan) for plan in numbers if plan.reads == "number"],
        "yes and no as 1 and 0": [plan.name for plan in numbers if plan.reads == "truth"],
        "times as a share of the day": [plan.name for plan in numbers if plan.reads == "time"],
        "dates as days since the first": [_date(plan) for plan in plans if isinstance(plan, Date)],
        "categories as columns of 0 and 1": [_category(plan) for plan in plans if isinstance(plan, Category)],
        "missing values filled": [words for plan in plans if (words := _gaps(plan))],
        "unreadable cells, taken as missing": [
            f"{plan.name} ({plan.n_unread:,})" for plan in plans if isinstance(plan, Number | Date) and plan.n_unread
        ],
        "left out": [f"{plan.name} ({plan.reason})" for plan in plans if isinstance(plan, Dropped)],
    }
    return [f"{what}: {_listed(names)}" for what, names in groups.items() if names]


def _number(plan: Number) -> str:
    return f"{plan.name} (decimal commas)" if plan.decimal == "," else plan.name


def _date(plan: Date) -> str:
    order = "" if plan.spelling in (None, "year-month-day") else f", read as {plan.spelling}"
    return f"{plan.name} (since {day_text(plan.origin)}{order})"


def _category(plan: Category) -> str:
    rare = ""
    if plan.n_rare:
        rare = f", {plan.n_rare:,} rare ones {'in one column' if plan.has_other else 'without a column'}"
    return f"{plan.name} ({len(plan.levels)} {'levels' if len(plan.levels) > 1 else 'level'}{rare})"


def _gaps(plan: Plan) -> str:
    if isinstance(plan, Category) and plan.n_missing:
        treated = "a level of their own" if plan.has_absent else f"most frequent {plan.usual!r}"
        return f"{plan.name} ({plan.n_missing:,}: {treated})"
    if isinstance(plan, Number) and plan.n_missing:
        return f"{plan.name} ({plan.n_missing:,}: median {plan.fill:g})"
    return f"{plan.name} ({plan.n_missing:,}: median)" if isinstance(plan, Date) and plan.n_missing else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMED]) + (f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else "")
