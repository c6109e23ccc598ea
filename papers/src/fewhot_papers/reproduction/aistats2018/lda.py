"""The LDA of table 3, which the paper quotes, fitted and scored document by document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewhot.baselines import LDA
from fewhot_papers.reproduction.aistats2018.grid import PAPER, SEEDS
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements

TOPICS = 50
LOWEST, HIGHEST = 1050.0, 1130.0
OURS, USUAL = "ours", "scikit-learn's"
PRIORS: dict[str, dict[str, Any]] = {OURS: {}, USUAL: {"topic_word_prior": 1 / TOPICS, "max_iter": 10}}
"""Settings by name: the defaults of `LDA`, and those of scikit-learn."""
FITS = ((USUAL, "geometric"), (OURS, "geometric"), (OURS, "mean"))


def lda_cells(quick: bool) -> Sequence[Cell]:
    """Return fits with both settings, and topics held in both ways."""
    return [
        Cell(
            kind="aistats2018-lda",
            settings={
                "data": "newsgroups_nvdm",
                "n_topics": 5 if quick else TOPICS,
                "defaults": defaults,
                "fixed_topics": fixed,
                "n_train": 300 if quick else None,
                "n_test": 100 if quick else None,
                "seed": seed,
            },
            data="newsgroups_nvdm",
            cost=100,
            name=f"20 Newsgroups, LDA, settings {defaults}, topics {fixed}, seed {seed}",
        )
        for defaults, fixed in FITS
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


@cell_function("aistats2018-lda", version=2)
def fit_lda(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit topics; measure the perplexity of test documents in both definitions."""
    train, test = (
        dataset(settings["data"], split, data_dir).X[:rows]
        for split, rows in (("fit", settings["n_train"]), ("test", settings["n_test"]))
    )
    model = LDA(
        settings["n_topics"],
        fixed_topics=settings["fixed_topics"],
        random_state=settings["seed"],
        **PRIORS[settings["defaults"]],
    ).fit(train)
    return Measured({average: model.perplexity(test, average) for average in ("document", "corpus")})


def judge_lda(measured: Measurements) -> list[Reading]:
    """Judge that the baseline is as good as others' measurements of it."""
    at_mean = measured.value("document", defaults=OURS, fixed_topics="mean")
    checks = []
    for defaults in PRIORS:
        here = measured.where(defaults=defaults, fixed_topics="geometric")
        found = here.value("document")
        told = f"{found}, {here.value('corpus')} over the corpus"
        if defaults == OURS:
            told += f"; {at_mean} with topics at their mean"
        statement = f"settings {defaults}: the test perplexity, mean of documents, is from {LOWEST:g} to {HIGHEST:g}"
        checks.append(Check(statement, LOWEST <= found.mean <= HIGHEST, told))
    return [Reading(None, checks)]


LDA_BASELINE = Entry(
    id="aistats2018-lda",
    title="LDA on 20 Newsgroups, scored as the models are",
    source=f"{PAPER}, table 3",
    data=("newsgroups_nvdm",),
    protocol=(
        f"The documents of aistats2018-table3, validation ones left out; {TOPICS} topics by scikit-learn's variational "
        "Bayes, with its settings (both priors 1/50, 10 passes) and with ours (topic-word prior 0.5, 20 passes). Each "
        "test document's bound alone, iterated to convergence, topics held at exp E[log β]; three seeds."
    ),
    published="Quoted there: 1091 (50 topics), 1058 (200).",
    rule=f"With either settings the perplexity is from {LOWEST:g} to {HIGHEST:g}: about the published one.",
    cells=lda_cells,
    judge=judge_lda,
)
