"""The parts on CelebA, which cannot be run here: the entry says what is missing."""

from __future__ import annotations

from fewhot_papers.reproduction.entry import Entry
from fewhot_papers.reproduction.missing import celeba
from fewhot_papers.reproduction.uai2019.grid import OPEN_CHOICES, PAPER

FACES = Entry(
    id="uai2019-celeba",
    title="Features of CelebA faces",
    source=f"{PAPER}, figures on CelebA and supplement D.2",
    data=("celeba32",),
    protocol="VSC as on Smiley, 300 units, 32 x 32 RGB images, 500,000 steps with the same spike pre-training.",
    published="Supplement D.2 says how the model was trained. Given as pictures only.",
    rule="None can be applied without the data.",
    open_choices=OPEN_CHOICES,
    missing=celeba(),
)
