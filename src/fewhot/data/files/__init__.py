"""Files of numbers: one module a kind of file, one function that reads them all and one that writes."""

from fewhot.data.files.reading import EXTENSIONS, read_file
from fewhot.data.files.text import read_texts
from fewhot.data.files.writing import write_matrix

__all__ = ["EXTENSIONS", "read_file", "read_texts", "write_matrix"]
