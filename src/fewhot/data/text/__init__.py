"""Text as data: words, the ids they have, and texts in batches of similar length."""

from fewhot.data.text.building import is_text, text_dataset
from fewhot.data.text.dataset import TextDataset, text_width
from fewhot.data.text.reading import stream_texts
from fewhot.data.text.tokenising import TOKENISERS, clean, tokenise
from fewhot.data.text.vocabulary import UNKNOWN, UNKNOWN_WORD, Vocabulary

__all__ = [
    "TOKENISERS",
    "UNKNOWN",
    "UNKNOWN_WORD",
    "TextDataset",
    "Vocabulary",
    "clean",
    "is_text",
    "stream_texts",
    "text_dataset",
    "text_width",
    "tokenise",
]
