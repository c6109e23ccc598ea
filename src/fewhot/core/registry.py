"""Names for parts: one registry a kind, duplicates refused, near misses suggested."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from fewhot.core.errors import DuplicateNameError, UnknownNameError
from fewhot.core.plugins import load_plugin, plugins

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

C = TypeVar("C", bound=Callable[..., Any])


class Registry(Mapping[str, Callable[..., Any]]):
    """The named classes or functions of one kind, found by ``registry["name"]``.

    >>> SHAPES = Registry("shape")
    >>> @SHAPES.register("disc")
    ... class Disc: ...
    >>> SHAPES["disc"].__name__, SHAPES.name_of(Disc)
    ('Disc', 'disc')

    Parameters
    ----------
    kind
        What the entries are, in errors and files.
    group
        The group of entry points by which other packages add to the registry; their entries are imported on first use.
    """

    kinds: ClassVar[dict[str, Registry]] = {}

    def __init__(self, kind: str, group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._entries: dict[str, Callable[..., Any]] = {}
        Registry.kinds[kind] = self

    def register(self, name: str) -> Callable[[C], C]:
        """Return a decorator that enters a class or function under ``name``."""

        def enter(entry: C) -> C:
            if name in self._entries and self._entries[name] is not entry:
                raise DuplicateNameError(
                    f"The {self.kind} name {name!r} is taken by {self._entries[name].__qualname__}; "
                    f"choose another name."
                )
            self._entries[name] = entry
            return entry

        return enter

    def remove(self, name: str) -> None:
        """Forget ``name``; for tests and interactive work."""
        self._entries.pop(name, None)

    def name_of(self, entry: object) -> str | None:
        """Return the name under which exactly this object is registered."""
        return next((name for name, known in self._entries.items() if known is entry), None)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._entries and name in self._added():
            entry = load_plugin(self._added()[name])  # its module registers it, too, where it uses the decorator
            self._entries.setdefault(name, entry)
        if name not in self._entries:
            near = difflib.get_close_matches(str(name), self, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(sorted(self))
            raise UnknownNameError(f"No {self.kind} is called {name!r}.{hint} Known: {known}.")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._added()

    def __iter__(self) -> Iterator[str]:
        return iter([*self._entries, *(name for name in self._added() if name not in self._entries)])

    def __len__(self) -> int:
        return len(set(self._entries) | set(self._added()))

    def _added(self) -> Mapping[str, EntryPoint]:
        """Return the entry points of other packages."""
        return {} if self.group is None else plugins(self.group)


BODIES = Registry("body")
CHOICES = Registry("choice estimator")
FEATURES = Registry("feature transform")
GATES = Registry("gate")
INFERENCES = Registry("inference procedure")
LATENTS = Registry("latent family")
LIKELIHOODS = Registry("likelihood")
MODELS = Registry("model")
OBSERVATIONS = Registry("observation transform")
POLICIES = Registry("policy")
PRIORS = Registry("prior")
SCHEDULES = Registry("schedule")
STRUCTURES = Registry("structure")
TERMS = Registry("objective term")
ESTIMATORS = Registry("estimator")
BASELINES = Registry("baseline", group="fewhot.baselines")
VOCABULARIES = Registry("vocabulary")
USER_PARTS = Registry("user part")


def register_part(name: str) -> Callable[[C], C]:
    """Return a decorator that makes a class of your own savable.

    The class keeps every constructor argument as an attribute of the same name; a saved run then records ``name`` and
    the arguments, and whoever loads it registers the class too or passes ``fewhot.load(path, parts={name: cls})``.
    """
    return USER_PARTS.register(name)
