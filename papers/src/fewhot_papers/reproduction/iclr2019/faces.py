"""The parts on CelebA, which cannot be run here: the entries say what is missing."""

from __future__ import annotations

from fewhot_papers.reproduction.entry import Entry
from fewhot_papers.reproduction.iclr2019.grid import OPEN_CHOICES, PAPER
from fewhot_papers.reproduction.missing import celeba

MISSING = celeba("100,000 to train and 20,000 to test")

FIGURE_4_FACES = Entry(
    id="iclr2019-fig4-celeba",
    title="Single units of CelebA codes altered",
    source=f"{PAPER}, figure 4, CelebA part",
    data=("celeba32",),
    protocol="VSC alpha 0.01, 800 units, two hidden layers of 2,000; one non-zero element of a code altered at a time.",
    published="Section 4.3: many non-zero elements control interpretable features. Given as a picture only.",
    rule="None can be applied without the data.",
    open_choices=OPEN_CHOICES,
    missing=MISSING,
)

FIGURE_7_FACES = Entry(
    id="iclr2019-fig7-celeba",
    title="Examples of sparse codes and reconstructions of CelebA",
    source=f"{PAPER}, figure 7, bottom",
    data=("celeba32",),
    protocol="VSC alpha 1, 0.5 and 0.2 on CelebA, two hidden layers of 2,000 and 800 units, otherwise as on MNIST.",
    published="Appendix E.1: example codes and reconstructions at alpha 1, 0.5 and 0.2. Given as a picture only.",
    rule="None can be applied without the data.",
    open_choices=OPEN_CHOICES,
    missing=MISSING,
)
