"""What other packages add under a name: entry points, found on first use and imported when asked for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fewhot.core.errors import FewhotError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@lru_cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in alphabetical order; nothing is imported.

    >>> plugins("fewhot.nothing")
    {}
    """
    from importlib.metadata import entry_points  # takes a while, and most processes need none

    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def load_plugin(point: EntryPoint) -> Any:
    """Import what an entry point names."""
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        package = "a package" if point.dist is None else point.dist.name
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise FewhotError(f"{point.name!r} of {package} cannot be loaded ({reason}); install that again.") from error
