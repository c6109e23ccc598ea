"""Baselines on disk: what was learned as tensors, the rest as JSON. Loading calls registered classes only."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from fewhot.core.errors import FewhotError, NotSavableError, RunFolderError
from fewhot.core.files import folder_path
from fewhot.core.parts import UserParts, decode, encode
from fewhot.core.registry import BASELINES
from fewhot.core.seeding import seeded
from fewhot.core.version import __version__
from fewhot.estimators.storage import FORMAT_VERSION, read_tensors, write_run
from fewhot.training.run_folder import CONFIG, CONFIG_FORMAT

_SPARSE = ("data", "indices", "indptr")
_NAMES = "feature_names_in_"


def save(baseline: Any, path: str | Path) -> None:
    """Write a fitted baseline into ``path``; the files appear once all are whole, the configuration last."""
    folder = folder_path(path)
    name = BASELINES.name_of(type(baseline))
    if name is None:
        raise NotSavableError(
            f"{type(baseline).__qualname__} is not a registered baseline; decorate it with BASELINES.register('name')."
        )
    parameters = baseline.get_params(deep=False)
    if not isinstance(parameters.get("random_state"), int | None):
        parameters["random_state"] = None  # a generator has moved on; what it drew is in the arrays
    tensors, fitted = _learned(baseline)
    config = {
        "format": CONFIG_FORMAT,
        "format_version": FORMAT_VERSION,
        "fewhot_version": __version__,
        "baseline": name,
        "parameters": {key: encode(value) for key, value in parameters.items()},
        "tuples": [key for key, value in parameters.items() if isinstance(value, tuple)],  # lists in JSON
        "fitted": fitted,
    }
    write_run(folder, config, tensors)


def restore(folder: Path, config: dict[str, Any], parts: UserParts | None, device: str) -> Any:
    """Return the fitted baseline of a folder whose configuration was read; one that trains works on ``device``."""
    with seeded(0, "loading"):  # modules draw weights before they are given those of the run
        return _restored(folder, config, parts, device)


def _restored(folder: Path, config: dict[str, Any], parts: UserParts | None, device: str) -> Any:
    tensors = read_tensors(folder)
    try:
        cls = BASELINES[config["baseline"]]
        parameters = decode(config["parameters"], parts)
        parameters |= {name: tuple(parameters[name]) for name in config.get("tuples", ())}
        if "device" in parameters:
            parameters["device"] = device
        baseline = cls(**parameters)
        baseline._check_parameters()
        for name, value in config["fitted"].items():
            setattr(baseline, _learned_name(name), _value(name, value, tensors, parts))
        _check_whole(baseline)
        baseline._after_loading()
    except FewhotError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise RunFolderError(f"{folder / CONFIG} is damaged ({reason}); save the run again.") from error
    return baseline


def _learned(baseline: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the arrays of a baseline as tensors, and a JSON-able word on each thing it learned."""
    tensors: dict[str, Tensor] = {}
    fitted: dict[str, Any] = {}
    for name, value in vars(baseline).items():
        if not name.endswith("_"):
            continue
        if sp.issparse(value):
            fitted[name] = {"sparse": [int(length) for length in value.shape]}
            tensors |= {f"{name}.{part}": torch.from_numpy(getattr(value, part)) for part in _SPARSE}
        elif isinstance(value, nn.Module):
            fitted[name] = encode(value)
            tensors |= {f"{name}.{key}": part.detach().cpu().contiguous() for key, part in value.state_dict().items()}
        elif isinstance(value, np.ndarray) and value.dtype.kind not in "biuf" and name != _NAMES:
            fitted[name] = {"listed": encode(value), "dtype": value.dtype.kind}
        elif isinstance(value, np.ndarray) and name != _NAMES:
            fitted[name] = {"dense": list(value.shape)}
            tensors[name] = torch.from_numpy(np.ascontiguousarray(value))
        else:
            fitted[name] = [str(item) for item in value] if name == _NAMES else encode(value)
    return tensors, fitted


def _learned_name(name: str) -> str:
    """Return the name if a fit could have set it: a file sets no method and no parameter."""
    if not (name.isidentifier() and name.endswith("_") and not name.startswith("_")):
        raise ValueError(f"{name!r} is nothing that a fit learns")
    return name


def _check_whole(baseline: Any) -> None:
    """Refuse a baseline that lacks something it says it learns, or has something else than the array it says."""
    for kind in type(baseline).__mro__:
        for name, of in inspect.get_annotations(kind).items():
            if not name.endswith("_"):
                continue
            if not hasattr(baseline, name):
                raise ValueError(f"{name} is missing")
            if of == "np.ndarray" and not isinstance(getattr(baseline, name), np.ndarray):
                raise ValueError(f"{name} is no array")


def _value(name: str, value: Any, tensors: dict[str, Tensor], parts: UserParts | None) -> Any:
    if name == _NAMES:
        return np.asarray(value, dtype=object)
    if not isinstance(value, dict):
        return value
    if "part" in value:
        return _part(name, value, tensors, parts)
    if "listed" in value:
        return np.array(value["listed"], dtype=object if value["dtype"] == "O" else str)
    if "sparse" in value:
        arrays = tuple(tensors[f"{name}.{part}"].numpy() for part in _SPARSE)
        matrix: Any = sp.csr_array(arrays, shape=tuple(value["sparse"]))
        matrix.check_format(full_check=True)  # a damaged file could point outside the matrix
        return matrix
    array = tensors[name].numpy()
    if list(array.shape) != value["dense"]:
        raise ValueError(f"{name} has shape {array.shape}, not {tuple(value['dense'])}")
    return array


def _part(name: str, config: dict[str, Any], tensors: dict[str, Tensor], parts: UserParts | None) -> Any:
    """Return a part as it was built, and a module with its weights."""
    part, own = decode(config, parts), f"{name}."
    if isinstance(part, nn.Module):
        try:
            part.load_state_dict({key.removeprefix(own): t for key, t in tensors.items() if key.startswith(own)})
        except RuntimeError as error:
            raise ValueError(f"{name} has other weights than those of the run") from error
    return part
