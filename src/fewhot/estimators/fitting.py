"""Fitting a model: rows and arguments in, a trained module out, and nothing changed where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from fewhot.core.devices import few_threads, in_float32, resolve_device, resolve_precision
from fewhot.core.errors import InvalidParameterError
from fewhot.core.memory import within_memory
from fewhot.core.records import DataSpec
from fewhot.core.seeding import PrivateDraws, derive_seed
from fewhot.core.warning import warn_caller
from fewhot.data import Dataset
from fewhot.estimators.arguments import Arguments
from fewhot.estimators.below import warn_if_below_references
from fewhot.estimators.duration import announce_slow_fit
from fewhot.estimators.fingerprint import fingerprint
from fewhot.estimators.kept_words import words_of
from fewhot.estimators.references import references_of
from fewhot.estimators.undoing import undone_on_failure
from fewhot.estimators.unused import warn_if_unused
from fewhot.estimators.validation import dataset_of
from fewhot.metrics import TopWords
from fewhot.metrics.references import References
from fewhot.models.against_collapse import unless_told
from fewhot.models.latent_model import LatentModel
from fewhot.training import Callback, RunFolder, Settings, Trainer
from fewhot.training.run_folder import State
from fewhot.training.settings import CLIP_FACTOR, UNCLIPPED

_LEAST_HELD_OUT = 2
_ENOUGH_HELD_OUT = 30  # fewer rows say too little of how many units are on
_NAMED_COLUMNS = 5  # in a warning


class Fitting(Arguments):
    """Fit a latent variable model. Subclasses say which model, in `_build`."""

    # What training learns.
    module_: LatentModel
    history_: list[dict[str, Any]]
    n_iter_: int
    seed_: int
    data_spec_: DataSpec
    n_features_in_: int
    references_: References | None
    _kept_words: TopWords | None
    image_shape_: tuple[int, ...] | None
    _levels: int

    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    def fit(self, X: Any, y: Any = None, X_val: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X
            Rows: a dense or sparse array, a frame, a torch tensor, an AnnData or a memory-mapped array, (n, p); or
            texts, a list of strings.
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
        """Go through X once more, beginning a model at the first call; schedules run over ``max_steps`` in all.

        A model that was saved and loaded goes on with its weights, and Adam's moments begin anew.
        """
        return self._fit_rows((X, y), (None, None), further=True, one_pass=True)

    @in_float32()
    @within_memory("give fewer n_components, smaller hidden_layer_sizes or a smaller batch_size")
    def _fit_rows(
        self, rows: tuple[Any, Any], held_out: tuple[Any, Any], *, further: bool, one_pass: bool = False
    ) -> Self:
        """Fit a new model to X and y, or ``further`` the one there is; a fit that fails leaves everything as it was."""
        self._check_parameters()
        goes_on = bool(further) and self._may_go_on()
        with undone_on_failure(self, self.module_ if goes_on else None):
            data = self._training_rows(*rows, goes_on=goes_on)
            if not goes_on:
                self._resolve(data)
            told = None if held_out[0] is None else self._held_out_rows(*held_out)
            run, callbacks = self._callbacks()
            seed = self.seed_ if goes_on else self._seed_for(run)
            self._begin(rows[0], data, seed)
            self._train(data, told, run, callbacks, seed, goes_on=goes_on, one_pass=one_pass)
        if run is not None:
            self.save(run.path)
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to a folder: safetensors and JSON, never pickle."""
        from fewhot.estimators.storage import save

        check_is_fitted(self)
        save(self, path)

    def _training_rows(self, X: Any, y: Any, *, goes_on: bool) -> Dataset:
        """Return the rows to fit; labels are ignored here."""
        return dataset_of(self, X, fitting=not goes_on)

    def _resolve(self, data: Dataset) -> None:
        """Decide, by the rows of a new fit, of what the arguments leave open."""

    def _held_out_rows(self, X_val: Any, y_val: Any) -> Dataset:
        """Return rows to judge by."""
        return dataset_of(self, X_val, fitting=False, name="X_val")

    def _begin(self, X: Any, data: Dataset, seed: int) -> None:
        """Do what is to be done before training, on the rows as given and as read, by the seed of the fit."""

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

    def _train(
        self,
        data: Dataset,
        held_out: Dataset | None,
        run: RunFolder | None,
        callbacks: list[Callback],
        seed: int,
        *,
        goes_on: bool,
        one_pass: bool,
    ) -> None:
        """Train, and keep what was learned."""
        device = resolve_device(self.device)
        train, given = data, (data, held_out)
        if held_out is None and not one_pass:
            train, held_out = self._split(data, seed)
        batch_size = min(self._chosen("batch_size"), train.n_rows)
        epoch = -(-train.n_rows // batch_size)
        n_steps = self._n_steps(epoch, train.spec, streamed=one_pass)
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
            learning_rate=self._rate_of_steps(train.spec),
            clip_factor=CLIP_FACTOR if self._recipe.clips else UNCLIPPED,
            evaluate_every=max(min(epoch, n_steps), n_steps // 100, 1),
            patience=None if one_pass or held_out is None else self.n_iter_no_change,
            settled_at=max(before, module.settled_at),
            precision=resolve_precision(self.precision, device),
            compile=self.compile,
            seed=seed,
        )
        module.to(device)
        announce_slow_fit(module, train, settings, settings.max_steps - before)
        trainer = Trainer(
            module,
            settings,
            run=run,
            callbacks=callbacks,
            show_progress=bool(self.verbose),
            state=getattr(self, "_training_state", None) if goes_on else None,
            start=before,
            records=self.history_ if goes_on else (),
        )
        print_of = None if run is None else fingerprint(self, given, (train, held_out), seed=seed, start=before)
        with few_threads(module.products_per_row * batch_size, device):
            self.history_ = trainer.fit(train.to(device), None if held_out is None else held_out.to(device), print_of)
        self.module_ = module
        self.seed_ = seed
        self.n_iter_ = trainer.done
        self.data_spec_ = data.spec
        self._training_state: State = trainer.state_to_go_on()
        self._n_features_out = module.latent.n_latent
        self._built_with = self._structure()
        if not one_pass:
            told = [data] if held_out is None or held_out.n_rows < _ENOUGH_HELD_OUT else [train, held_out]
            self._finish([rows.to(device) for rows in told])
            warn_if_unused(self, told[-1].to(device))
        self._keep_references(None if one_pass else train.to(device), None if one_pass else held_out)
        warn_if_below_references(self, None if one_pass or held_out is None else held_out.to(device))

    @property
    def _is_judged_by_elbo(self) -> bool:
        """Whether an ELBO says what the fit is worth."""
        return True

    def _finish(self, rows: Sequence[Dataset]) -> None:
        """Do what is left to do after training, looking at training and held-out rows, or at all when these are few."""

    def _keep_references(self, train: Dataset | None, held_out: Dataset | None) -> None:
        """Keep simple models of the training rows, and words of units in them; None forgets those there were."""
        ceiling = getattr(self, "max_active", None)
        self.references_ = None if train is None else references_of(self.module_, train, self.seed_, ceiling)
        self._kept_words = None if train is None else words_of(self.module_, train, self.seed_, ceiling)

    def _new_module(self, train: Dataset, seed: int, n_steps: int) -> LatentModel:
        module = self._built(train.spec, seed, n_steps)
        moments = train.moments(module.observation)
        self._name_nearly_constant(moments.nearly_constant, train.spec.n_columns)
        module.fit_features(moments)
        return module

    def _name_nearly_constant(self, columns: Sequence[int], n_columns: int) -> None:
        """Warn of columns that vary by no more than rounding errors and are modeled as constants."""
        if not columns:
            return
        names = getattr(self, "feature_names_in_", np.arange(n_columns))
        listed = ", ".join(str(names[column]) for column in columns[:_NAMED_COLUMNS])
        more = f" and {len(columns) - _NAMED_COLUMNS} more" if len(columns) > _NAMED_COLUMNS else ""
        warn_caller(
            f"Nearly constant beside the others, and modeled as constants: {len(columns)} of {n_columns} columns "
            f"({listed}{more}); rescale them if their small differences matter, or leave them out.",
            UserWarning,
        )

    def _built(self, spec: DataSpec, seed: int, n_steps: int) -> LatentModel:
        with torch.device("cpu"), PrivateDraws(seed, "initialisation"):
            module = self._build(spec, n_steps)
        if self.against_collapse is not None:
            self.against_collapse.change(module, n_steps)
        elif self.recipe is None:
            unless_told(module).change(module, n_steps)
        return module

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        """Return a fresh model for such data; ``n_steps`` is the length of its schedules."""
        raise TypeError(f"{type(self).__name__} does not say its model; define _build(spec, n_steps).")

    def held_out_rows(self, n_rows: int) -> np.ndarray:
        """Return which of the ``n_rows`` of the fit were held out of it for early stopping, in their order.

        Of a fit that was given X_val, these are the rows that it would have held out without.
        """
        check_is_fitted(self)
        return self._held_out(n_rows, self.seed_)

    def _held_out(self, n_rows: int, seed: int) -> np.ndarray:
        n_held = int(n_rows * self.validation_fraction)
        if self.n_iter_no_change is None or n_held < _LEAST_HELD_OUT:
            return np.arange(0)
        return np.sort(np.random.default_rng(derive_seed(seed, "validation")).permutation(n_rows)[:n_held])

    def _split(self, data: Dataset, seed: int) -> tuple[Dataset, Dataset | None]:
        held_out = self._held_out(data.n_rows, seed)
        if not len(held_out):
            return data, None
        return data.subset(np.setdiff1d(np.arange(data.n_rows), held_out)), data.subset(held_out)

    def _check_support(self, module: LatentModel, spec: DataSpec) -> None:
        module.observation.check(spec)
        seen = module.observation.spec(spec)
        module.decoder.check(seen)
        module.encoder.check(seen)
