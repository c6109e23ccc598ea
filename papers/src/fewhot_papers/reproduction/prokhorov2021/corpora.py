"""Table 2 and figure 5: the corpora, and how differently their classes use words."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewhot.metrics import class_divergences
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.prokhorov2021.grid import CORPORA, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = ("validation", "test")
TABLE: dict[str, dict[str, float]] = {
    "hsvae_yahoo": {"texts": 10_000, "words": 20_000, "shortest": 5, "longest": 30, "mean": 12, "classes": 10},
    "hsvae_dbpedia": {"texts": 14_000, "words": 20_000, "shortest": 1, "longest": 60, "mean": 35, "classes": 14},
}
"""As published, of each of the two parts that were released."""
WORDS_APART = 0.001


def corpus_cells(quick: bool) -> list[Cell]:
    """Return both released parts of every corpus."""
    return [
        Cell(
            kind="prokhorov-corpus",
            settings={"data": data, "split": part},
            data=data,
            cost=1,
            name=f"{CORPORA[data]}, {part} texts",
        )
        for data, part in product(CORPORA, PARTS[:1] if quick else PARTS)
    ]


@cell_function("prokhorov-corpus", version=1)
def describe(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Count texts, words and classes, and measure how far apart the words of classes are."""
    loaded = dataset(settings["data"], settings["split"], data_dir)
    lengths = np.array([len(text.split()) for text in loaded.texts])
    numbers = {
        "texts": float(len(lengths)),
        "words": float(len(loaded.feature_names)),
        "shortest": float(lengths.min()),
        "longest": float(lengths.max()),
        "mean": float(lengths.mean()),
        "classes": float(len(np.unique(loaded.y))),
    }
    apart = class_divergences(loaded.X, loaded.y)
    between = apart[~np.eye(len(apart), dtype=bool)]
    return Measured(numbers | {"divergence": float(between.mean())}, {"divergences": apart})


def judge_corpora(measured: Measurements) -> list[Reading]:
    """Judge every number of the table that can be counted in the released parts."""
    checks = []
    for row in measured.rows:
        published = TABLE[row.settings["data"]]
        where = f"{CORPORA[row.settings['data']]}, {row.settings['split']} texts"
        for name in ("texts", "words", "mean", "classes"):
            within = {"words": WORDS_APART * published[name], "mean": 0.5}.get(name, 0.0)
            holds = abs(row.numbers[name] - published[name]) <= within
            checks.append(Check(f"{where}: {name} is {published[name]:g}", holds, f"{row.numbers[name]:g}"))
        shortest, longest = row.numbers["shortest"], row.numbers["longest"]
        checks.append(
            Check(
                f"{where}: lengths are within {published['shortest']:g} and {published['longest']:g}",
                published["shortest"] <= shortest <= longest <= published["longest"],
                f"{shortest:g} to {longest:g}",
            )
        )
    return [Reading("The training texts were not released.", checks)]


def judge_divergences(measured: Measurements) -> list[Reading]:
    """Judge that the classes of DBpedia differ more in their words than those of Yahoo."""
    far, near = (measured.value("divergence", data=data) for data in ("hsvae_dbpedia", "hsvae_yahoo"))
    check = Check("Classes of DBpedia are further apart than those of Yahoo", far.mean > near.mean, f"{far}, {near}")
    return [Reading("On the parts that were released.", [check])]


def draw_divergences(measured: Measurements) -> dict[str, Figure]:
    """Draw the divergences between classes."""
    from fewhot_papers.reproduction.figures import panels

    figure, axes = panels(1, len(CORPORA))
    for panel, data in zip(axes[0], CORPORA, strict=True):
        apart = measured.array("divergences", data=data)
        if apart is not None:
            shown = panel.imshow(apart, cmap="viridis", vmin=0)
            figure.colorbar(shown, ax=panel, label="nats")
        panel.set(xlabel="class", ylabel="class")
        panel.set_title(CORPORA[data], fontsize="medium")
    return {"divergences": figure}


TABLE_2 = Entry(
    id="prokhorov2021-table2",
    title="The corpora of sentences",
    source=f"{PAPER}, table 2",
    data=tuple(CORPORA),
    protocol="Counted in the validation and test texts as released.",
    published=(
        "Yahoo, DBpedia: 10,000 and 14,000 texts in each of these parts, 20,000 words, 5 to 30 and 1 to 60 words a "
        "text, 12 and 35 in the mean, 10 and 14 classes."
    ),
    rule=(
        f"The same numbers of texts and classes, the vocabulary within {WORDS_APART:.1%}, mean lengths within half a "
        f"word, and all lengths within those published, which are of all parts."
    ),
    changes=("Training texts and Yelp are not available.",),
    cells=corpus_cells,
    judge=judge_corpora,
)
FIGURE_5 = Entry(
    id="prokhorov2021-fig5",
    title="How differently classes use words",
    source=f"{PAPER}, figure 5",
    data=tuple(CORPORA),
    protocol="Divergences between add-one smoothed frequencies of words by class, on the released parts.",
    published="Largest on DBpedia, smallest on Yelp.",
    rule="The mean divergence between two classes is larger on DBpedia than on Yahoo.",
    changes=("Training texts and Yelp are not available.",),
    cells=corpus_cells,
    judge=judge_divergences,
    draw=draw_divergences,
)
