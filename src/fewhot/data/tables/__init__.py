"""Tables as they come: columns of words, dates and gaps, and the preparation that turns them into numbers."""

from fewhot.data.tables.columns import RawColumns, raw_columns
from fewhot.data.tables.problems import check_plain, pair_of_names
from fewhot.data.tables.vectorizer import TableVectorizer

__all__ = ["RawColumns", "TableVectorizer", "check_plain", "pair_of_names", "raw_columns"]
