"""What a fit is told: one typed record behind the flags and behind ``--config file.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from fewhot.cli.interactions import check_columns, with_choices_for_pairs
from fewhot.cli.models import ELSEWHERE, argument_hints, model_named
from fewhot.cli.values import converted, nearest
from fewhot.core.errors import InvalidParameterError, UnknownNameError

FILE = "fit.yaml"
"""The resolved configuration in a run folder; it can be given back to ``--config``."""

_ALTERNATIVES = ("alpha", "density", "l0")
"""A flag for one of these takes the place of the others in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """Everything that decides a fit.

    Attributes
    ----------
    data
        A dataset's name or a file.
    out
        The run folder.
    split
        The split to fit on; None takes a dataset's "train", and all rows of a file.
    test
        Rows for the metrics: a split of the same data, or another file. None takes the split "test" when the fit is on
        "train", and the fitted rows otherwise.
    label
        The column of a file that holds the labels; it is left out of the rows.
    text
        The column of a file whose texts are the rows.
    texts
        Whether the rows of a dataset are its texts, and not the counts of their words.
    user, item, weight
        The columns of a table with a row for each user and item; the users are the rows.
    tokeniser
        How texts are cut into words; None takes "plain", and "spaces" for a dataset, whose texts are cut already.
    n_words
        How many words are known at most; None takes 20,000, and those of a dataset.
    max_length
        How many words of a text are read at most; None reads all.
    image_shape
        How flat rows are images, such as "112x92"; the size that pictures of a folder are brought to.
    columns, drop
        The columns of a table to keep, and those to leave out, with commas between them.
    prepare
        Whether words, dates and missing values of a table are turned into numbers.
    data_dir
        A folder with datasets that are already on disk.
    model
        The model's name: "vsc" unless told, "nfa" for a table of users and items.
    seed
        One seed for everything that is drawn.
    checkpoint_seconds
        How often a checkpoint is written.
    arguments
        The model's constructor arguments by name.
    """

    data: str
    out: str | None = None
    split: str | None = None
    test: str | None = None
    label: str | None = None
    text: str | None = None
    texts: bool = False
    tokeniser: str | None = None
    n_words: int | None = None
    max_length: int | None = None
    image_shape: str | None = None
    columns: str | None = None
    drop: str | None = None
    prepare: bool = False
    user: str | None = None
    item: str | None = None
    weight: str | None = None
    data_dir: str | None = None
    model: str = "vsc"
    seed: int = 0
    checkpoint_seconds: float = 60.0
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def estimator(self, **extra: Any) -> Any:
        """Return the unfitted estimator."""
        _, cls = model_named(self.model)
        return cls(**self.arguments, random_state=self.seed, **extra)

    def to_mapping(self) -> dict[str, Any]:
        """Return everything but the folder, the model's defaults written out; `resolved` inverts it."""
        run = {name: getattr(self, name) for name in run_keys() if name != "out"}
        parameters = self.estimator().get_params(deep=False)
        arguments = {name: value for name, value in parameters.items() if name not in ELSEWHERE}
        return run | {name: _plain(value) for name, value in arguments.items()}


def run_keys() -> dict[str, Any]:
    """Return the keys that are not the model's own, with their types."""
    hints = get_type_hints(FitConfig)
    return {item.name: hints[item.name] for item in fields(FitConfig) if item.name != "arguments"}


def resolved(given: Mapping[str, Any], *, texts: Mapping[str, str] | None = None, where: str = "") -> FitConfig:
    """Return the typed record of a flat mapping; unknown names and wrong types are refused in one sentence.

    Parameters
    ----------
    given
        Keys of `FitConfig` and arguments of the model, side by side.
    texts
        What the user typed for some of them, where YAML read something else than text.
    where
        Where the keys come from, for the sentence.
    """
    given, texts = dict(given), texts or {}
    if "random_state" in given:
        given.setdefault("seed", given.pop("random_state"))
    _require_data(given)
    check_columns(given)
    given = with_choices_for_pairs(given)
    keys = run_keys()
    model = converted("model", given.get("model", _default("model")), keys["model"])
    plain, cls = model_named(model)
    arguments = argument_hints(cls)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in ELSEWHERE:
            raise InvalidParameterError(f"{name} cannot be set here: {ELSEWHERE[name]}.")
        if name not in keys and name not in arguments:
            known = {**keys, **arguments}
            raise UnknownNameError(
                f"{plain} has no setting {name!r}{where}.{nearest(str(name), known)} Known: {', '.join(known)}."
            )
        values[name] = converted(name, value, keys.get(name, arguments.get(name)), text=texts.get(name))
    own: dict[str, Any] = {name: value for name, value in values.items() if name in keys}
    own["model"] = plain
    return FitConfig(**own, arguments={name: value for name, value in values.items() if name in arguments})


def merged(file: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file's settings with the flags' in their place.

    >>> merged({"l0": 4, "max_steps": 100}, {"density": 0.1})
    {'max_steps': 100, 'density': 0.1}
    """
    dropped = _ALTERNATIVES if any(name in flags for name in _ALTERNATIVES) else ()
    return {name: value for name, value in file.items() if name not in dropped} | dict(flags)


def read_config(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InvalidParameterError(f"There is no file {path}; give --config a YAML file.") from error
    except IsADirectoryError as error:
        raise InvalidParameterError(f"{path} is a folder; give --config a YAML file, such as {path / FILE}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        raise InvalidParameterError(
            f"{path} is not YAML{place}; write one setting a line, such as 'model: vsc'."
        ) from error
    if isinstance(content, dict) and content.get("format") == "fewhot-run":
        raise InvalidParameterError(f"{path} describes a fitted model; give --config the {FILE} beside it.")
    if not isinstance(content, dict):
        raise InvalidParameterError(f"{path} holds no settings; write one a line, such as 'model: vsc'.")
    return {str(name): value for name, value in content.items()}


def write_config(path: Path, config: FitConfig) -> None:
    """Write the resolved settings as YAML, atomically."""
    import yaml

    from fewhot.core.files import replacing_file

    with replacing_file(path) as temporary:
        head = "# Every setting of this fit; fewhot fit --config takes this file.\n"
        temporary.write_text(head + yaml.safe_dump(config.to_mapping(), sort_keys=False), encoding="utf-8")


def assignments(items: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of ``--set name=value`` as YAML reads them, and as they were typed.

    >>> assignments(["compile=graph", "max_active=5"])[0]
    {'compile': 'graph', 'max_active': 5}
    """
    import yaml

    values, texts = {}, {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name:
            raise InvalidParameterError(f"--set was given {item!r}; it takes name=value, such as --set max_active=10.")
        try:
            values[name] = yaml.safe_load(text) if text else ""
        except yaml.YAMLError:
            values[name] = text
        texts[name] = text
    return values, texts


def _plain(value: Any) -> Any:
    """Return a value as YAML writes it."""
    if isinstance(value, tuple):
        return list(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _require_data(given: Mapping[str, Any]) -> None:
    if given.get("data") is None:
        raise InvalidParameterError(
            "No data was given; name a dataset or a file, such as fewhot fit digits --out runs/x."
        )


def _default(name: str) -> Any:
    default = next(item.default for item in fields(FitConfig) if item.name == name)
    assert default is not MISSING
    return default
