"""Data as the models see it: recognised input, resident or mapped rows, and the order in which they are visited."""

from fewhot.data.dataset import Dataset
from fewhot.data.dense import DenseDataset
from fewhot.data.order import Order
from fewhot.data.ragged import RaggedDataset
from fewhot.data.recognise import as_dataset, as_matrix

__all__ = ["Dataset", "DenseDataset", "Order", "RaggedDataset", "as_dataset", "as_matrix"]
