"""All entries by id."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import lru_cache
from typing import NoReturn

from fewhot.core.errors import DuplicateNameError, UnknownNameError
from fewhot_papers.reproduction.entry import Entry


@lru_cache(maxsize=1)
def _all() -> dict[str, Entry]:
    from fewhot_papers.reproduction import aistats2018, iclr2019, prokhorov2021, uai2019, xu

    found: dict[str, Entry] = {}
    for entry in (*iclr2019.ENTRIES, *uai2019.ENTRIES, *aistats2018.ENTRIES, *prokhorov2021.ENTRIES, *xu.ENTRIES):
        if entry.id in found:
            raise DuplicateNameError(f"Two entries are called {entry.id!r}; give each its own id.")
        found[entry.id] = entry
    return found


def entries() -> dict[str, Entry]:
    """Return every entry by id, in the order of its paper."""
    return dict(_all())


def chosen(ids: Iterable[str]) -> list[Entry]:
    """Return the entries with these ids, each once; how ids begin up to a dash, such as "iclr2019", stands for all."""
    known = entries()
    found = {name: known[name] for asked in ids for name in _matching(asked, known)}
    return list(found.values())


def _matching(asked: str, known: dict[str, Entry]) -> list[str]:
    if asked in known:
        return [asked]
    return [name for name in known if name.startswith(f"{asked}-")] or _unknown(asked, known)


def _unknown(name: str, known: dict[str, Entry]) -> NoReturn:
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UnknownNameError(f"No entry is called {name!r}.{hint} Known: {', '.join(known)}.")
