"""What `help` shows: every parameter once, each name a user may give beside the parameter that takes it."""

from __future__ import annotations

import inspect
import re

import pytest

from fewhot import VAE, VSC
from fewhot.core.registry import LIKELIHOODS, OBSERVATIONS
from tests.estimators.cases import BOTH, grey_rows, small


def entry(cls: type, name: str) -> str:
    """Return the paragraph of a parameter."""
    found = re.search(rf"^{name} : .*\n(?:^(?: .*)?\n)*", inspect.getdoc(cls) or "", re.MULTILINE)
    assert found, name
    return found.group()


@BOTH
def test_every_parameter_is_described_in_the_order_of_the_signature(cls: type) -> None:
    parameters = (inspect.getdoc(cls) or "").partition("Parameters\n")[2].partition("Attributes\n")[0]
    assert re.findall(r"^(\w+) : ", parameters, re.MULTILINE) == list(inspect.signature(cls).parameters)


@BOTH
def test_nothing_is_left_to_fill_in(cls: type) -> None:
    assert not re.search(r"\{[a-z_]+\}", entry(cls, "recipe") + entry(cls, "callbacks"))
    assert not re.search(r"^\s*\{\w+\}$", cls.__doc__ or "", re.MULTILINE)


@BOTH
def test_recipes_are_described_where_they_are_asked_for(cls: type) -> None:
    shown = " ".join(entry(cls, "recipe").split())
    for name in filter(None, cls.recipes):
        assert cls.recipes[name].about
        assert f'"{name}" {cls.recipes[name].about}' in shown
        assert name not in entry(cls, "callbacks")


@BOTH
@pytest.mark.parametrize(
    ("parameter", "names"),
    [("likelihood", LIKELIHOODS), ("observation", OBSERVATIONS), ("encoder", ["auto", "mlp", "conv"])],
)
def test_names_are_listed_where_they_are_asked_for(cls: type, parameter: str, names: list[str]) -> None:
    assert all(f'"{name}"' in entry(cls, parameter) for name in names)


@pytest.mark.parametrize("encoder", ["auto", "mlp"])
def test_the_encoders_that_are_listed_can_be_fitted(encoder: str) -> None:
    assert small(VAE, encoder=encoder).fit(grey_rows()).n_iter_ == 30


@pytest.mark.parametrize("symbol", [r"\gamma_j", r"\rho_j", "G_j", "B"])
def test_the_symbols_of_the_bound_are_said_in_words(symbol: str) -> None:
    words = (VSC.__doc__ or "").partition("    where ")[2].partition("Parameters\n")[0]
    assert symbol in words
