"""One record behind flags and files: typed, checked, and written so that it can be given back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fewhot.cli.config import FitConfig, assignments, merged, read_config, resolved, run_keys, write_config
from fewhot.cli.models import ELSEWHERE, argument_hints, estimators, model_named
from fewhot.core.errors import FewhotError, InvalidParameterError, UnknownNameError

every_model = pytest.mark.parametrize("name", sorted(estimators()))


@every_model
def test_every_constructor_argument_can_be_set(name: str) -> None:
    _, cls = model_named(name)
    defaults = cls().get_params(deep=False)
    reachable = {*argument_hints(cls), *ELSEWHERE}
    assert reachable == set(defaults)
    given = {argument: value for argument, value in defaults.items() if argument not in ELSEWHERE}
    assert dict(resolved({"data": "digits", "model": name, **given}).arguments) == given


@every_model
def test_no_setting_of_a_model_hides_one_of_the_run(name: str) -> None:
    assert not set(run_keys()) & set(argument_hints(model_named(name)[1]))


@every_model
def test_what_is_written_can_be_given_back(name: str, tmp_path: Path) -> None:
    config = resolved(
        {
            "data": "digits",
            "model": name,
            "hidden_layer_sizes": [32, 16],
            "learning_rate": 1e-4,
            "seed": 3,
            "test": "all",
            "against_collapse": {"free_bits": 1.5},
        }
    )
    write_config(tmp_path / "fit.yaml", config)
    again = resolved(read_config(tmp_path / "fit.yaml"))
    assert again.to_mapping() == config.to_mapping()
    assert again.estimator().get_params() == config.estimator().get_params()
    assert (again.seed, again.test, again.out) == (3, "all", None)


def test_the_estimator_gets_the_arguments_and_the_seed() -> None:
    estimator = resolved({"data": "digits", "model": "VSC", "l0": 4, "random_state": 7}).estimator(verbose=1)
    assert (type(estimator).__name__, estimator.l0, estimator.random_state, estimator.verbose) == ("VSC", 4.0, 7, 1)


@pytest.mark.parametrize("name", ["vsc", "VSC", "Vsc", "v-sc"])
def test_case_and_hyphens_of_a_model_do_not_matter(name: str) -> None:
    assert resolved({"data": "digits", "model": name}).model == "vsc"


def test_an_unknown_model_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"^No model is called 'VSCC'\. Did you mean 'vsc'\? Known: .*vae, vsc"):
        resolved({"data": "digits", "model": "VSCC"})


@pytest.mark.parametrize(("typed", "meant"), [("densty", "density"), ("sede", "seed"), ("max_step", "max_steps")])
def test_an_unknown_setting_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"^vsc has no setting '{typed}'. Did you mean '{meant}'?"):
        resolved({"data": "digits", typed: 1})


def test_a_setting_of_another_model_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"^vae has no setting 'density'"):
        resolved({"data": "digits", "model": "vae", "density": 0.1})


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_steps", "many"), ("seed", 1.5), ("data", 3), ("model", ["vsc"]), ("density", "a lot"), ("warm_start", 1)],
)
def test_a_wrong_type_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{name} is .*; it takes "):
        resolved({"data": "digits", name: value})


@pytest.mark.parametrize("name", ["callbacks", "verbose"])
def test_what_text_cannot_say_has_another_way_in(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{name} cannot be set here: "):
        resolved({"data": "digits", name: 1})


def test_data_must_be_given() -> None:
    with pytest.raises(InvalidParameterError, match=r"^No data was given"):
        resolved({"model": "vsc"})


def test_a_flag_takes_precedence_over_the_file() -> None:
    assert merged({"max_steps": 10, "seed": 1}, {"max_steps": 20}) == {"max_steps": 20, "seed": 1}


def test_one_way_to_ask_for_sparsity_takes_the_place_of_another() -> None:
    assert merged({"l0": 4, "alpha": None, "seed": 1}, {"density": 0.1}) == {"seed": 1, "density": 0.1}


def test_assignments_are_read_as_yaml() -> None:
    values, texts = assignments(["max_active=10", "sparse_output=false", "learning_rate=1e-3", "encoder=mlp", "l0="])
    assert values == {"max_active": 10, "sparse_output": False, "learning_rate": "1e-3", "encoder": "mlp", "l0": ""}
    assert texts["max_active"] == "10"


@pytest.mark.parametrize("item", ["max_active", "=3", ""])
def test_an_assignment_needs_a_name_and_a_value(item: str) -> None:
    with pytest.raises(InvalidParameterError, match=r"^--set was given .*; it takes name=value"):
        assignments([item])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        (b"", "holds no settings"),
        (b"- a\n- b\n", "holds no settings"),
        (b"model: [vsc\nseed: 1\n", "is not YAML at line 2"),
        (b"\xff\xfe\x00", "is not YAML"),
        (b'{"format": "fewhot-run"}', "describes a fitted model"),
        (b"!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FewhotError) as caught:
        read_config(path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_file_of_settings(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="is a folder"):
        read_config(tmp_path)


def test_the_record_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        FitConfig(data="digits").seed = 3  # pyright: ignore[reportAttributeAccessIssue]
