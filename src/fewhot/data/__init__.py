"""Data as the models see it: recognised input, resident or mapped rows, and the order in which they are visited.

Files and named datasets become `Loaded` records here, and `planted` and `smiley` make data whose codes are known.
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
from fewhot.data.celeba import read_celeba
from fewhot.data.dataset import Dataset
from fewhot.data.dense import DenseDataset
from fewhot.data.files import EXTENSIONS, read_file, read_texts, write_matrix
from fewhot.data.files.table import Table
from fewhot.data.images import read_idx
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.opening import open_data
from fewhot.data.order import Order
from fewhot.data.places import cache_folder
from fewhot.data.ragged import RaggedDataset
from fewhot.data.recognise import as_dataset, as_matrix
from fewhot.data.smiley import Smiley, smiley
from fewhot.data.splits import SPLITS, hashed_positions, row_keys, split_rows
from fewhot.data.synthetic import Planted, planted
from fewhot.data.uci_har import read_uci_har

__all__ = [
    "EXTENSIONS",
    "SPLITS",
    "DataFile",
    "Dataset",
    "DatasetInfo",
    "DenseDataset",
    "Loaded",
    "Order",
    "Planted",
    "RaggedDataset",
    "Smiley",
    "Table",
    "as_dataset",
    "as_matrix",
    "cache_folder",
    "content_digest",
    "dataset_names",
    "describe",
    "fetch_dataset",
    "forget_dataset",
    "hashed_positions",
    "load_dataset",
    "open_data",
    "planted",
    "read_celeba",
    "read_file",
    "read_idx",
    "read_texts",
    "read_uci_har",
    "register_dataset",
    "row_keys",
    "smiley",
    "split_rows",
    "write_matrix",
]
