"""Where a dataset's files are: in a folder of the user's, in the cache, or on the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fewhot.core.errors import DataError
from fewhot.data.entries import DataFile, Entry
from fewhot.data.fetch import Progress, content_sha256, fetch, has_sha256

NO_ADDRESS = "it has no public address"
_COMPRESSIONS = (".gz", ".bz2", ".xz")


def cache_folder() -> Path:
    """Return the folder for fetched datasets: ``$FEWHOT_CACHE``, or the system's folder for caches."""
    if told := os.environ.get("FEWHOT_CACHE"):
        return Path(told).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fewhot" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fewhot"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fewhot"


def find(entry: Entry, file: DataFile, data_dir: str | Path | None) -> Path | None:
    """Return the first place that has the file, compressed or not."""
    plain = file.name
    for compression in _COMPRESSIONS:
        plain = plain.removesuffix(compression)
    spellings = dict.fromkeys([file.name, plain, f"{plain}.gz"])
    places = (folder / entry.folder / spelling for folder in _folders(data_dir) for spelling in spellings)
    return next((place for place in places if place.is_file()), None)


def find_folder(entry: Entry, folder: str, data_dir: str | Path | None) -> Path | None:
    """Return the first place that has the folder."""
    places = (place / entry.folder / folder for place in _folders(data_dir))
    return next((place for place in places if place.is_dir()), None)


def obtain(
    name: str,
    entry: Entry,
    file: DataFile,
    data_dir: str | Path | None,
    *,
    download: bool,
    progress: Progress | None,
    timeout: float,
) -> Path:
    """Return the place of a file whose content is right, after fetching it where it is nowhere."""
    cached = cache_folder() / entry.folder / file.name
    path = find(entry, file, data_dir)
    if path is not None and (file.sha256 is None or has_sha256(path, file.sha256)):
        return path
    if path is not None and file.sha256 is not None and (path != cached or not download):
        raise DataError(
            f"{path} is not the published file (SHA-256 {content_sha256(path)[:12] or 'none: damaged'} instead of "
            f"{file.sha256[:12]}); replace it, or remove it to have it fetched."
        )
    named = os.environ.get("FEWHOT_DATA")
    if named and not Path(named).expanduser().is_dir():
        raise DataError(
            f"$FEWHOT_DATA is {named!r}, which is no folder; name the folder that holds {entry.folder}/, or unset it."
        )
    if not download or not entry.addresses or file.sha256 is None:
        reason = "" if entry.addresses else NO_ADDRESS
        reason = reason if file.sha256 is not None else "it has no published checksum"
        raise not_on_disk(name, entry, file.name, data_dir, reason=reason)
    addresses = [f"{address.rstrip('/')}/{file.name}" for address in entry.addresses]
    return fetch(addresses, cached, file.sha256, progress=progress, timeout=timeout)


def not_on_disk(name: str, entry: Entry, what: str, data_dir: str | Path | None, *, reason: str) -> DataError:
    """Return the error for a file or folder that is nowhere; ``reason`` says why it cannot be fetched, if so."""
    looked = ", ".join(dict.fromkeys(str(folder / entry.folder) for folder in _folders(data_dir)))
    advice = "allow the download"
    if reason:
        needed = _listed([*(file.name for file in entry.files), *(f"{folder}/" for folder in entry.folders)])
        source = f" (from {entry.page} put {needed} there)" if entry.page else ""
        advice = f"get it by hand, for {reason}{source}"
    return DataError(
        f"{what} of {name} is not on disk (looked in {looked}); {advice}, or name its folder by data_dir= or "
        f"$FEWHOT_DATA."
    )


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _folders(data_dir: str | Path | None) -> list[Path]:
    told = [data_dir, os.environ.get("FEWHOT_DATA")]
    return [*(Path(folder).expanduser() for folder in told if folder), cache_folder()]
