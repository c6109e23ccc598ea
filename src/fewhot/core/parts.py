"""Parts: objects that can say how they were built, so that a file can rebuild them without pickle.

The convention is scikit-learn's: a constructor stores every argument under its own name. `to_config` reads them
back; `from_config` looks the class up in a registry and calls it. Nothing in a file names a Python object.
"""

# Configurations are JSON of any shape, so their types are not known here.
# pyright: standard

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from torch import nn

from fewhot.core.errors import NotSavableError, RunFolderError
from fewhot.core.registry import Registry

Config = dict[str, Any]
UserParts = Mapping[str, type]


class Configurable:
    """Something built from JSON-able arguments and other configurable objects."""

    def to_config(self) -> Config:
        """Return ``{"part": "kind/name", "args": {...}}``; raises for a class that is not registered."""
        return _describe(self)

    @classmethod
    def from_config(cls, config: Config, parts: UserParts | None = None) -> Self:
        """Rebuild what `to_config` described; ``parts`` adds user classes by name."""
        return decode(config, parts)


class Part(Configurable, nn.Module):
    """A configurable `torch.nn.Module`: every trainable or stateful piece of a model."""

    compiles: bool = True
    """Whether torch can compile what the part does."""


def address_of(cls: type) -> str:
    """Return the registered ``kind/name`` of a class."""
    for kind, registry in Registry.kinds.items():
        name = registry.name_of(cls)
        if name is not None:
            return f"{kind}/{name}"
    raise NotSavableError(
        f"{cls.__qualname__} is not registered, so a saved file could not rebuild it; wrap it in a class of your "
        f"own, decorated with @fewhot.register_part('a-name'), that keeps its constructor arguments as attributes."
    )


def encode(value: Any) -> Any:
    """Turn an argument into JSON: scalars, lists, mappings and configurable objects."""
    if isinstance(value, Configurable):
        return value.to_config()
    if isinstance(value, list | tuple | nn.ModuleList):
        return [encode(item) for item in value]
    if isinstance(value, nn.Module):
        return _describe(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    raise NotSavableError(
        f"{type(value).__qualname__} cannot be written to a file; use numbers, strings, lists, mappings or registered "
        f"parts."
    )


def decode(value: Any, parts: UserParts | None = None) -> Any:
    """Invert `encode`. Only registered classes and those in ``parts`` are ever called."""
    if isinstance(value, list):
        return [decode(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if "part" not in value:
        return {key: decode(item, parts) for key, item in value.items()}
    arguments = {name: decode(item, parts) for name, item in value["args"].items()}
    cls = _class_at(value["part"], parts or {})
    try:
        return cls(**arguments)
    except TypeError as error:
        raise RunFolderError(
            f"The part {value['part']!r} does not accept the arguments in this file ({error}); "
            f"load it with the version of the library that wrote it."
        ) from error


def _class_at(address: str, parts: UserParts) -> Any:
    kind, _, name = address.partition("/")
    if name in parts:
        return parts[name]
    if kind not in Registry.kinds:
        raise RunFolderError(
            f"This file uses an unknown kind of part, {kind!r}; load it with the version that wrote it."
        )
    registry = Registry.kinds[kind]
    if name not in registry:
        raise RunFolderError(
            f"This file uses the {kind} {name!r}, which is not registered here; pass its class as "
            f"fewhot.load(path, parts={{{name!r}: YourClass}})."
        )
    return registry[name]


def _describe(part: object) -> Config:
    cls = type(part)
    names = _argument_names(cls)
    missing = [name for name in names if not hasattr(part, name)]
    if missing:
        raise NotSavableError(
            f"{cls.__qualname__} does not keep its constructor argument {missing[0]!r} as an attribute, so a saved "
            f"file could not rebuild it; store it as self.{missing[0]}."
        )
    return {"part": address_of(cls), "args": {name: encode(getattr(part, name)) for name in names}}


def _argument_names(cls: type) -> list[str]:
    parameters = inspect.signature(cls).parameters.values()
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
