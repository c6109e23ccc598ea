"""Pretrained transformers as encoders of texts."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number, truth, whole_number
from fewhot.core.errors import FewhotError, InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import PADDING, Tokens
from fewhot.core.registry import BODIES
from fewhot.core.warning import warn_caller

N_PIECES = 512
"""How many pieces of a text are read at most, unless told."""
_TEXTS_AT_ONCE = 1024
_NOT_OF_THE_NETWORK = ("_name_or_path", "transformers_version", "dtype", "architectures", "id2label", "label2id")


@BODIES.register("pretrained")
class Pretrained(Part):
    r"""Texts to vectors by a pretrained transformer: the mean of its last layer over a text's own pieces, (B, H).

    .. math:: h = \frac{1}{T} \sum_{t=1}^{T} \mathrm{transformer}(x)_t

    The transformer cuts texts in its own way. It never drops units, so that what it says of a text is certain. Weights
    and pieces are saved with the model: a run that is loaded needs neither the files it came from nor a network.

    Parameters
    ----------
    name
        A folder with a transformer that the package transformers reads, or the name of one it has on disk.
    trained
        Whether the transformer learns with the model, or stays as it is.
    learning_rate
        Adam's rate for the transformer, whose weights want smaller steps than fresh ones; None takes the model's.
    max_length
        How many pieces of a text are read at most; a warning says how many texts were cut.
    architecture, pieces
        What a saved file says of the transformer in the place of ``name``: its configuration, and its tokeniser.
    """

    compiles = False

    def __init__(
        self,
        name: str | Path | None = None,
        *,
        trained: bool = True,
        learning_rate: float | None = None,
        max_length: int = N_PIECES,
        architecture: Mapping[str, Any] | None = None,
        pieces: str | None = None,
    ) -> None:
        super().__init__()
        self.name = None if name is None else str(name)
        self.trained = truth("trained", trained)
        self.learning_rate = (
            None if learning_rate is None else real_number("learning_rate", learning_rate, low=0, open_low=True)
        )
        if self.learning_rate is not None and not self.trained:
            raise InvalidParameterError(
                "learning_rate is for a transformer that learns, and trained=False keeps this one as it is; give one "
                "of the two."
            )
        self.max_length = whole_number("max_length", max_length)
        if architecture is not None and pieces is not None:
            self.transformer, self.pieces = _of_architecture(architecture), pieces
        elif self.name is not None:
            self.transformer, self.pieces = _on_disk(self.name)
        else:
            raise InvalidParameterError("Pretrained was given no name; name a transformer, or the folder of one.")
        if hasattr(self.transformer, "pooler"):
            self.transformer.pooler = None  # of the first piece, which is not read
        self.architecture = _plain(self.transformer.config.to_dict())
        self.transformer.requires_grad_(self.trained)
        self.transformer.eval()

    @property
    def n_out(self) -> int:
        """Width of the vectors."""
        return int(self.transformer.config.hidden_size)

    def extra_repr(self) -> str:
        """Say what it was made from, so that another one is told from it."""
        said = ", ".join(f"{name}={getattr(self, name)}" for name in ("trained", "learning_rate", "max_length"))
        return f"{self.name!r}, {said}"

    def train(self, mode: bool = True) -> Self:
        """Stay as in use: no units are dropped in training."""
        super().train(mode)
        self.transformer.eval()
        return self

    def cut(self, texts: Iterable[str], unknown: str = "_UNK") -> Iterator[list[int]]:
        """Return the ids of each text's pieces, with those that the transformer expects before and behind.

        ``unknown`` is how unknown words are written in the texts; the transformer has a piece of its own for them.
        """
        tokeniser = import_module("tokenizers").Tokenizer.from_str(self.pieces)
        tokeniser.no_padding()
        tokeniser.no_truncation()
        own = json.loads(self.pieces)["model"].get("unk_token") or unknown
        most = min(self.max_length, _most_pieces(self.transformer) or self.max_length)
        n_cut = n_texts = 0
        for some in _some_at_a_time(texts):
            for found in tokeniser.encode_batch([text.replace(unknown, own) for text in some]):
                n_texts += 1
                n_cut += len(found.ids) > most
                yield found.ids if len(found.ids) <= most else [*found.ids[: most - 1], found.ids[-1]]
        if n_cut:
            warn_caller(f"{n_cut} of {n_texts} texts have more than {most} pieces and were cut there.", UserWarning)

    def forward(self, x: Tokens) -> Tensor:
        """Return the mean of the last layer over the pieces of each text."""
        if x.pieces is None:
            raise InvalidParameterError("The texts were not cut for this transformer; give them to an estimator.")
        inside = x.pieces != PADDING
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.trained):
            ids = (x.pieces - 1).clamp(min=0)
            last = self.transformer(input_ids=ids, attention_mask=inside.long()).last_hidden_state
        weights = inside.to(last.dtype)
        return (last * weights[..., None]).sum(1) / weights.sum(1, keepdim=True).clamp(min=1)


def _on_disk(name: str) -> tuple[Any, str]:
    """Return a transformer and its tokeniser as JSON; nothing is fetched."""
    transformers = _transformers()
    try:
        model, found = transformers.AutoModel.from_pretrained(
            name, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
        tokeniser = transformers.AutoTokenizer.from_pretrained(name, local_files_only=True, use_fast=True)
        pieces = tokeniser.backend_tokenizer.to_str()
    except Exception as error:  # of many kinds: the files are read by several packages
        if name and Path(name).is_dir():
            raise FewhotError(
                f"The folder {name!r} holds no transformer that can be read, with its tokeniser; give one that "
                f"save_pretrained of both has written."
            ) from error
        raise FewhotError(
            f"No transformer called {name!r} is on disk, with its tokeniser; give the folder of one, or fetch it first "
            f"by transformers.AutoModel.from_pretrained({name!r}) and AutoTokenizer.from_pretrained({name!r})."
        ) from error
    _check_whole(name, model, found["missing_keys"], tokeniser)
    return model, pieces


def _check_whole(name: str, model: Any, missing: Iterable[str], tokeniser: Any) -> None:
    """Refuse weights that the files do not have, which would be drawn at random, and a tokeniser without pieces."""
    weights = [key for key in missing if key in dict(model.named_parameters()) and not key.startswith("pooler.")]
    if weights:
        raise FewhotError(
            f"The files of {name!r} lack {len(weights)} weights that its configuration asks for, such as "
            f"{min(weights)!r}; give a transformer whose files fit together."
        )
    known = tokeniser.get_vocab()
    if set(known) <= set(tokeniser.all_special_tokens):
        raise FewhotError(f"{name!r} has no tokeniser beside its transformer; give a folder with the files of both.")
    n_vectors = model.get_input_embeddings().num_embeddings
    if max(known.values()) >= n_vectors:
        raise FewhotError(
            f"The tokeniser of {name!r} knows pieces up to {max(known.values())}, and its transformer has {n_vectors} "
            f"vectors of pieces; give files that fit together."
        )


def _of_architecture(architecture: Mapping[str, Any]) -> Any:
    transformers = _transformers()
    known = dict(architecture)
    return transformers.AutoModel.from_config(transformers.AutoConfig.for_model(known.pop("model_type"), **known))


def _transformers() -> Any:
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise FewhotError(
            "A pretrained encoder needs the package transformers, which is not installed: pip install 'fewhot[text]'."
        ) from error
    logging.getLogger("transformers").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a configuration says of the network, as it can be written to a file."""
    return json.loads(json.dumps({name: value for name, value in config.items() if name not in _NOT_OF_THE_NETWORK}))


def _most_pieces(transformer: Any) -> int | None:
    """Return how many places a transformer knows; None where it knows no end.

    Some count places from behind that of padding, and so have fewer than they have vectors of places.
    """
    n_places = getattr(transformer.config, "max_position_embeddings", None)
    if n_places is None or n_places < 0:  # some write -1
        return None
    tables = (table for table in transformer.modules() if isinstance(table, nn.Embedding))
    padding = [table.padding_idx for table in tables if table.num_embeddings == n_places]
    return n_places - max((place + 1 for place in padding if place is not None), default=0)


def _some_at_a_time(texts: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    for text in texts:
        some.append(text)
        if len(some) == _TEXTS_AT_ONCE:
            yield some
            some = []
    if some:
        yield some
