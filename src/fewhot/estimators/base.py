"""The estimator all models share: parameters in, a fitted module out, every verb of scikit-learn and ours."""

from __future__ import annotations

import copy
from collections.abc import Sized
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fewhot.codes import Codes, encode, encode_values, score
from fewhot.codes.encoding import BATCH, Encoding
from fewhot.core.checks import one_of, real_number, truth, whole_number
from fewhot.core.devices import PRECISIONS, matrix_precision, resolve_device, resolve_precision
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import LIKELIHOODS
from fewhot.core.seeding import PrivateDraws, derive_seed, resolve_seed, stream
from fewhot.data import Dataset
from fewhot.estimators.fingerprint import fingerprint
from fewhot.estimators.recipes import Recipe
from fewhot.estimators.undoing import undone_on_failure
from fewhot.estimators.validation import codes_of, dataset_of
from fewhot.likelihoods.base import Likelihood
from fewhot.likelihoods.supports import said_of_new_rows
from fewhot.models.latent_model import LatentModel
from fewhot.nn.conv import CHANNELS
from fewhot.training import Callback, RunFolder, Settings, Trainer
from fewhot.training.callbacks import as_callback
from fewhot.training.capture import CHOICES
from fewhot.training.run_folder import State

_LEAST_HELD_OUT = 2
_ENOUGH_HELD_OUT = 100  # fewer rows say too little of how many units are on
_TRAINING_ARGUMENTS = frozenset(
    [
        "max_steps",
        "max_epochs",
        "batch_size",
        "learning_rate",
        "validation_fraction",
        "n_iter_no_change",
        "warm_start",
        "refine_steps",
        "device",
        "precision",
        "compile",
        "random_state",
        "verbose",
        "callbacks",
        "sparse_output",
        "max_active",
    ]
)
"""Arguments that may change while a model is trained further; all others say what the model is."""


class LatentEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Fit a latent variable model and use its codes. Subclasses say which model, in `_build`."""

    recipes: ClassVar[dict[str | None, Recipe]] = {None: Recipe()}
    labelled: ClassVar[bool] = False
    """Whether `fit` needs labels beside the rows."""

    # Parameters that every subclass declares in its constructor.
    n_components: int
    hidden_layer_sizes: Any
    likelihood: Any
    observation: str
    encoder: Any
    max_steps: int | None
    max_epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    validation_fraction: float
    n_iter_no_change: int | None
    warm_start: bool
    refine_steps: int
    recipe: str | None
    device: Any
    precision: str
    compile: Any
    random_state: Any
    verbose: int
    callbacks: Any

    # What training learns.
    module_: LatentModel
    history_: list[dict[str, Any]]
    n_iter_: int
    seed_: int
    data_spec_: DataSpec
    n_features_in_: int

    # ------------------------------------------------------------------------------------------------ fitting

    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    def fit(self, X: Any, y: Any = None, X_val: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X
            Rows: a dense or sparse array, a frame, a torch tensor, an AnnData or a memory-mapped array, (n, p).
        y
            Ignored.
        X_val
            Held-out rows for early stopping and reported bounds; None holds out ``validation_fraction`` of X when
            ``n_iter_no_change`` is set.
        """
        return self._fit_rows((X, y), (X_val, None), further=self.warm_start)

    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go through X once more, beginning a model at the first call; schedules run over ``max_steps`` in all."""
        return self._fit_rows((X, y), (None, None), further=True, one_pass=True)

    def _fit_rows(
        self, rows: tuple[Any, Any], held_out: tuple[Any, Any], *, further: bool, one_pass: bool = False
    ) -> Self:
        """Fit a new model to X and y, or ``further`` the one there is; a fit that fails leaves everything as it was."""
        self._check_parameters()
        goes_on = bool(further) and self._may_go_on()
        with undone_on_failure(self, self.module_ if goes_on else None):
            data = self._training_rows(*rows, goes_on=goes_on)
            told = None if held_out[0] is None else self._held_out_rows(*held_out)
            run = self._train(data, told, goes_on=goes_on, one_pass=one_pass)
        if run is not None:
            self.save(run.path)
        return self

    def _training_rows(self, X: Any, y: Any, *, goes_on: bool) -> Dataset:
        """Return the rows to fit; labels are ignored here."""
        return dataset_of(self, X, fitting=not goes_on)

    def _held_out_rows(self, X_val: Any, y_val: Any) -> Dataset:
        """Return rows to judge by."""
        return dataset_of(self, X_val, fitting=False, name="X_val")

    def _may_go_on(self) -> bool:
        """Say whether there is a fitted model; refuse to train it further under arguments it was not built with."""
        if not hasattr(self, "module_"):
            return False
        now = self._structure()
        changed = [name for name, value in getattr(self, "_built_with", now).items() if now.get(name) != value]
        if changed:
            raise InvalidParameterError(
                f"{', '.join(changed)} changed since the model was built, and training would go on with it as it "
                f"is; set warm_start=False and call fit to begin anew."
            )
        return True

    def _structure(self) -> dict[str, str]:
        return {name: repr(v) for name, v in self.get_params(deep=False).items() if name not in _TRAINING_ARGUMENTS}

    def _train(self, data: Dataset, held_out: Dataset | None, *, goes_on: bool, one_pass: bool) -> RunFolder | None:
        """Train, keep what was learned, and return where the run is to be saved."""
        device = resolve_device(self.device)
        run, callbacks = self._callbacks()
        seed = self.seed_ if goes_on else self._seed_for(run)
        train = data
        if held_out is None and not one_pass:
            train, held_out = self._split(data, seed)
        batch_size = min(self._chosen("batch_size"), train.n_rows)
        epoch = -(-train.n_rows // batch_size)
        n_steps = self._n_steps(epoch)
        module = self.module_ if goes_on else self._new_module(train, seed, n_steps)
        for rows in (train, held_out):
            if rows is not None:
                self._check_support(module, rows.spec)
        if run is not None:
            module.to_config()  # refuses now what could not be saved at the end
        before = self.n_iter_ if goes_on else 0
        settings = Settings(
            max_steps=before + (epoch if one_pass else n_steps),
            batch_size=batch_size,
            learning_rate=self._chosen("learning_rate"),
            evaluate_every=max(min(epoch, n_steps), n_steps // 100, 1),
            patience=None if one_pass or held_out is None else self.n_iter_no_change,
            settled_at=max(before, module.settled_at),
            precision=resolve_precision(self.precision, device),
            compile=self.compile,
            seed=seed,
        )
        trainer = Trainer(
            module.to(device),
            settings,
            run=run,
            callbacks=callbacks,
            show_progress=bool(self.verbose),
            state=getattr(self, "_training_state", None) if goes_on else None,
            start=before,
            records=self.history_ if goes_on else (),
        )
        print_of = None if run is None else fingerprint(self, train, held_out, seed=seed, start=before)
        self.history_ = trainer.fit(train.to(device), None if held_out is None else held_out.to(device), print_of)
        self.module_ = module
        self.seed_ = seed
        self.n_iter_ = trainer.done
        self.data_spec_ = data.spec
        self._training_state: State = trainer.state_to_go_on()
        self._n_features_out = module.latent.n_latent
        self._built_with = self._structure()
        if not one_pass:
            told = data if held_out is None or held_out.n_rows < _ENOUGH_HELD_OUT else held_out
            self._finish(told.to(device))
        return run

    def _fitted_state(self) -> dict[str, Any]:
        """Return what else training learned, besides weights, as JSON values."""
        return {}

    def _restore_state(self, state: dict[str, Any]) -> None:
        """Take back what `_fitted_state` gave."""

    def _finish(self, rows: Dataset) -> None:
        """Do what is left to do after training, looking at held-out rows, or at all rows when they are too few."""

    def _new_module(self, train: Dataset, seed: int, n_steps: int) -> LatentModel:
        module = self._built(train.spec, seed, n_steps)
        module.fit_features(train.moments(module.observation))
        return module

    def _built(self, spec: DataSpec, seed: int, n_steps: int) -> LatentModel:
        with torch.device("cpu"), PrivateDraws(seed, "initialisation"):
            return self._build(spec, n_steps)

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        """Return a fresh model for such data; ``n_steps`` is the length of its schedules."""
        raise TypeError(f"{type(self).__name__} does not say its model; define _build(spec, n_steps).")

    def _split(self, data: Dataset, seed: int) -> tuple[Dataset, Dataset | None]:
        n_held = int(data.n_rows * self.validation_fraction)
        if self.n_iter_no_change is None or n_held < _LEAST_HELD_OUT:
            return data, None
        rows = np.random.default_rng(derive_seed(seed, "validation")).permutation(data.n_rows)
        return data.subset(np.sort(rows[n_held:])), data.subset(np.sort(rows[:n_held]))

    def _n_steps(self, epoch: int) -> int:
        if self.max_epochs is None:
            return self._chosen("max_steps")
        steps = self.max_epochs * epoch
        return steps if self.max_steps is None else min(steps, self.max_steps)

    def _callbacks(self) -> tuple[RunFolder | None, list[Callback]]:
        if not isinstance(self.callbacks, list | tuple | None):
            raise InvalidParameterError(
                f"callbacks is {self.callbacks!r}; it must be a list, such as [RunFolder(path)]."
            )
        given = list(self.callbacks or [])
        runs = [item for item in given if isinstance(item, RunFolder)]
        if len(runs) > 1:
            raise InvalidParameterError("callbacks holds more than one RunFolder; a fit writes to one.")
        return next(iter(runs), None), [as_callback(item) for item in given if not isinstance(item, RunFolder)]

    # ------------------------------------------------------------------------------------------------- codes

    def transform(self, X: Any) -> Any:
        """Return the map code of each row: deterministic, exactly zero off the active set, (n, n_components)."""
        return self._encoded(self._rows(X))

    def codes(self, X: Any) -> Codes:
        """Return codes with their variance, activity probabilities, bounds and, when refined, gaps."""
        data = self._rows(X)
        return encode(self.module_, data, self._encoding(), sparse=self._sparse_output)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Return the decoder's mean of codes, dense (n, n_features); for rows as the model observes them."""
        check_is_fitted(self)
        Z = codes_of(Z, self.module_.latent.n_latent)
        parts = []
        with torch.no_grad(), matrix_precision("float32", self._device):
            for start in range(0, Z.shape[0], BATCH):
                rows = Z[start : start + BATCH]
                rows = rows.toarray() if sp.issparse(rows) else rows
                z = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)).to(self._device)
                parts.append(self.module_.decoder.generate(z).mean.cpu().numpy())
        return np.concatenate(parts)

    def sample(self, n_samples: int = 1, random_state: Any = None, kind: str = "draw") -> np.ndarray:
        """Draw rows from the model: a code from the prior, then a row given the code.

        ``kind="mean"`` returns the expected row of each code instead of a draw, which makes better pictures.
        """
        check_is_fitted(self)
        n = whole_number("n_samples", n_samples)
        generator = stream(resolve_seed(random_state), "sample", device=self._device)
        with torch.no_grad():
            z = self.module_.prior.sample(n, self.module_.posterior_of, generator)
            return self._generate(z, generator, kind)

    def sample_like(self, X: Any, random_state: Any = None, kind: str = "draw") -> np.ndarray:
        """Draw one row for each row of X, keeping its active units and drawing their values from the prior."""
        data = self._rows(X)
        generator = stream(resolve_seed(random_state), "sample", device=self._device)
        codes = encode_values(self.module_, data, self._encoding(), sparse=False)
        active = torch.from_numpy(np.asarray(codes) != 0).to(self._device)
        with torch.no_grad():
            z = self.module_.prior.sample_given(active, self.module_.posterior_of, generator)
            return self._generate(z, generator, kind)

    def _generate(self, z: torch.Tensor, generator: torch.Generator, kind: str) -> np.ndarray:
        one_of("kind", kind, ("draw", "mean"))
        rows = self.module_.decoder.generate(z)
        return (rows.mean if kind == "mean" else rows.sample(generator)).cpu().numpy()

    # ------------------------------------------------------------------------------------------------- bounds

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the evidence lower bound of each row in nats: exact gates, KL weight 1, float32, (n,)."""
        data = self._rows(X)
        return score(self.module_, data, self._encoding())

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean(dtype=np.float64))

    def log_likelihood(self, X: Any, n_draws: int = 100) -> np.ndarray:
        """Return the importance-weighted bound on log p(x) of each row, tighter with more draws, (n,)."""
        whole_number("n_draws", n_draws)
        data = self._rows(X)
        return score(self.module_, data, self._encoding(), importance_draws=n_draws)

    # ------------------------------------------------------------------------------------------------- storage

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a folder: safetensors and JSON, never pickle."""
        from fewhot.estimators.storage import save

        check_is_fitted(self)
        save(self, path)

    # ------------------------------------------------------------------------------------------------- helpers

    @property
    def likelihood_(self) -> str:
        """The name of the likelihood that was fitted; for ``likelihood="auto"``, the one that was chosen."""
        check_is_fitted(self)
        cls = type(self.module_.decoder.head)
        return LIKELIHOODS.name_of(cls) or cls.__name__

    @property
    def refine_steps_(self) -> int:
        """How many refinement steps a row takes: ``refine_steps``, or what a model without an encoder needs."""
        check_is_fitted(self)
        asked = whole_number("refine_steps", self.refine_steps, least=0)
        return asked or self.module_.inference.steps_a_row

    @property
    def _sparse_output(self) -> bool:
        return truth("sparse_output", getattr(self, "sparse_output", False))

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
        spec = dataset_of(twin, train, fitting=True).spec
        later = dataset_of(twin, X, fitting=False, name=name)
        try:
            twin._check_support(twin._built(spec, 0, twin._n_steps(1)), later.spec)
        except InvalidInputError as error:
            raise InvalidInputError(str(error).replace("The data", f"The data of {name}", 1)) from error

    def _encoded(self, data: Dataset) -> Any:
        return encode_values(self.module_, data, self._encoding(), sparse=self._sparse_output)

    def _check_support(self, module: LatentModel, spec: DataSpec) -> None:
        module.observation.check(spec)
        module.decoder.head.check(module.observation.spec(spec))

    def _seed_for(self, run: RunFolder | None) -> int:
        """Return the seed of a fresh fit; one without a random_state that resumes takes its folder's."""
        known = run.seed if run is not None and self.random_state is None else None
        return resolve_seed(self.random_state) if known is None else known

    def _encoding(self) -> Encoding:
        ceiling = getattr(self, "max_active", None)
        return Encoding(
            max_active=None if ceiling is None else whole_number("max_active", ceiling),
            refine_steps=self.refine_steps_,
            seed=self.seed_,
        )

    def _chosen(self, name: str) -> Any:
        """Return an argument, or the recipe's value where it was left open."""
        value = getattr(self, name)
        return getattr(self.recipes[self.recipe], name) if value is None or _is_auto(value) else value

    def _chosen_likelihood(self, n_columns: int) -> str | Likelihood:
        recipe = self.recipes[self.recipe]
        if not _is_auto(self.likelihood) or recipe.likelihood == "auto":
            return self.likelihood
        return LIKELIHOODS[recipe.likelihood](n_columns, **dict(recipe.likelihood_options))

    def _chosen_encoder(self) -> Any:
        return self.recipes[self.recipe].encoder if _is_auto(self.encoder) else self.encoder

    def _hidden_layer_sizes(self) -> Any:
        """Return the widths of the layers; convolutions have channels of their own where none are given."""
        convolves = self.hidden_layer_sizes is None and self._chosen_encoder() == "conv"
        return CHANNELS if convolves else self._chosen("hidden_layer_sizes")

    def _model_arguments(self, spec: DataSpec) -> dict[str, Any]:
        return {
            "n_latent": self.n_components,
            "hidden_layer_sizes": tuple(self._hidden_layer_sizes()),
            "encoder": self._chosen_encoder(),
            "likelihood": self._chosen_likelihood(spec.n_columns),
            "observation": self._chosen("observation"),
        }

    def _check_parameters(self) -> None:
        one_of("recipe", self.recipe, list(self.recipes))
        whole_number("n_components", self.n_components)
        for name in ("max_steps", "max_epochs", "batch_size", "n_iter_no_change"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        whole_number("refine_steps", self.refine_steps, least=0)
        if not isinstance(self.verbose, bool | np.bool_):
            whole_number("verbose", self.verbose, least=0)
        for name in ("warm_start", "sparse_output"):
            truth(name, getattr(self, name, False))
        if self.learning_rate is not None:
            real_number("learning_rate", self.learning_rate, low=0, open_low=True)
        real_number("validation_fraction", self.validation_fraction, low=0, high=0.9)
        one_of("precision", self.precision, PRECISIONS)
        one_of("compile", self.compile, CHOICES)
        if isinstance(self.likelihood, str) and not _is_auto(self.likelihood):
            LIKELIHOODS[self.likelihood]
        sizes = self._hidden_layer_sizes()
        if isinstance(sizes, str) or not np.iterable(sizes) or not isinstance(sizes, Sized) or not len(sizes):
            raise InvalidParameterError(
                f"hidden_layer_sizes is {sizes!r}; it must be a sequence of whole numbers, such as (400,)."
            )
        for size in sizes:
            whole_number("each of hidden_layer_sizes", size)

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
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
