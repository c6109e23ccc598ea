"""What every registry and every registered part promises."""

from __future__ import annotations

import json
import pickle

import pytest
import torch
from torch import nn

from fewhot.core.errors import DuplicateNameError, UnknownNameError
from fewhot.core.parts import Configurable, Part, address_of
from fewhot.core.records import DataSpec
from fewhot.core.registry import BASELINES, ESTIMATORS, MODELS, STRUCTURES, USER_PARTS, Registry

from .examples import KINDS, build, build_model, every, identify

every_registry = pytest.mark.parametrize("registry", KINDS.values(), ids=KINDS)
filled = pytest.mark.parametrize("registry", [r for r in KINDS.values() if len(r)], ids=lambda r: r.kind)

PARTS = [
    (registry, name, options)
    for registry in KINDS.values()
    if registry not in (MODELS, ESTIMATORS, BASELINES, STRUCTURES, USER_PARTS)
    for name, options in every(registry)
]
every_part = pytest.mark.parametrize(
    ("registry", "name", "options"), PARTS, ids=[f"{r.kind}-{n}-{identify(o)}" for r, n, o in PARTS]
)


@every_registry
def test_a_duplicate_is_refused_and_the_first_entry_stays(registry: Registry) -> None:
    registry.register("conformance-test")(int)
    try:
        with pytest.raises(DuplicateNameError, match=f"^The {registry.kind} name 'conformance-test' is taken by int"):
            registry.register("conformance-test")(float)
        assert registry["conformance-test"] is int
    finally:
        registry.remove("conformance-test")
    assert "conformance-test" not in registry


@filled
def test_a_name_typed_wrong_is_answered_with_the_right_one(registry: Registry) -> None:
    for name in registry:
        with pytest.raises(UnknownNameError) as caught:
            registry[name + "x"]
        message = str(caught.value)
        assert message.startswith(f"No {registry.kind} is called {name + 'x'!r}. Did you mean ")
        assert all(known in message.partition("Known: ")[2] for known in registry)


@filled
def test_names_are_lower_case_words(registry: Registry) -> None:
    for name in registry:
        assert name == name.strip()
        assert registry in (ESTIMATORS, BASELINES) or name == name.lower().replace("_", "-").replace(" ", "-")


@filled
def test_every_entry_says_what_it_is(registry: Registry) -> None:
    assert all(entry.__doc__ and entry.__doc__.strip() for entry in registry.values())


@every_part
def test_a_part_knows_its_address(registry: Registry, name: str, options: dict) -> None:
    assert address_of(type(build(registry, name, **options))) == f"{registry.kind}/{name}"


@every_part
def test_a_configuration_rebuilds_the_part(registry: Registry, name: str, options: dict) -> None:
    part = build(registry, name, **options)
    config = part.to_config()
    again = Configurable.from_config(json.loads(json.dumps(config)))
    assert type(again) is type(part)
    assert again.to_config() == config


@every_part
def test_a_rebuilt_part_takes_the_state_of_the_first(registry: Registry, name: str, options: dict) -> None:
    part = build(registry, name, **options)
    if not isinstance(part, nn.Module):
        pytest.skip("no state")
    again = Part.from_config(part.to_config())
    again.load_state_dict(part.state_dict())
    state = again.state_dict()
    assert list(state) == list(part.state_dict())
    assert all(torch.equal(value, state[key]) for key, value in part.state_dict().items())


@every_part
def test_a_part_can_be_pickled_by_others(registry: Registry, name: str, options: dict) -> None:
    part = build(registry, name, **options)
    assert pickle.loads(pickle.dumps(part)).to_config() == part.to_config()


def test_every_structure_is_part_of_some_model() -> None:
    models = [build_model(name, **options) for name, options in every(MODELS)]
    models.append(build_model("sdlgm-labels", variant="dis"))  # which makes no rows
    models.append(MODELS["vae"](DataSpec(n_columns=5, n_rows=3, kind="text"), encoder="gru"))
    configs = json.dumps([model.to_config() for model in models])
    own = [name for name, part in STRUCTURES.items() if part.__module__.startswith("fewhot.")]
    assert all(f'"{STRUCTURES.kind}/{name}"' in configs for name in own)
