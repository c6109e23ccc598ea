"""The estimator all models share: every verb of scikit-learn and ours on the fitted module."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from fewhot.codes import Codes, encode, encode_values, score
from fewhot.codes.encoding import BATCH, Encoding
from fewhot.core.checks import one_of, truth, whole_number
from fewhot.core.devices import in_float32, matrix_precision
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.memory import within_memory
from fewhot.core.registry import LIKELIHOODS, STRUCTURES
from fewhot.core.seeding import resolve_seed, stream
from fewhot.data import Dataset, Vocabulary
from fewhot.data.pixels import folded
from fewhot.estimators.fitting import Fitting
from fewhot.estimators.validation import codes_of, dataset_of
from fewhot.likelihoods.supports import said_of_new_rows
from fewhot.models.decoder import NoDecoder
from fewhot.models.latent_model import LatentModel
from fewhot.models.sequence_decoder import MOST_WORDS, SequenceDecoder, SpokenTexts

DECODINGS = ("greedy", "beam", "sample")
"""Ways to say a text, by name."""
MOST_BEAMS = 1000
"""A step of the search looks at every word after each of them."""


class LatentEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Fitting):
    """Fit a latent variable model and use its codes. Subclasses say which model, in `_build`."""

    vocabulary_: Vocabulary
    labelled: ClassVar[bool] = False
    """Whether `fit` needs labels beside the rows."""
    bytes_are_pixels: ClassVar[bool] = True
    """Whether flat rows of bright bytes are taken for pixels, where no likelihood is named."""

    # ------------------------------------------------------------------------------------------------- codes

    @in_float32()
    def transform(self, X: Any) -> Any:
        """Return the map code of each row: deterministic, exactly zero off the active set, (n, n_components)."""
        data = self._rows(X)
        self._check_container(sparse=self._sparse_output and self.module_.latent.gated)
        return self._encoded(data)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit the model and return the map code of each row, (n, n_components); the arguments are those of `fit`."""
        self._check_container(sparse=self._gives_sparse())
        return super().fit_transform(X, y, **fit_params)

    @in_float32()
    def codes(self, X: Any) -> Codes:
        """Return codes with their variance, activity probabilities, bounds and, when refined, gaps."""
        data = self._rows(X)
        codes = encode(self.module_, data, self._encoding(), sparse=self._sparse_output)
        return codes if self._has_bound else replace(codes, bound=np.full_like(codes.bound, np.nan))

    @in_float32()
    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Return the decoder's mean of codes, dense (n, n_features); for rows as the model observes them.

        A model of images returns images, (n, height, width) or (n, height, width, channels): pixels in [0, 1] where
        those of the fit were, as bytes are once divided by 255, else in the units of the fit. A model of texts has no
        mean text: it returns the strings that `decode` finds.
        """
        check_is_fitted(self)
        if self.says_texts:
            return self.decode(Z)
        return self._as_given(self._decoded(Z))

    def _decoded(self, Z: Any) -> np.ndarray:
        """Return the decoder's mean of codes as rows, (n, n_features), images among them."""
        Z = codes_of(Z, self.module_.latent.n_latent)
        parts = []
        with torch.no_grad(), matrix_precision("float32", self._device):
            for start in range(0, Z.shape[0], BATCH):
                z = self._tensor(Z[start : start + BATCH])
                parts.append(self.module_.decoder.generate(z).mean.cpu().numpy())
        return np.concatenate(parts)

    def _as_given(self, rows: np.ndarray) -> np.ndarray:
        """Return rows that the model made as those of the fit were: images as images, pixels within [0, 1]."""
        if self.data_spec_.pixels and self.data_spec_.unit_interval:
            rows = rows.clip(0, 1)
        return folded(rows, getattr(self, "image_shape_", None))

    @in_float32()
    @within_memory("give fewer codes at once, or fewer n_beams")
    def decode(
        self, Z: Any, how: str = "greedy", *, n_beams: int = 5, max_length: int = MOST_WORDS, random_state: Any = None
    ) -> np.ndarray:
        """Return a text for each code, (n,), from a model that was fitted on texts.

        Parameters
        ----------
        Z
            Codes, (n, n_components).
        how
            "greedy" says the likeliest word after each; "beam" looks for the likeliest text among ``n_beams``
            beginnings; "sample" draws word by word.
        n_beams
            How many beginnings "beam" keeps.
        max_length
            How many words a text has at most.
        random_state
            Seed of "sample".
        """
        check_is_fitted(self)
        if not self.says_texts:
            of_texts = self.data_spec_.kind == "text"
            way = "fit with encoder='gru' for one that says texts" if of_texts else "call inverse_transform"
            raise InvalidParameterError(f"decode says texts, and this model makes rows of numbers; {way} instead.")
        one_of("how", how, DECODINGS)
        if whole_number("n_beams", n_beams) > MOST_BEAMS:
            raise InvalidParameterError(f"n_beams is {n_beams}; it must be at most {MOST_BEAMS:,}.")
        whole_number("max_length", max_length)
        Z = codes_of(Z, self.module_.latent.n_latent)
        generator = stream(resolve_seed(random_state), "decode", device=self._device)
        found: list[np.ndarray] = []
        with matrix_precision("float32", self._device):
            for start in range(0, Z.shape[0], BATCH):
                texts = self._spoken(self._tensor(Z[start : start + BATCH]))
                if how == "greedy":
                    said = texts.greedy(max_length)
                else:
                    said = texts.beam(n_beams, max_length) if how == "beam" else texts.sample(generator, max_length)
                found.append(self._strings(said))
        return np.concatenate(found)

    @in_float32()
    @within_memory("give fewer n_samples")
    def sample(
        self, n_samples: int = 1, random_state: Any = None, kind: str = "auto", *, max_length: int = MOST_WORDS
    ) -> np.ndarray:
        """Draw rows from the model: a code from the prior, then a row given the code.

        ``kind="draw"`` draws the row, too; ``kind="mean"`` returns the expected row of each code, and of a model of
        texts the likeliest words. "auto" takes the mean of images, whose pixels are noisy when drawn one by one, and
        draws everything else. A text ends after ``max_length`` words at the latest. Images come as
        `inverse_transform` returns them.
        """
        check_is_fitted(self)
        whole_number("max_length", max_length)
        n = whole_number("n_samples", n_samples)
        generator = stream(resolve_seed(random_state), "sample", device=self._device)
        with torch.no_grad():
            z = self.module_.prior.sample(n, self.module_.posterior_of, generator)
            return self._generate(z, generator, kind, max_length)

    @in_float32()
    def sample_like(
        self, X: Any, random_state: Any = None, kind: str = "auto", *, max_length: int = MOST_WORDS
    ) -> np.ndarray:
        """Draw one row for each row of X, keeping its active units and drawing their values from the prior."""
        whole_number("max_length", max_length)
        data = self._rows(X)
        generator = stream(resolve_seed(random_state), "sample", device=self._device)
        codes = encode_values(self.module_, data, self._encoding(), sparse=False)
        active = torch.from_numpy(np.asarray(codes) != 0).to(self._device)
        with torch.no_grad():
            z = self.module_.prior.sample_given(active, self.module_.posterior_of, generator)
            return self._generate(z, generator, kind, max_length)

    def _generate(self, z: torch.Tensor, generator: torch.Generator, kind: str, max_length: int) -> np.ndarray:
        if one_of("kind", kind, ("auto", "draw", "mean")) == "auto":
            kind = "draw" if getattr(self, "image_shape_", None) is None else "mean"
        if self.says_texts:
            texts = self._spoken(z)
            said = texts.greedy(max_length) if kind == "mean" else texts.sample(generator, max_length)
            return self._strings(said)
        rows = self.module_.decoder.generate(z)
        return self._as_given((rows.mean if kind == "mean" else rows.sample(generator)).cpu().numpy())

    # ------------------------------------------------------------------------------------------------- bounds

    @in_float32()
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the evidence lower bound of each row in nats: exact gates, KL weight 1, float32, (n,)."""
        data = self._rows(X)
        self._check_bound()
        return score(self.module_, data, self._encoding())

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean(dtype=np.float64))

    @in_float32()
    @within_memory("give fewer n_draws")
    def log_likelihood(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """Return the importance-weighted bound on log p(x) of each row, tighter with more draws, (n,)."""
        whole_number("n_draws", n_draws)
        data = self._rows(X)
        self._check_bound()
        return score(self.module_, data, self._encoding(), importance_draws=n_draws)

    # ------------------------------------------------------------------------------------------------- helpers

    def _fitted_module(self) -> LatentModel:
        check_is_fitted(self)
        return self.module_

    @property
    def _has_bound(self) -> bool:
        return not isinstance(self._fitted_module().decoder, NoDecoder)

    def _check_bound(self) -> None:
        """Refuse to speak of the bound on rows of a model that says nothing of them."""
        if not self._has_bound:
            raise InvalidParameterError(
                "variant='dis' models labels given rows and has no bound on rows; fit variant='gen' or variant='con'."
            )

    @property
    def likelihood_(self) -> str:
        """The name of the likelihood that was fitted; for ``likelihood="auto"``, the one that was chosen."""
        check_is_fitted(self)
        cls = type(self.module_.decoder.head)
        return LIKELIHOODS.name_of(cls) or STRUCTURES.name_of(cls) or cls.__name__

    @property
    def refine_steps_(self) -> int:
        """How many refinement steps a row takes: ``refine_steps``, or what a model without an encoder needs."""
        check_is_fitted(self)
        asked = whole_number("refine_steps", self.refine_steps, least=0)
        if asked and not self._has_bound:
            raise InvalidParameterError(
                f"refine_steps is {asked}, and this model has no bound on rows to refine codes by; give refine_steps=0."
            )
        return asked or self.module_.inference.steps_a_row

    @property
    def says_texts(self) -> bool:
        """Whether the fitted model says texts word by word, and not rows of numbers."""
        check_is_fitted(self)
        return isinstance(self.module_.decoder, SequenceDecoder)

    def _spoken(self, z: torch.Tensor) -> SpokenTexts:
        texts = self.module_.decoder.generate(z)
        assert isinstance(texts, SpokenTexts)
        return texts

    def _strings(self, ids: torch.Tensor) -> np.ndarray:
        return np.array([self.vocabulary_.text(row) for row in ids.tolist()], dtype=object)

    def _tensor(self, codes: Any) -> torch.Tensor:
        rows = codes.toarray() if sp.issparse(codes) else codes
        return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)).to(self._device)

    @property
    def _sparse_output(self) -> bool:
        return truth("sparse_output", getattr(self, "sparse_output", False))

    def _gives_sparse(self) -> bool:
        """Say whether a fit with these arguments has sparse codes."""
        return self._sparse_output

    def _check_container(self, *, sparse: bool) -> None:
        """Refuse sparse codes where scikit-learn is told to return frames."""
        container = _get_output_config("transform", self)["dense"]
        if sparse and container != "default":
            raise InvalidParameterError(  # ends in the words that scikit-learn's checks look for
                f"sparse_output is True and transform is set to return {container} frames; give sparse_output=False or "
                f"set_output(transform='default'), as {container.capitalize()} output does not support sparse data."
            )

    @property
    def _device(self) -> torch.device:
        return next(self.module_.parameters()).device

    def _rows(self, X: Any) -> Dataset:
        check_is_fitted(self)
        return self._supported(dataset_of(self, X, fitting=False))

    def _supported(self, data: Dataset) -> Dataset:
        """Return rows on the model's device; what the likelihood cannot score is refused."""
        try:
            self._check_support(self.module_, data.spec)
        except InvalidInputError as error:
            raise InvalidInputError(said_of_new_rows(str(error))) from error
        return data.to(self._device)

    def _check_rows_to_come(self, X: Any, train: Any, name: str) -> None:
        """Refuse rows, called ``name``, that the model could not score once fitted on ``train``; learn nothing."""
        self._check_parameters()
        twin = copy.copy(self)
        data = dataset_of(twin, train, fitting=True)
        twin._resolve(data)
        later = dataset_of(twin, X, fitting=False, name=name)
        try:
            twin._check_support(twin._built(data.spec, 0, twin._n_steps(1, data.spec)), later.spec)
        except InvalidInputError as error:
            raise InvalidInputError(str(error).replace("The data", f"The data of {name}", 1)) from error

    def _encoded(self, data: Dataset) -> Any:
        return encode_values(self.module_, data, self._encoding(), sparse=self._sparse_output)

    def _encoding(self) -> Encoding:
        ceiling = getattr(self, "max_active", None)
        return Encoding(
            max_active=None if ceiling is None else whole_number("max_active", ceiling),
            refine_steps=self.refine_steps_,
            seed=self.seed_,
        )

    def _fitted_state(self) -> dict[str, Any]:
        """Return what else training learned, besides weights, as JSON values."""
        return {}

    def _restore_state(self, state: dict[str, Any]) -> None:
        """Take back what `_fitted_state` gave."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._numbers_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {kind: value + self._numbers_html() if kind == "text/html" else value for kind, value in bundle.items()}

    def _numbers_html(self) -> str:
        """Return the numbers of the fit for a notebook; nothing before it."""
        if not hasattr(self, "module_"):
            return ""
        from fewhot.estimators.page import page

        return page(self)

    def __getstate__(self) -> dict[str, Any]:
        state = copy.copy(super().__getstate__())
        assert isinstance(state, dict)
        if "module_" in state:  # what others pickle can be read on a machine without this device
            state["module_"] = copy.deepcopy(state["module_"]).cpu()
        if "_training_state" in state:
            tensors, meta = state["_training_state"]
            state["_training_state"] = ({name: value.cpu() for name, value in tensors.items()}, meta)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
