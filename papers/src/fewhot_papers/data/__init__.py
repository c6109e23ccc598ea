"""Datasets that papers need: readers of their files, and drawn faces.

`fewhot.data.load_dataset` finds them by name; the entry points of this distribution say which module has which.
"""

from fewhot_papers.data.celeba import read_celeba
from fewhot_papers.data.corpora import read_corpus, read_labelled_texts, read_sampled_texts
from fewhot_papers.data.netflix import read_netflix
from fewhot_papers.data.rcv1 import read_rcv1, read_vowpal_wabbit
from fewhot_papers.data.smiley import Smiley, smiley
from fewhot_papers.data.uci_har import read_uci_har
from fewhot_papers.data.wikipedia import read_wikipedia

__all__ = [
    "Smiley",
    "read_celeba",
    "read_corpus",
    "read_labelled_texts",
    "read_netflix",
    "read_rcv1",
    "read_sampled_texts",
    "read_uci_har",
    "read_vowpal_wabbit",
    "read_wikipedia",
    "smiley",
]
