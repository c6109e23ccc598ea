"""Data as the models see it: recognised input, resident or mapped rows, and the order in which they are visited.

Files and named datasets become `Loaded` records here, and `planted` makes data whose codes are known.
"""

from fewhot.data.catalogue import (
    DataFile,
    DatasetInfo,
    dataset_names,
    describe,
    fetch_dataset,
    forget_dataset,
    load_dataset,
    register_dataset,
)
from fewhot.data.compositions import Compositions, compose, digit_compositions
from fewhot.data.counting import count_words, frequent_words
from fewhot.data.dataset import Dataset
from fewhot.data.dense import DenseDataset
from fewhot.data.files import EXTENSIONS, read_file, read_texts, write_matrix
from fewhot.data.files.table import Table
from fewhot.data.images import read_idx
from fewhot.data.labelled import LabelledDataset
from fewhot.data.length_order import LengthOrder
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.movielens import read_movielens, read_pairs
from fewhot.data.mulan import read_mulan
from fewhot.data.newsgroups import read_features, read_newsgroups
from fewhot.data.opening import open_data
from fewhot.data.order import Order
from fewhot.data.places import cache_folder
from fewhot.data.ragged import RaggedDataset
from fewhot.data.recognise import as_dataset, as_matrix
from fewhot.data.splits import SPLITS, hashed_positions, row_keys, split_rows
from fewhot.data.stored import StoredDataset, StoredRows, open_rows
from fewhot.data.storing import write_rows
from fewhot.data.strong_generalisation import HeldOutUsers, StrongGeneralisation, strong_generalisation
from fewhot.data.synthetic import Planted, planted
from fewhot.data.tables import TableVectorizer
from fewhot.data.text import TextDataset, Vocabulary, clean, stream_texts, text_dataset, tokenise

__all__ = [
    "EXTENSIONS",
    "SPLITS",
    "Compositions",
    "DataFile",
    "Dataset",
    "DatasetInfo",
    "DenseDataset",
    "HeldOutUsers",
    "LabelledDataset",
    "LengthOrder",
    "Loaded",
    "Order",
    "Planted",
    "RaggedDataset",
    "StoredDataset",
    "StoredRows",
    "StrongGeneralisation",
    "Table",
    "TableVectorizer",
    "TextDataset",
    "Vocabulary",
    "as_dataset",
    "as_matrix",
    "cache_folder",
    "clean",
    "compose",
    "content_digest",
    "count_words",
    "dataset_names",
    "describe",
    "digit_compositions",
    "fetch_dataset",
    "forget_dataset",
    "frequent_words",
    "hashed_positions",
    "load_dataset",
    "open_data",
    "open_rows",
    "planted",
    "read_features",
    "read_file",
    "read_idx",
    "read_movielens",
    "read_mulan",
    "read_newsgroups",
    "read_pairs",
    "read_texts",
    "register_dataset",
    "row_keys",
    "split_rows",
    "stream_texts",
    "strong_generalisation",
    "text_dataset",
    "tokenise",
    "write_matrix",
    "write_rows",
]
