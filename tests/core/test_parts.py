"""Parts: configurations that rebuild them, and refusals where that could not work."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import nn

from fewhot.core.errors import NotSavableError, RunFolderError
from fewhot.core.parts import Configurable, Part, address_of, decode, encode
from fewhot.core.registry import USER_PARTS, register_part
from fewhot.core.schedules import Linear
from fewhot.nn import MLP, UserBody


class Inner(Configurable):
    def __init__(self, size: float) -> None:
        self.size = size


class Outer(Part):
    def __init__(self, inner: Inner, sizes: list[int], *, names: dict | None = None) -> None:
        super().__init__()
        self.inner = inner
        self.sizes = sizes
        self.names = names


class Plain(nn.Module):
    def __init__(self, width: int, keep: bool = True) -> None:
        super().__init__()
        self.keep = keep
        if keep:
            self.width = width
        self.linear = nn.Linear(width, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


@pytest.fixture
def _registered() -> Iterator[None]:
    for name, cls in (("inner-test", Inner), ("outer-test", Outer), ("plain-test", Plain)):
        register_part(name)(cls)
    yield
    for name in ("inner-test", "outer-test", "plain-test"):
        USER_PARTS.remove(name)


def through_json(config: object) -> object:
    return json.loads(json.dumps(config))


@pytest.mark.usefixtures("_registered")
def test_nested_parts_come_back_through_json() -> None:
    part = Outer(Inner(np.float64(0.5)), [1, 2], names={"ramp": Linear(0.0, 1.0, 10)})
    again = Outer.from_config(through_json(part.to_config()))
    assert again.to_config() == part.to_config()
    assert (again.inner.size, again.sizes, again.names["ramp"].n_steps) == (0.5, [1, 2], 10)


@pytest.mark.usefixtures("_registered")
def test_a_config_names_the_registered_part_and_its_arguments() -> None:
    assert Inner(2.0).to_config() == {"part": "user part/inner-test", "args": {"size": 2.0}}


def test_a_class_that_is_not_registered_refuses_to_be_saved_and_says_how() -> None:
    with pytest.raises(NotSavableError, match=r"Inner is not registered.*@fewhot\.register_part\('a-name'\)"):
        Inner(1.0).to_config()


@pytest.mark.usefixtures("_registered")
def test_a_plain_module_of_the_user_is_saved_by_its_arguments() -> None:
    body = UserBody(Plain(5), n_out=3)
    again = UserBody.from_config(through_json(body.to_config()))
    again.load_state_dict(body.state_dict())
    x = torch.randn(2, 5)
    assert torch.equal(again.module(x), body.module(x))


@pytest.mark.usefixtures("_registered")
def test_a_module_that_forgets_an_argument_is_refused_by_its_name() -> None:
    with pytest.raises(NotSavableError, match=r"'width' as an attribute.*store it as self\.width\.$"):
        encode(Plain(5, keep=False))


def test_user_classes_can_be_handed_over_at_loading() -> None:
    config = {"part": "user part/inner-test", "args": {"size": 2.0}}
    assert Inner.from_config(config, {"inner-test": Inner}).size == 2.0


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"part": "user part/nobody", "args": {}}, r"'nobody', which is not registered here; pass its class"),
        ({"part": "unheard of/nobody", "args": {}}, r"unknown kind of part, 'unheard of'"),
        ({"part": "body/mlp", "args": {"n_in": 2, "depth": 3}}, r"'body/mlp' does not accept the arguments"),
    ],
)
def test_files_that_cannot_be_rebuilt_say_what_is_missing(config: dict, sentence: str) -> None:
    with pytest.raises(RunFolderError, match=sentence):
        decode(config)


@pytest.mark.parametrize("value", [object(), torch.zeros(2), {1, 2}, lambda: None], ids=type)
def test_values_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises(NotSavableError, match="cannot be written to a file"):
        encode(value)


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.25, "text", [1, [2.0, "x"]], {"a": {"b": [None]}}], ids=lambda v: str(v)
)
def test_plain_values_survive(value: object) -> None:
    assert decode(through_json(encode(value))) == value


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(3), np.bool_(True)])
def test_numpy_scalars_become_plain_numbers(value: np.generic) -> None:
    plain = encode(value)
    assert not isinstance(plain, np.generic)
    assert plain == value.item()


def test_an_address_is_kind_and_name() -> None:
    assert address_of(MLP) == "body/mlp"
