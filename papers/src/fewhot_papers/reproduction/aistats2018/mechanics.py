"""What optimising local parameters does to learning: figures 3, 4, 5, 9 and 10, and the number of inner steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fewhot_papers.reproduction.aistats2018.grid import (
    ANNEALINGS,
    ASCENTS,
    DEPTHS,
    INNER_STEPS,
    PAPER,
    SHORT,
    SWITCH,
    TRAININGS,
    WORDS,
    short_fits,
)
from fewhot_papers.reproduction.comparing import less, more
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOTH = tuple(TRAININGS)
ALL_WORDS = 2000
EARLY, LATE = [0, SWITCH], [SWITCH, None]
STAND_IN = (
    f"20 Newsgroups (10,768 documents, 2,000 words) stands in for Wikipedia (1.1 million, 20,000), with {SHORT} passes."
)
PROTOCOL = "Models of three generative layers that read tf-idf, as in aistats2018-table3, three seeds."


# ------------------------------------------------------------------------------------------------------------ cells


def plain_cells(quick: bool) -> Sequence[Cell]:
    """Return both trainings."""
    return short_fits(quick, BOTH, [{}])


def switching_cells(quick: bool) -> Sequence[Cell]:
    """Return ψ* in the first passes only, and in all but them."""
    epochs = ([0, 1], [1, None]) if quick else (EARLY, LATE)
    return short_fits(quick, ["refined"], [{"refined_epochs": when} for when in epochs])


def depth_cells(quick: bool) -> Sequence[Cell]:
    """Return both trainings with every depth of the inference network."""
    return short_fits(quick, BOTH, [{"q_layers": depth} for depth in (DEPTHS[:2] if quick else DEPTHS)])


def annealing_cells(quick: bool) -> Sequence[Cell]:
    """Return both trainings, and ψ(x) with every annealing."""
    annealed = [{"annealing": steps} for steps in (ANNEALINGS[:1] if quick else ANNEALINGS)]
    return [*plain_cells(quick), *short_fits(quick, ["amortised"], annealed)]


def vocabulary_cells(quick: bool) -> Sequence[Cell]:
    """Return both trainings with every size of the vocabulary."""
    sizes: Sequence[int | None] = WORDS[:1] if quick else WORDS
    return short_fits(quick, BOTH, [{} if n is None else {"n_words": n} for n in sizes])


def ascent_cells(quick: bool) -> Sequence[Cell]:
    """Return ψ* with every number of inner steps, and ψ(x)."""
    steps = (2, 3) if quick else ASCENTS
    variants = [{} if m == INNER_STEPS else {"inner_steps": m} for m in steps]
    return [*short_fits(quick, ["amortised"], [{}]), *short_fits(quick, ["refined"], variants)]


# ------------------------------------------------------------------------------------------------------------ rules


def judge_mechanics(measured: Measurements) -> list[Reading]:
    """Judge that ψ* leads to a better bound, and to more large singular values."""
    theirs, ours = (measured.where(inference=how) for how in BOTH)
    return [
        Reading(
            None,
            [
                less("ψ* has the lower test perplexity under ψ*", ours.value("refined"), theirs.value("refined")),
                more(
                    "ψ* has more singular values above 1",
                    ours.value("singular_above_one"),
                    theirs.value("singular_above_one"),
                ),
            ],
        )
    ]


def judge_switching(measured: Measurements) -> list[Reading]:
    """Judge that optimising early is better than optimising late."""
    early, late = (measured.value("refined", refined_epochs=epochs) for epochs in (EARLY, LATE))
    return [Reading(None, [less("ψ* then ψ(x) is below ψ(x) then ψ* in test perplexity under ψ*", early, late)])]


def judge_depth(measured: Measurements) -> list[Reading]:
    """Judge that a deeper inference network trained by ψ(x) is no substitute for ψ*."""
    by_depth = measured.along("refined", "q_layers", inference="amortised")
    ours = measured.along("refined", "q_layers", inference="refined")
    best = min(ours.values(), key=lambda value: value.mean)
    return [
        Reading(
            None,
            [
                less(f"ψ* at its best is below ψ(x) with {d} hidden layers", best, value)
                for d, value in by_depth.items()
            ],
        )
    ]


def judge_annealing(measured: Measurements) -> list[Reading]:
    """Judge that no annealing of ψ(x) is better than ψ*."""
    ours = measured.value("refined", inference="refined")
    checks: list[Check] = []
    for steps in sorted({row.settings["annealing"] for row in measured.rows if row.settings["annealing"]}):
        theirs = measured.value("refined", inference="amortised", annealing=steps)
        statement = f"ψ(x) annealed over {steps} steps is not below ψ*"
        checks.append(Check(statement, theirs.mean >= ours.mean, f"{theirs} against {ours}"))
    return [Reading(None, checks)]


def judge_vocabulary(measured: Measurements) -> list[Reading]:
    """Judge that the relative gain of ψ* is larger with the largest vocabulary than with the smallest."""
    small, large = (_gain(measured, n) for n in (WORDS[0], WORDS[-1]))
    return [Reading(None, [more("the relative gain of ψ* grows with the vocabulary", large, small)])]


def _gain(measured: Measurements, n_words: int | None) -> Value:
    theirs, ours = (measured.value("refined", inference=how, n_words=n_words) for how in BOTH)
    return Value((theirs.mean - ours.mean) / theirs.mean, (theirs - ours).se / theirs.mean, theirs.n)


def judge_ascent(measured: Measurements) -> list[Reading]:
    """Judge that some steps are better than none, and that as many as published are not worse than a few."""
    ours = measured.along("refined", "inner_steps", inference="refined")
    theirs = measured.value("refined", inference="amortised")
    few, published = ours[ASCENTS[0]], ours[INNER_STEPS]
    return [
        Reading(
            None,
            [
                less(f"ψ* with {INNER_STEPS} steps is below ψ(x) in test perplexity under ψ*", published, theirs),
                Check(
                    f"{INNER_STEPS} steps are not worse than {ASCENTS[0]}",
                    published.mean <= few.mean,
                    f"{published} against {few}",
                ),
            ],
        )
    ]


# ---------------------------------------------------------------------------------------------------------- figures


def draw_curves(measured: Measurements) -> dict[str, Figure]:
    """Draw the validation bounds of every fit of the first seed over training."""
    from fewhot_papers.reproduction.figures import COLOURS, panels

    figure, axes = panels(1, 1, width=6.0)
    first = min(measured.seeds(), default=0)
    for place, row in enumerate(measured.where(seed=first).rows):
        if "epoch" in row.arrays:
            label, colour = _label(row.settings), COLOURS[place % len(COLOURS)]
            axes[0, 0].plot(row.arrays["epoch"], row.arrays["bound"], linewidth=1, label=label, color=colour)
    axes[0, 0].set(xlabel="epoch", ylabel="validation bound under ψ(x) (nats)")
    axes[0, 0].spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return {"bounds": figure}


def draw_gain(measured: Measurements) -> dict[str, Figure]:
    """Draw the relative gain of ψ* against the size of the vocabulary."""
    from fewhot_papers.reproduction.figures import curves, panels

    sizes = {n: n or ALL_WORDS for n in WORDS if measured.where(n_words=n).rows}
    gains = {size: _gain(measured, n) for n, size in sizes.items()}
    figure, axes = panels(1, 1, width=6.0)
    said = "gain of ψ* in perplexity (share)"
    curves(axes[0, 0], {"three layers, tf-idf": gains}, title="", x="words", y=said)
    axes[0, 0].axhline(0.0, color="0.6", linewidth=0.8)
    return {"gain": figure}


def _label(settings: Any) -> str:
    begin, end = settings["refined_epochs"] or (None, None)
    parts = [
        f"3-{TRAININGS[settings['inference']]}",
        "" if settings["q_layers"] == 2 else f"q of {settings['q_layers']}",
        "" if begin is None else f"ψ* from {begin} to {'the end' if end is None else end}",
        "" if settings["annealing"] is None else f"annealed over {settings['annealing']}",
        "" if settings["n_words"] is None else f"{settings['n_words']} words",
        "" if settings["inner_steps"] == INNER_STEPS else f"{settings['inner_steps']} steps",
    ]
    return ", ".join(part for part in parts if part)


def entry(place: str, title: str, published: str, rule: str, **options: Any) -> Entry:
    """Return an entry on the stand-in for Wikipedia; without ``draw`` it shows bounds over training."""
    return Entry(
        id=f"aistats2018-{place.replace('figure ', 'fig').replace(' ', '-')}",
        title=title,
        source=f"{PAPER}, {place}",
        data=("newsgroups_nvdm",),
        protocol=PROTOCOL,
        published=published,
        rule=rule,
        changes=(STAND_IN,),
        **{"draw": draw_curves, **options},
    )


FIGURE_3 = entry(
    "figure 3",
    "Bounds over training, and singular values",
    "On Wikipedia 3-ψ(x) after 150 passes, about 1330, is worse than 3-ψ* after 10; ψ(x) uses about ten directions.",
    "ψ* has the lower test perplexity and more singular values above 1 than ψ(x), each by more than 2 SE.",
    cells=plain_cells,
    judge=judge_mechanics,
)
FIGURE_4 = entry(
    "figure 4",
    "Gain of ψ* against the size of the vocabulary",
    "The relative drop in perplexity by training with ψ* grows with the vocabulary: 1,000 to 20,000 words.",
    f"The relative gain with all words is above that with {WORDS[0]} by more than 2 SE.",
    cells=vocabulary_cells,
    judge=judge_vocabulary,
    draw=draw_gain,
)
FIGURE_5 = entry(
    "figure 5",
    "Optimising early, and late",
    "ψ* for the first ten passes and ψ(x) afterwards is better than the reverse.",
    "ψ* then ψ(x) has the lower test perplexity by more than 2 SE.",
    cells=switching_cells,
    judge=judge_switching,
)
FIGURE_9 = entry(
    "figure 9",
    "Depth of the inference network",
    "A deeper inference network is slightly worse with ψ(x), and no substitute for ψ*.",
    "ψ* at its best depth is below ψ(x) at every depth by more than 2 SE.",
    cells=depth_cells,
    judge=judge_depth,
)
FIGURE_10 = entry(
    "figure 10",
    "Annealing of the divergence against ψ*",
    "Annealing over 10,000 to 100,000 updates is sensitive, and never better than ψ*.",
    "No annealing of ψ(x) has a test perplexity below that of ψ*.",
    cells=annealing_cells,
    judge=judge_annealing,
)
INNER_STEP_SWEEP = entry(
    "inner steps",
    "How many inner steps",
    "No sweep is published; the paper takes 100 steps for text and 50 for recommendation.",
    f"{INNER_STEPS} steps are better than ψ(x) by more than 2 SE, and not worse than {ASCENTS[0]}.",
    cells=ascent_cells,
    judge=judge_ascent,
)

MECHANICS = (FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_9, FIGURE_10, INNER_STEP_SWEEP)
