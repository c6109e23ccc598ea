"""Run folders on disk: config.json, model.safetensors, history.jsonl. Loading calls registered classes only."""

from __future__ import annotations

import errno
import json
import os
import reprlib
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file as load_arrays
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from fewhot.core.devices import in_float32, resolve_device
from fewhot.core.errors import FewhotError, InvalidParameterError, NotSavableError, RunFolderError
from fewhot.core.files import folder_path, readable_json, replacing_files
from fewhot.core.loaders import loader_of
from fewhot.core.parts import UserParts, decode, encode
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.core.version import __version__
from fewhot.estimators.fingerprint import is_run_of
from fewhot.metrics import TopWords
from fewhot.metrics.label_references import LabelReferences
from fewhot.metrics.references import References
from fewhot.nn import Pretrained
from fewhot.training import history
from fewhot.training.run_folder import CONFIG, CONFIG_FORMAT, RunFolder, refuse_foreign

FORMAT_VERSION = 1
WEIGHTS, HISTORY, REFERENCES = "model.safetensors", "history.jsonl", "references.safetensors"
WORDS, LABEL_REFERENCES = "words.safetensors", "label-references.safetensors"
_UNSAVED = ("callbacks",)


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator into ``path``; the files appear once all are whole, the configuration last."""
    folder = folder_path(path)
    config = _config_of(estimator)  # raises before anything is written
    tensors = {name: value.detach().cpu().contiguous() for name, value in estimator.module_.state_dict().items()}
    names = {REFERENCES: "references_", WORDS: "_kept_words", LABEL_REFERENCES: "label_references_"}
    kept = {file: getattr(estimator, name, None) for file, name in names.items()}
    beside = {
        file: {name: torch.from_numpy(value) for name, value in found.to_arrays().items()}
        for file, found in kept.items()
        if found is not None
    }
    write_run(folder, config, tensors, estimator.history_, lambda known: is_run_of(estimator, known), beside)


def write_run(
    folder: Path,
    config: dict[str, Any],
    tensors: dict[str, Tensor],
    records: Sequence[dict[str, Any]] = (),
    is_this_run: Callable[[dict[str, Any]], bool] = lambda known: False,
    beside: Mapping[str, dict[str, Tensor]] | None = None,
) -> None:
    """Write the files of a run, unless the folder holds something that would be lost."""
    files = {folder / WEIGHTS: tensors} | {folder / file: content for file, content in (beside or {}).items()}
    if os.path.exists(folder) and not os.path.isdir(folder):  # pathlib's raise where a name is too long
        raise RunFolderError(f"{folder} is a file; choose a folder to save to.")
    try:
        texts = (history.as_lines(records), readable_json(config))
    except (TypeError, ValueError) as error:
        raise NotSavableError(f"What was learned cannot be written as JSON ({error}); nothing was saved.") from error
    try:
        refuse_foreign(folder)
        _refuse_other_runs(folder, is_this_run)
        with replacing_files(*files, folder / HISTORY, folder / CONFIG) as written:
            for file, content in zip(written, files.values(), strict=False):
                save_file(content, file, metadata={"format": CONFIG_FORMAT})
            for file, text in zip(written[len(files) :], texts, strict=True):
                file.write_text(text, encoding="utf-8")
    except FewhotError:
        raise
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunFolderError(f"The run could not be written to {folder} ({reason}); {_remedy_of(error)}.") from error


@in_float32()
def load(path: str | Path, parts: UserParts | None = None, device: str = "auto") -> Any:
    """Return a fitted estimator from a run folder.

    Parameters
    ----------
    path
        A folder that `save` wrote.
    parts
        Classes of your own that the run uses, by their registered names.
    device
        Where to put the model: "auto", "cpu", "cuda".

    Notes
    -----
    Nothing in the folder is executed: the configuration names registered classes and the weights are plain tensors.
    What an optimiser remembers is not among them: a warm start of a loaded model goes on from its weights alone.
    """
    if not isinstance(parts, Mapping | None):
        raise InvalidParameterError(f"parts is {reprlib.repr(parts)}; it must map names to classes of your own.")
    folder = folder_path(path)
    config = _read_config(folder)
    restore = loader_of(config)
    if restore is not None:
        return restore(folder, config, parts, device)
    try:
        cls = ESTIMATORS[config["estimator"]]
        estimator = cls(**_decode_parameters(config["parameters"], parts))
        estimator._check_parameters()
        module = decode(config["module"], parts)
        fitted = config["fitted"]
        estimator.history_ = history.read(folder / HISTORY)
        estimator.n_iter_ = int(fitted["n_iter"])
        estimator.seed_ = int(fitted["seed"])
        estimator.n_features_in_ = int(fitted["n_features_in"])
        estimator.data_spec_ = DataSpec.from_dict(fitted["data_spec"])
        estimator.image_shape_ = estimator.data_spec_.image_shape
        estimator._levels = int(fitted.get("levels", 1))
        estimator._n_features_out = module.latent.n_latent
        estimator._built_with = estimator._structure()
        if fitted.get("gate_shift") is not None:
            estimator.gate_shift_ = float(fitted["gate_shift"])
        if fitted.get("vocabulary") is not None:
            estimator.vocabulary_ = decode(fitted["vocabulary"], parts)
        estimator._restore_state(fitted)
        estimator.references_ = _read_references(folder, REFERENCES, References, fitted.get("references"))
        if estimator.labelled:
            facts = fitted.get("label_references")
            estimator.label_references_ = _read_references(folder, LABEL_REFERENCES, LabelReferences, facts)
        estimator._kept_words = _read_words(folder) if fitted.get("keeps_words") else None
        if fitted["feature_names_in"] is not None:
            estimator.feature_names_in_ = np.asarray(fitted["feature_names_in"], dtype=object)
    except FewhotError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise RunFolderError(f"{folder / CONFIG} is damaged ({reason}); save the run again.") from error
    _load_weights(module, folder)
    if isinstance(module.encoder.body, Pretrained):
        estimator._reader = module.encoder.body
        estimator._reads_known_words = bool(fitted.get("reads_known_words"))
        if isinstance(estimator.encoder, Pretrained):  # its weights are those of the run, should it be fitted again
            estimator.encoder = module.encoder.body
    estimator.module_ = module.to(resolve_device(device)).eval()
    return estimator


def _read_references(folder: Path, file: str, kind: Any, facts: dict[str, Any] | None) -> Any:
    """Return what a fit is compared with; None for a run that has none, or was handed on without their file."""
    if facts is None or not (folder / file).is_file():
        return None
    with _damage_named(folder / file):
        return kind.from_parts(facts, load_arrays(folder / file))


def _read_words(folder: Path) -> TopWords | None:
    """Return the words of units; None for a run that was handed on without their file."""
    if not (folder / WORDS).is_file():
        return None
    with _damage_named(folder / WORDS):
        return TopWords.from_arrays(load_arrays(folder / WORDS))


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, KeyError) as error:
        reason = textwrap.shorten(str(error), 200, placeholder=" ...")
        raise RunFolderError(f"{file} is damaged ({reason}); save the run again.") from error


def _refuse_other_runs(folder: Path, is_this_run: Callable[[dict[str, Any]], bool]) -> None:
    """Refuse a folder with the checkpoints of another run, whose model would be lost."""
    known = RunFolder(folder).fingerprint
    if known is not None and not is_this_run(known):
        raise RunFolderError(f"{folder} holds the checkpoints of another run; choose another folder.")


def _remedy_of(error: OSError | SafetensorError) -> str:
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
    return "free some space or choose another folder" if full else "choose a folder that can be written to"


def _config_of(estimator: Any) -> dict[str, Any]:
    name = ESTIMATORS.name_of(type(estimator))
    if name is None:
        raise NotSavableError(
            f"{type(estimator).__qualname__} is not a registered estimator; "
            f"decorate it with ESTIMATORS.register('name')."
        )
    names = getattr(estimator, "feature_names_in_", None)
    kept = {name: getattr(estimator, f"{name}_", None) for name in ("references", "label_references")}
    return {
        "format": CONFIG_FORMAT,
        "format_version": FORMAT_VERSION,
        "fewhot_version": __version__,
        "estimator": name,
        "parameters": _encode_parameters(estimator),
        "module": estimator.module_.to_config(),
        "fitted": {
            "n_iter": estimator.n_iter_,
            "seed": estimator.seed_,
            "n_features_in": estimator.n_features_in_,
            "feature_names_in": None if names is None else [str(item) for item in names],
            "data_spec": estimator.data_spec_.to_dict(),
            "levels": getattr(estimator, "_levels", 1),
            "gate_shift": getattr(estimator, "gate_shift_", None),
            "vocabulary": encode(getattr(estimator, "vocabulary_", None)),
            "reads_known_words": bool(getattr(estimator, "_reads_known_words", False)),
            **{name: None if found is None else found.facts() for name, found in kept.items()},
            "keeps_words": getattr(estimator, "_kept_words", None) is not None,
            **estimator._fitted_state(),
        },
    }


def _encode_parameters(estimator: Any) -> dict[str, Any]:
    parameters = {k: v for k, v in estimator.get_params(deep=False).items() if k not in _UNSAVED}
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = estimator.seed_
    if not isinstance(parameters["device"], str):
        parameters["device"] = str(parameters["device"])
    return {name: encode(value) for name, value in parameters.items()}


def _decode_parameters(encoded: dict[str, Any], parts: UserParts | None) -> dict[str, Any]:
    decoded = {name: decode(value, parts) for name, value in encoded.items()}
    return {name: tuple(v) if isinstance(v, list) else v for name, v in decoded.items()}


def _read_config(folder: Path) -> dict[str, Any]:
    if os.path.isfile(folder):
        raise RunFolderError(f"{folder} is a file; give a folder that save or fewhot fit wrote.")
    if not os.path.isdir(folder):
        raise RunFolderError(f"There is no folder {folder}; give a folder that save or fewhot fit wrote.")
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RunFolderError(
            f"{folder} is not a run folder: it has no {CONFIG}; give a folder that save or fewhot fit wrote."
        ) from error
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{folder / CONFIG} cannot be read ({error}); save the run again.") from error
    if not isinstance(config, dict) or config.get("format") != CONFIG_FORMAT:
        raise RunFolderError(
            f"{folder} is not a run folder of this library: its {CONFIG} is something else; give a folder that save or "
            f"fewhot fit wrote."
        )
    found = config.get("format_version")
    if type(found) is not int or found < 1:
        raise RunFolderError(
            f"{folder / CONFIG} is damaged: its format_version is {reprlib.repr(found)}, not a whole number from 1 up; "
            f"save the run again."
        )
    if found > FORMAT_VERSION:
        raise RunFolderError(
            f"{folder} was written by fewhot {config.get('fewhot_version')} in format {found}, and this version reads "
            f"up to format {FORMAT_VERSION}; upgrade fewhot."
        )
    return config


def _load_weights(module: nn.Module, folder: Path) -> None:
    tensors = read_tensors(folder)
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        raise _foreign_weights(folder, error) from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of a run by name."""
    try:
        return load_file(folder / WEIGHTS)
    except FileNotFoundError as error:
        raise RunFolderError(f"{folder} has no {WEIGHTS}; save the run again.") from error
    except (SafetensorError, OSError, RuntimeError) as error:
        raise _foreign_weights(folder, error) from error


def _foreign_weights(folder: Path, error: Exception) -> RunFolderError:
    reason = textwrap.shorten(str(error), 200, placeholder=" ...")
    return RunFolderError(f"{folder / WEIGHTS} does not hold the weights of this run ({reason}); save it again.")
