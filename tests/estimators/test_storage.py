"""Saving and loading: nothing changes on the way, nothing is executed, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import fewhot as fh
from fewhot import VAE, VSC, FewhotError, RunFolder
from fewhot.core.errors import InvalidParameterError, NotSavableError, RunFolderError
from fewhot.core.registry import USER_PARTS
from fewhot.estimators import storage
from fewhot.likelihoods import GaussianLikelihood
from tests.estimators.cases import BOTH, assert_one_sentence, contents, dense, grey_rows, same_weights, small, weights


@pytest.fixture
def saved(vsc: VSC, tmp_path: Path) -> Path:
    vsc.save(tmp_path / "run")
    return tmp_path / "run"


# ------------------------------------------------------------------------------------------------- there and back


@BOTH
def test_codes_and_scores_come_back_bit_for_bit(
    fitted: dict[type, Any], rows: np.ndarray, tmp_path: Path, cls: type
) -> None:
    fitted[cls].save(tmp_path / "run")
    back = fh.load(tmp_path / "run", device="cpu")
    assert type(back) is cls
    assert same_weights(back, fitted[cls])
    np.testing.assert_array_equal(dense(back.transform(rows)), dense(fitted[cls].transform(rows)))
    np.testing.assert_array_equal(back.score_samples(rows), fitted[cls].score_samples(rows))
    np.testing.assert_array_equal(back.sample(3, random_state=0), fitted[cls].sample(3, random_state=0))


@BOTH
def test_arguments_history_and_facts_come_back(fitted: dict[type, Any], tmp_path: Path, cls: type) -> None:
    fitted[cls].save(str(tmp_path / "run"))
    back = fh.load(str(tmp_path / "run"), device="cpu")
    assert back.get_params() == fitted[cls].get_params()
    for name in ("history_", "n_iter_", "seed_", "n_features_in_", "data_spec_"):
        assert getattr(back, name) == getattr(fitted[cls], name)
    assert list(back.get_feature_names_out()) == list(fitted[cls].get_feature_names_out())


@pytest.mark.parametrize(
    "change",
    [
        {"likelihood": "gaussian"},
        {"likelihood": GaussianLikelihood(7, floor=0.01, variance="per-column")},
        {"observation": "unit-norm"},
        {"observation": "stochastic-binarise"},
        {"recipe": "iclr2019", "alpha": 0.3},
        {"alpha": 0.2},
        {"hidden_layer_sizes": np.array([5, 4])},
        {"n_components": np.int64(3)},
        {"random_state": np.random.default_rng(0)},
        {"refine_steps": 3, "max_active": 2, "sparse_output": False},
        {"device": torch.device("cpu")},
        {"callbacks": [print]},
    ],
    ids=lambda change: "-".join(change),
)
def test_every_choice_of_parts_comes_back(
    change: dict[str, Any], rows: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    estimator = small(VSC, **change).fit(rows)
    estimator.save(tmp_path / "run")
    back = fh.load(tmp_path / "run", device="cpu")
    assert same_weights(back, estimator)
    np.testing.assert_array_equal(dense(back.transform(rows)), dense(estimator.transform(rows)))
    np.testing.assert_array_equal(back.score_samples(rows), estimator.score_samples(rows))


def test_feature_names_are_kept(rows: np.ndarray, tmp_path: Path) -> None:
    X = pd.DataFrame(rows, columns=list("abcdefg"))
    small(VSC).fit(X).save(tmp_path / "run")
    back = fh.load(tmp_path / "run", device="cpu")
    assert list(back.feature_names_in_) == list("abcdefg")
    back.transform(X)
    with pytest.raises(FewhotError, match="feature names"):
        back.transform(X.rename(columns={"a": "z"}))


@BOTH
@pytest.mark.parametrize("go_on", ["partial_fit", "fit"])
def test_a_loaded_model_goes_on_training(cls: type, go_on: str, tmp_path: Path) -> None:
    rows = grey_rows()
    original = small(cls, max_steps=120, warm_start=True, learning_rate=1e-2).fit(rows)  # beyond the clip's burn-in
    original.save(tmp_path / "run")
    back = fh.load(tmp_path / "run", device="cpu")
    getattr(back, go_on)(rows)
    assert back.n_iter_ == original.n_iter_ + (3 if go_on == "partial_fit" else 120)
    assert back.history_[: len(original.history_)] == original.history_
    assert back.history_[-1]["step"] == back.n_iter_
    moved = np.abs(weights(back)["decoder.output.weight"] - weights(original)["decoder.output.weight"]).max()
    assert moved > 1e-3


def test_an_unfitted_estimator_does_not_save(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        small(VSC).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_saving_again_replaces_the_run(vsc: VSC, saved: Path, rows: np.ndarray) -> None:
    other = small(VSC, random_state=5).fit(rows)
    other.save(saved)
    assert same_weights(fh.load(saved, device="cpu"), other)
    assert {path.name for path in saved.iterdir()} == {
        *("config.json", "model.safetensors", "references.safetensors", "history.jsonl")
    }


def test_a_run_folder_holds_text_and_plain_tensors_only(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    assert config["format_version"] == 1
    assert [json.loads(line)["step"] for line in (saved / "history.jsonl").read_text().splitlines()][-1] == 60
    for content in contents(saved).values():
        assert not content.startswith((b"\x80", b"PK"))  # neither a pickle nor a zip of pickles


# ------------------------------------------------------------------------------------------------- user parts


class Own(nn.Module):
    """A user's encoder that keeps its arguments."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.Sequential(nn.Linear(7, width), nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Forgetful(nn.Module):
    """A user's encoder that does not."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.layer = nn.Linear(7, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


@pytest.fixture
def registered() -> Iterator[None]:
    fh.register_part("own-encoder")(Own)
    fh.register_part("forgetful")(Forgetful)
    yield
    USER_PARTS.remove("own-encoder")
    USER_PARTS.remove("forgetful")


def test_an_unregistered_encoder_refuses_to_save_and_says_how_to_register(rows: np.ndarray, tmp_path: Path) -> None:
    estimator = small(VSC, encoder=Own()).fit(rows)
    with pytest.raises(NotSavableError, match=r"register_part\('a-name'\)") as error:
        estimator.save(tmp_path / "run")
    assert_one_sentence(error.value)
    assert not (tmp_path / "run").exists()


def test_an_encoder_that_cannot_be_saved_is_refused_before_training_starts(rows: np.ndarray, tmp_path: Path) -> None:
    seen: list[int] = []
    callbacks = [RunFolder(tmp_path / "run"), lambda record: seen.append(record["step"])]
    with pytest.raises(NotSavableError):
        small(VSC, encoder=Own(), callbacks=callbacks).fit(rows)
    assert not seen
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("registered")
def test_a_registered_encoder_comes_back(rows: np.ndarray, tmp_path: Path) -> None:
    estimator = small(VSC, encoder=Own(width=4)).fit(rows)
    estimator.save(tmp_path / "run")
    back = fh.load(tmp_path / "run", device="cpu")
    assert back.module_.encoder.body.module.width == 4
    np.testing.assert_array_equal(back.transform(rows).toarray(), estimator.transform(rows).toarray())


def test_parts_are_handed_to_load(rows: np.ndarray, tmp_path: Path) -> None:
    fh.register_part("own-encoder")(Own)
    try:
        estimator = small(VSC, encoder=Own()).fit(rows)
        estimator.save(tmp_path / "run")
    finally:
        USER_PARTS.remove("own-encoder")
    with pytest.raises(RunFolderError, match=r"parts=\{'own-encoder': YourClass\}") as error:
        fh.load(tmp_path / "run")
    assert_one_sentence(error.value)
    back = fh.load(tmp_path / "run", parts={"own-encoder": Own}, device="cpu")
    np.testing.assert_array_equal(back.transform(rows).toarray(), estimator.transform(rows).toarray())


@pytest.mark.usefixtures("registered")
def test_an_encoder_without_its_arguments_refuses_to_save(rows: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(NotSavableError, match=r"self\.width") as error:
        small(VSC, encoder=Forgetful()).fit(rows).save(tmp_path / "run")
    assert_one_sentence(error.value)


# ------------------------------------------------------------------------------------------------- damaged folders


def _edit(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def apply(run: Path) -> None:
        config = json.loads((run / "config.json").read_text())
        change(config)
        (run / "config.json").write_text(json.dumps(config))

    return apply


def _cut(name: str, n_bytes: int) -> Callable[[Path], None]:
    return lambda run: (run / name).write_bytes((run / name).read_bytes()[:n_bytes])


def _negative_width(config: dict[str, Any]) -> None:
    config["module"]["args"]["latent"]["args"]["n_in"] = -3


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "newer-format": _edit(lambda c: c.update(format_version=99)),
    "no-format-version": _edit(lambda c: c.pop("format_version")),
    **{
        f"format-version-{junk!r}": _edit(lambda c, junk=junk: c.update(format_version=junk))
        for junk in ("one", -1, 0, 1.5, True, [1], {"a": 1}, None)
    },
    "foreign-config": lambda run: (run / "config.json").write_text('{"model_type": "bert"}'),
    "config-is-a-list": lambda run: (run / "config.json").write_text("[1, 2]"),
    "broken-json": _cut("config.json", 100),
    "empty-config": _cut("config.json", 0),
    "binary-config": lambda run: (run / "config.json").write_bytes(b"\xff\xfe\x00"),
    "no-config": lambda run: (run / "config.json").unlink(),
    "no-weights": lambda run: (run / "model.safetensors").unlink(),
    "truncated-weights": _cut("model.safetensors", 500),
    "empty-weights": _cut("model.safetensors", 0),
    "pickled-weights": lambda run: (run / "model.safetensors").write_bytes(pickle.dumps({"a": 1})),
    "broken-history": lambda run: (run / "history.jsonl").write_text('{"step": \n{"step": 2}\n'),
    "junk-history": lambda run: (run / "history.jsonl").write_text("junk"),
    "numbers-as-history": lambda run: (run / "history.jsonl").write_text("1\n2\n"),
    "binary-history": lambda run: (run / "history.jsonl").write_bytes(b"\xff\xfe\x00"),
    "unknown-estimator": _edit(lambda c: c.update(estimator="VSCC")),
    "estimator-is-a-list": _edit(lambda c: c.update(estimator=["VSC"])),
    "unknown-part": _edit(lambda c: c["module"]["args"]["latent"].update(part="latent family/nope")),
    "unknown-kind": _edit(lambda c: c["module"].update(part="os/system")),
    "part-is-a-number": _edit(lambda c: c["module"].update(part=7)),
    "another-part": _edit(lambda c: c.update(module={"part": "schedule/constant", "args": {"value": 1}})),
    "unknown-argument": _edit(lambda c: c["module"]["args"].update(nope=1)),
    "unknown-parameter": _edit(lambda c: c["parameters"].update(nope=1)),
    "no-module": _edit(lambda c: c.pop("module")),
    "no-facts": _edit(lambda c: c["fitted"].pop("seed")),
    "negative-width": _edit(_negative_width),
    "other-width": _edit(lambda c: c["module"]["args"]["latent"]["args"].update(n_in=9)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_refused_and_left_alone(saved: Path, damage: str) -> None:
    DAMAGE[damage](saved)
    before = contents(saved)
    with pytest.raises(FewhotError) as error:
        fh.load(saved)
    message = str(error.value).replace(str(saved), "run")
    assert "\n" not in message
    assert 20 < len(message) < 300
    assert contents(saved) == before


@pytest.mark.parametrize("damage", [name for name in DAMAGE if "history" in name])
def test_a_damaged_history_is_blamed_and_not_the_configuration(saved: Path, damage: str) -> None:
    DAMAGE[damage](saved)
    with pytest.raises(RunFolderError, match=r"history\.jsonl.*; restore the file or delete it\.$"):
        fh.load(saved)


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name.startswith("format-version")])
def test_a_format_version_that_is_no_number_is_damage_and_not_the_future(saved: Path, damage: str) -> None:
    DAMAGE[damage](saved)
    with pytest.raises(
        RunFolderError, match=r"config\.json is damaged: its format_version is .*; save the run again\.$"
    ):
        fh.load(saved)


@pytest.mark.parametrize("path", [5, None, ["run"], b"run", "a\0b", VSC()], ids=repr)
@pytest.mark.parametrize("use", [fh.load, lambda path: storage.save(None, path)], ids=["load", "save"])
def test_what_is_no_path_is_refused(use: Callable[[Any], Any], path: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"^path is .*; it must be the path of a folder") as error:
        use(path)
    assert_one_sentence(error.value)


def test_parts_that_are_no_mapping_are_refused(saved: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"^parts is 5; it must map names to classes") as error:
        fh.load(saved, parts=5)
    assert_one_sentence(error.value)


def test_loading_a_file_is_refused(saved: Path) -> None:
    with pytest.raises(RunFolderError, match=r"config\.json is a file; give a folder") as error:
        fh.load(saved / "config.json")
    assert isinstance(error.value, FewhotError)


def test_a_missing_or_empty_folder_is_refused(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "nowhere", "no folder"), (tmp_path, "not a run folder")):
        with pytest.raises(RunFolderError, match=words):
            fh.load(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", ["os/system", "builtins/eval", "user part/system", "model/../../os"])
def test_loading_calls_nothing_that_is_not_registered(saved: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(os, "system", lambda *args, **named: called.append(args or named))
    _edit(lambda c: c["module"]["args"].update(encoder={"part": part, "args": {"command": "true"}}))(saved)
    with pytest.raises(RunFolderError):
        fh.load(saved)
    assert not called


def test_pickles_in_the_folder_are_never_opened(saved: Path, rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("model.pkl", "pytorch_model.bin", "model.pt", "state.pickle"):
        (saved / name).write_bytes(pickle.dumps("never read"))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr(pickle, "load", refuse)
    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "Unpickler", refuse)
    monkeypatch.setattr(torch, "load", refuse)
    assert fh.load(saved, device="cpu").transform(rows).shape == (50, 6)


# ------------------------------------------------------------------------------------------------- foreign folders


@pytest.mark.parametrize(
    "files",
    [
        {"notes.txt": "mine"},
        {"config.json": '{"model_type": "bert"}', "model.safetensors": "someone else's weights"},
        {"config.json": "not json"},
        {"checkpoints/epoch-1.ckpt": "mine", "history.jsonl": "mine"},
    ],
    ids=["text", "another-librarys-model", "unreadable", "another-librarys-checkpoints"],
)
@pytest.mark.parametrize("how", ["save", "run-folder"])
def test_a_foreign_folder_is_refused_and_left_alone(
    vsc: VSC, rows: np.ndarray, tmp_path: Path, files: dict[str, str], how: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    write = {
        "save": lambda: vsc.save(tmp_path),
        "run-folder": lambda: small(VSC, callbacks=[RunFolder(tmp_path)]).fit(rows),
    }
    with pytest.raises(RunFolderError, match="choose another folder"):
        write[how]()
    assert contents(tmp_path) == before


def test_saving_to_a_file_is_refused(vsc: VSC, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(RunFolderError, match="is a file"):
        vsc.save(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


def test_saving_below_a_file_advises_another_folder_and_not_more_space(vsc: VSC, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(RunFolderError, match=r"; choose a folder that can be written to\.$") as error:
        vsc.save(tmp_path / "taken" / "run")
    assert "space" not in str(error.value)


def test_a_name_that_is_too_long_is_refused_in_a_sentence(vsc: VSC, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"; choose a folder that can be written to\.$"):
        vsc.save(tmp_path / ("long" * 100))
    with pytest.raises(RunFolderError, match="There is no folder"):
        fh.load(tmp_path / ("long" * 100))


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "No space left on device"), (errno.EDQUOT, "Disk quota exceeded")]
)
def test_a_full_disk_leaves_the_saved_run_intact(
    saved: Path, vsc: VSC, rows: np.ndarray, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def full(tensors: Any, path: Path, metadata: Any = None) -> None:
        Path(path).write_bytes(b"half")
        raise OSError(number, words)

    before = contents(saved)
    monkeypatch.setattr(storage, "save_file", full)
    with pytest.raises(RunFolderError, match=rf"{words}\); free some space or choose another folder\.$"):
        small(VSC, random_state=5).fit(rows).save(saved)
    assert contents(saved) == before
    monkeypatch.undo()
    assert same_weights(fh.load(saved, device="cpu"), vsc)


@pytest.mark.parametrize("fault", ["history", "configuration"])
def test_what_cannot_be_written_leaves_the_saved_run_intact(
    saved: Path, vsc: VSC, rows: np.ndarray, fault: str, tmp_path: Path
) -> None:
    other = small(VSC, random_state=5).fit(rows)
    if fault == "history":
        other.history_[-1]["bound"] = np.float32(0)
    else:
        other.n_iter_ = np.int64(3)
    before = contents(saved)
    for folder in (saved, tmp_path / "new"):
        with pytest.raises(NotSavableError, match=r"JSON .*; nothing was saved\.$"):
            other.save(folder)
    assert contents(saved) == before
    assert not (tmp_path / "new").exists()
    assert same_weights(fh.load(saved, device="cpu"), vsc)


def test_a_disk_that_fills_up_at_the_last_file_leaves_the_saved_run_intact(
    saved: Path, vsc: VSC, rows: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str, encoding: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    other, before = small(VSC, random_state=5).fit(rows), contents(saved)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(RunFolderError, match="free some space"):
        other.save(saved)
    monkeypatch.undo()
    assert contents(saved) == before
    assert same_weights(fh.load(saved, device="cpu"), vsc)


def test_loading_onto_a_device_that_is_not_there_is_refused(saved: Path) -> None:
    with pytest.raises(FewhotError, match="device"):
        fh.load(saved, device="cuda:99")


def test_a_vae_loads_into_a_vae(vae: VAE, tmp_path: Path) -> None:
    vae.save(tmp_path / "run")
    assert isinstance(fh.load(tmp_path / "run", device="cpu"), VAE)


@pytest.mark.parametrize("cls", [VSC, fh.HSVAE])
def test_the_last_turn_of_the_dial_is_kept(cls: type, tmp_path: Path) -> None:
    estimator = small(cls, l0=2).fit(grey_rows())
    estimator.save(tmp_path / "run")
    assert fh.load(tmp_path / "run").gate_shift_ == estimator.gate_shift_
