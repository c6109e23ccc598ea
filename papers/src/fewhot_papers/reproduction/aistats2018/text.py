"""Tables 1 and 3 and figures 7 and 8: perplexity of documents, and how models get there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewhot_papers.reproduction.aistats2018.grid import (
    EPOCHS,
    FEATURES,
    INNER_STEPS,
    LAYERS,
    PAPER,
    SEEDS,
    TRAININGS,
    TUNED,
    TUNED_ANNEALING,
    TUNED_BATCH,
    UNITS,
    row_name,
    table_3,
    table_3_and_tuned,
)
from fewhot_papers.reproduction.comparing import less
from fewhot_papers.reproduction.entry import Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEST_ROW, BEST_PUBLISHED = (1, "refined", "tfidf"), 828.0
ROWS = [(n, how, what) for n in LAYERS for how in TRAININGS for what in FEATURES]
QUOTED = (
    "Quoted there: LDA 1091 (50 topics) and 1058 (200), RSM 953, SBN 909, fDARN 917, NVDM 836 (50 units) and 852 (200)."
)
RCV1_MISSING = (
    "RCV1-v2 (789,414 newswire stories of 10,000 stems): its token files are given out by hand, under an agreement. "
    "The dataset rcv1 reads them; this entry has no cells for them."
)


def judge_table(measured: Measurements) -> list[Reading]:
    """Judge that optimising helps in every row, that tf-idf does, and how low the best row published is."""
    checks = []
    everything, measured = measured, measured.where(tuned=None)
    for n, how, what in ROWS:
        here = measured.where(n_layers=n, inference=how, features=what)
        name = row_name({"n_layers": n, "inference": how, "features": what})
        checks.append(
            less(
                f"{name}: perplexity under ψ* is below that under ψ(x)", here.value("refined"), here.value("amortised")
            )
        )
    for n in LAYERS:
        for how, trained in TRAININGS.items():
            tfidf, norm = (measured.value("refined", n_layers=n, inference=how, features=f) for f in ("tfidf", "norm"))
            checks.append(
                Check(
                    f"{n}-{trained}: tf-idf is below norm under ψ*", tfidf.mean < norm.mean, f"{tfidf} against {norm}"
                )
            )
    best = measured.value("refined", **_row_settings(BEST_ROW))
    name, chosen = chosen_setting(everything)
    for statement, value in (
        (f"{row_name(_row_settings(BEST_ROW))}, the best row published", best),
        (f"the best setting on validation documents, {name}", chosen),
    ):
        checks.append(Check(f"{statement}, is at most {BEST_PUBLISHED:g}", value.mean <= BEST_PUBLISHED, str(value)))
    return [Reading(None, checks)]


def chosen_setting(measured: Measurements) -> tuple[str, Value]:
    """Return the setting with the lowest perplexity of validation documents under ψ*, and its test perplexity."""
    settings = {
        **{row_name(known): {**known, "tuned": None} for known in map(_row_settings, ROWS)},
        **{f"tuned {tuned}": {"tuned": tuned} for tuned in TUNED},
    }
    here = {name: measured.where(**known) for name, known in settings.items() if measured.where(**known).rows}
    name = min(here, key=lambda name: here[name].value("refined_validation").mean)
    return name, here[name].value("refined")


def _row_settings(row: tuple[int, str, str]) -> dict[str, Any]:
    return dict(zip(("n_layers", "inference", "features"), row, strict=True))


def draw_bounds(measured: Measurements) -> dict[str, Figure]:
    """Draw the validation bound over training, and the spectra, of the first seed."""
    from fewhot_papers.reproduction.figures import COLOURS, panels

    figure, axes = panels(1, 2)
    for place, (n, how, what) in enumerate(ROWS):
        here = measured.where(n_layers=n, inference=how, features=what, tuned=None, seed=SEEDS[0])
        name = row_name({"n_layers": n, "inference": how, "features": what})
        style = {
            "color": COLOURS[place // 2 % len(COLOURS)],
            "linestyle": "-" if what == "tfidf" else "--",
            "label": name,
        }
        epoch, bound, spectrum = (here.array(kept) for kept in ("epoch", "bound", "spectrum"))
        if epoch is not None and bound is not None:
            axes[0, 0].plot(epoch, bound, linewidth=1, **style)
        if spectrum is not None:
            axes[0, 1].semilogy(range(1, len(spectrum) + 1), spectrum, linewidth=1, **style)
    axes[0, 0].set(xlabel="epoch", ylabel="validation bound under ψ(x) (nats)")
    axes[0, 1].set(xlabel="singular value, in order", ylabel="of the decoder's Jacobian at 0")
    figure.legend(
        *axes[0, 1].get_legend_handles_labels(), frameon=False, fontsize="x-small", loc="outside right center"
    )
    for one in axes[0]:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(alpha=0.25, linewidth=0.6)
    return {"bounds": figure}


def judge_spectrum(measured: Measurements) -> list[Reading]:
    """Judge that models of three layers trained by ψ* have more singular values above 1 than those trained by ψ(x)."""
    checks = []
    for what in FEATURES:
        ours, theirs = (
            measured.value("singular_above_one", n_layers=3, inference=how, features=what)
            for how in ("refined", "amortised")
        )
        checks.append(less(f"3 layers, {what}: ψ(x) has fewer singular values above 1 than ψ*", theirs, ours))
    return [Reading(None, checks)]


PROTOCOL = (
    f"20 Newsgroups as released by Miao et al., 2,000 words, 500 validation documents; {UNITS} units, one and three "
    f"generative layers, hidden ones of 400; inference network of two layers of 400; at most {EPOCHS} passes, batches "
    f"of 500, Adam 8e-4, weight decay; ψ*: {INNER_STEPS} steps of Adam 0.01 from ψ(x) for every batch. Weights of the "
    "best validation bound, under ψ* where training optimises. Settings of our own: trained by ψ(x), one generative "
    f"layer, batches of {TUNED_BATCH}, the divergence coming in over {TUNED_ANNEALING:.0%} of the steps; tf-idf or "
    "log(1 + x), tanh or GELU, rate 1e-3 or 3e-3, a range found on validation documents. Test perplexity, mean of "
    f"documents, the divergence inside, under ψ(x) and after {INNER_STEPS} steps of each document; three seeds."
)
TABLE_3 = Entry(
    id="aistats2018-table3",
    title="Test perplexity of 20 Newsgroups under ψ(x) and ψ*",
    source=f"{PAPER}, table 3",
    data=("newsgroups_nvdm",),
    protocol=PROTOCOL,
    published=(
        "ψ(x), ψ*: 1-ψ(x)-norm (illegible), 903; 1-ψ*-norm 1279, 889; 3-ψ(x)-norm 986, 857; 3-ψ*-norm 1292, 879; "
        "1-ψ(x)-tfidf 932, 839; 1-ψ*-tfidf 953, 828; 3-ψ(x)-tfidf 999, 842; 3-ψ*-tfidf 1063, 839. The 986 of norm is "
        f"below the 999 of tf-idf: an inversion that is reported, not required. {QUOTED}"
    ),
    rule=(
        "In every row the perplexity under ψ* is below that under ψ(x) by more than 2 SE; in every pair under ψ*, "
        f"tf-idf is below norm; the best row published, 1-ψ*-tfidf, is at most {BEST_PUBLISHED:g} under ψ*, and so is, "
        "of these rows and the settings of our own, the one with the lowest perplexity of validation documents."
    ),
    open_choices=(
        "Test documents: the 7,505 of the released file; training documents are a reconstruction whose word totals are "
        "the published ones.",
        "Steps after training: as many as in training, with a rate that falls and fresh noise; of each document the "
        "best iterate on 64 other draws.",
    ),
    cells=table_3_and_tuned,
    judge=judge_table,
    draw=draw_bounds,
)
FIGURE_7 = Entry(
    id="aistats2018-fig7",
    title="Bounds over training and singular values, 20 Newsgroups",
    source=f"{PAPER}, figure 7",
    data=("newsgroups_nvdm",),
    protocol=f"The fits of aistats2018-table3. {PROTOCOL}",
    published="Deeper models overfit; training by ψ* uses more directions of the code: more large singular values.",
    rule="Three layers: ψ* has more singular values of the Jacobian at 0 above 1 than ψ(x), by more than 2 SE.",
    cells=table_3,
    judge=judge_spectrum,
    draw=draw_bounds,
)


def _without_rcv1(place: str, title: str, published: str) -> Entry:
    return Entry(
        id=f"aistats2018-{place.replace('figure ', 'fig').replace(' ', '')}",
        title=title,
        source=f"{PAPER}, {place}",
        data=("rcv1",),
        protocol="As on 20 Newsgroups.",
        published=published,
        rule="None can be applied without the data.",
        missing=RCV1_MISSING,
    )


TABLE_1 = _without_rcv1(
    "table 1",
    "Test perplexity of RCV1 under ψ(x) and ψ*",
    "3-ψ*-tfidf 376 under ψ(x) and 331 under ψ*; 3-ψ(x)-norm 396 and 355. Quoted there: NVDM 550, fDARN 598.",
)
FIGURE_8 = _without_rcv1("figure 8", "Bounds over training and singular values, RCV1", "As figure 7.")
