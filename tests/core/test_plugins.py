"""What other packages add: found by name, imported when asked for, and named when it cannot be."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from fewhot.core import loaders, registry
from fewhot.core.errors import FewhotError, UnknownNameError
from fewhot.core.loaders import loader_of, register_loader
from fewhot.core.plugins import load_plugin
from fewhot.core.registry import Registry


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Return a registry with one entry of its own and two of another package, of which one is broken."""
    points = {
        "disc": EntryPoint("disc", "collections:OrderedDict", "shapes"),
        "lost": EntryPoint("lost", "collections:nothing", "shapes"),
    }
    monkeypatch.setattr(registry, "plugins", lambda group: points)
    made = Registry("shape", group="shapes")
    monkeypatch.delitem(Registry.kinds, "shape")
    made.register("square")(dict)
    return made


def test_a_registry_has_what_other_packages_add(shapes: Registry) -> None:
    assert list(shapes) == ["square", "disc", "lost"]
    assert len(shapes) == 3
    assert "disc" in shapes
    assert shapes.name_of(shapes["disc"]) == "disc"
    assert list(shapes) == ["square", "disc", "lost"]


def test_names_of_other_packages_are_suggested(shapes: Registry) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'disc'\? Known: disc, lost, square\.$"):
        shapes["disk"]


def test_what_cannot_be_loaded_is_named(shapes: Registry) -> None:
    with pytest.raises(FewhotError, match=r"^'lost' of a package cannot be loaded \(AttributeError: .*\); install"):
        shapes["lost"]
    with pytest.raises(FewhotError, match="ModuleNotFoundError"):
        load_plugin(EntryPoint("x", "fewhot.no_such_module:x", "shapes"))


def test_a_loader_is_imported_when_a_folder_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: dict[str, str] = {}
    monkeypatch.setattr(loaders, "_ADDRESSES", addresses)
    register_loader("shape", "collections:OrderedDict")
    config: dict[str, Any] = {"shape": "disc"}
    assert loader_of(config) is __import__("collections").OrderedDict
    assert loader_of({"estimator": "VSC"}) is None
