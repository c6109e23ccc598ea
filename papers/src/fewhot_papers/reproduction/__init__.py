"""Published tables and figures, run again: ours beside theirs.

An *entry* is one published figure or table with its protocol and the rule that judges it; a *cell* is one fit and what
was measured on it. Cells are kept on disk, so that a run goes on where it stopped and entries share their fits.

>>> from fewhot_papers.reproduction import entries
>>> entries()["iclr2019-fig2"].source
'Tonolini et al., Variational Sparse Coding, ICLR 2019 submission, figure 2'
"""

from fewhot_papers.reproduction.assembling import assemble, list_table, pack
from fewhot_papers.reproduction.catalogue import entries
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.running import RunSummary, run

__all__ = ["Cell", "Check", "Entry", "Reading", "RunSummary", "assemble", "entries", "list_table", "pack", "run"]
