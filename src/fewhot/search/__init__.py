"""Search: the rows whose codes are most like another, exactly, and the units that make them so."""

from fewhot.search.index import SharedUnits, SparseIndex

__all__ = ["SharedUnits", "SparseIndex"]
