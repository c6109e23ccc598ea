"""The SDLGMClassifier estimator."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from torch import nn

from fewhot.core.checks import one_of, truth
from fewhot.core.errors import InvalidParameterError
from fewhot.core.registry import ESTIMATORS
from fewhot.core.warning import warn_caller
from fewhot.data import Dataset, LabelledDataset
from fewhot.estimators.documentation import documented
from fewhot.estimators.labels import indicator_matrix
from fewhot.estimators.sdlgm_supervised import MOST_PROBABILITIES, SupervisedSDLGM
from fewhot.estimators.thresholds import (
    MultiLabelMixin,
    check_threshold,
    cross_validated_threshold,
    expected_threshold,
)
from fewhot.estimators.validation import dataset_of, rows_at
from fewhot.likelihoods.base import Likelihood
from fewhot.metrics.code_kinds import encoded_rows
from fewhot.models import AgainstCollapse

_ENOUGH_ROWS = 100
"""From so many held-out rows on, a threshold is chosen by these alone."""


@ESTIMATORS.register("SDLGMClassifier")
@documented
class SDLGMClassifier(MultiLabelMixin, SupervisedSDLGM):
    r"""Multi-label classifier: the labels of a row as a sparse code of counts.

    .. math:: P(y_k = 1\,|\,x) = 1 - \prod_{\ell=1}^{L_0} (1 - \lambda_\ell(x)\,\pi_{\ell k}(x))

    Each of :math:`L_0` slots is on with probability :math:`\lambda` and then chooses a label by :math:`\pi`, so few
    labels of many are there, and their number follows the row. Slots share one law, unless they are ``"independent"``.
    Cost and memory grow with the numbers of labels, of slots and of laws, not with the square of any.

    Parameters
    ----------
    n_components : int, default=32
        With ``variant="con"``, units beside those of the labels.
    variant : {"dis", "gen", "con"}, default="dis"
        Labels given rows ("dis"); rows given labels, too ("gen"); rows given labels and further units ("con").
    label_loss : {"presence", "count", "sample"}, default="presence"
        What is made likely: that each label is there, in closed form; the labels as counts; or that each is in a soft
        draw. Of n labels that are sure, "count" gives each a probability of no more than .63 to .75.
    n_slots : int, default=None
        The number :math:`L_0` of slots; None takes four times the largest number of labels of a training row, and that
        number itself for "count", which cannot have fewer, and "sample".
    slots : {"shared", "independent"}, default="shared"
        Whether all slots of a row share one law, or each has its own, for "presence" and "sample". As many independent
        slots as there are labels begin with one each: labels by themselves, which learn what goes together.
    threshold : float, "auto" or "cv", default="auto"
        The probability from which a label is predicted. "auto" takes the one with the best F1 score that the model's
        own probabilities of held-out rows, or of all rows where those are few, let one expect; "cv" chooses it by
        cross-validation on the training rows.
    threshold_average : {"micro", "macro"}, default="micro"
        Which F1 score is meant: of all labels together, or the mean of each label's, for which "auto" takes a threshold
        for every label.
    n_folds : int, default=5
        Folds of that cross-validation.
    drop_unlabelled : bool, default=False
        Whether `fit` leaves rows of X without any label out, as published, and says so; rows of X_val stay as given.
    label_weight : float, default=1.0
        Weight of the labels beside the bound on rows, for "gen" and "con".
    label_smoothing : float, default=0.0
        The probability with which a label is taken for its opposite in training, for "presence": a guard against
        labels that are wrong or few.
    kl_weight : float, default=1.0
        Weight of the divergence in training, for "gen" and "con".
    features : {"auto", "as-is"}, default="auto"
        What the network reads of a row: standardised columns, or logs of counts; or the columns as they are, for rows
        that were brought to one scale before, such as by scikit-learn's QuantileTransformer.
    dropout : float, default=0.0
        Share of a row's features that are left out in training, anew in every step.
    hidden_dropout : float, default=0.5
        The same for the last hidden layer.
    weight_decay : float, default=0.0
        Decoupled weight decay, for data with few rows.
    {shared}

    Attributes
    ----------
    {learned}
    classes_ : ndarray of shape (n_labels,)
        The labels: names of columns where a frame was given, else their numbers.
    threshold_ : float or ndarray of shape (n_labels,)
        The probability from which a label is predicted.
    n_slots_ : int
        The number of slots.
    label_references_ : LabelReferences or None
        Simple models of the training rows' labels, beside which `fewhot.metrics.summarise` judges this one; None after
        `partial_fit`.

    References
    ----------
    Xu, Onoro Rubio, Serra and Niepert, Learning Sparsity of Representations with Discrete Latent Variables.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> Y = (X[:, :3] > 0.5).astype(int)
    >>> fh.SDLGMClassifier(max_steps=50, random_state=0).fit(X, Y).predict(X).shape
    (100, 3)
    """

    _target = "labels"

    n_labels_: int
    classes_: np.ndarray
    threshold_: float | np.ndarray

    def __init__(
        self,
        n_components: int = 32,
        *,
        variant: str = "dis",
        label_loss: str = "presence",
        n_slots: int | None = None,
        slots: str = "shared",
        threshold: float | str = "auto",
        threshold_average: str = "micro",
        n_folds: int = 5,
        drop_unlabelled: bool = False,
        label_weight: float = 1.0,
        label_smoothing: float = 0.0,
        kl_weight: float = 1.0,
        features: str = "auto",
        dropout: float = 0.0,
        hidden_dropout: float = 0.5,
        weight_decay: float = 0.0,
        hidden_layer_sizes: Sequence[int] | None = None,
        likelihood: str | Likelihood = "auto",
        observation: str = "auto",
        encoder: str | nn.Module = "auto",
        against_collapse: AgainstCollapse | None = None,
        max_steps: int | None = None,
        max_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = 10,
        warm_start: bool = False,
        refine_steps: int = 0,
        recipe: str | None = None,
        device: str = "auto",
        precision: str = "auto",
        compile: str | bool = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.variant = variant
        self.label_loss = label_loss
        self.n_slots = n_slots
        self.slots = slots
        self.threshold = threshold
        self.threshold_average = threshold_average
        self.n_folds = n_folds
        self.drop_unlabelled = drop_unlabelled
        self.label_weight = label_weight
        self.label_smoothing = label_smoothing
        self.kl_weight = kl_weight
        self.features = features
        self.dropout = dropout
        self.hidden_dropout = hidden_dropout
        self.weight_decay = weight_decay
        self.hidden_layer_sizes = hidden_layer_sizes
        self.likelihood = likelihood
        self.observation = observation
        self.encoder = encoder
        self.against_collapse = against_collapse
        self.max_steps = max_steps
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.refine_steps = refine_steps
        self.recipe = recipe
        self.device = device
        self.precision = precision
        self.compile = compile
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit the model, and choose the threshold.

        Parameters
        ----------
        X
            Rows, (n, p).
        y
            Their labels, (n, K), 0 or 1: an array, a sparse matrix, a frame or a tensor.
        X_val, y_val
            Held-out rows and labels for early stopping; None holds out ``validation_fraction`` of X when
            ``n_iter_no_change`` is set.
        """
        self._check_parameters()
        if self.drop_unlabelled:
            X, y = self._labelled_rows(X, y)
        return super().fit(X, y, X_val, y_val)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go through X once more, beginning a model at the first call.

        A threshold that is "auto" is that of the rows of the last call; "cv" is refused.
        """
        self._check_parameters()
        if self.threshold == "cv":
            raise InvalidParameterError(
                "threshold='cv' fits on folds of all rows, and partial_fit sees a part; give a number or 'auto'."
            )
        if self.drop_unlabelled:
            X, y = self._labelled_rows(X, y)
        super().partial_fit(X, y)
        if self.threshold == "auto":
            self._expect([self._rows(X)])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each label, in the order of ``classes_``, (n, K).

        It is as the encoder gives it: ``refine_steps`` is for codes.
        """
        return self._of_labels(X, "probs")

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the logit of each label's probability, (n, K), as the encoder says it."""
        return self._of_labels(X, "logits")

    def _begin(self, X: Any, data: Dataset, seed: int) -> None:
        assert isinstance(data, LabelledDataset)
        if self.threshold == "cv":
            self.threshold_ = self._cross_validated(X, data, seed)
        elif self.threshold != "auto":
            self.threshold_ = float(self.threshold)

    def _finish(self, rows: Sequence[Dataset]) -> None:
        super()._finish(rows)
        if self.threshold == "auto":
            self._expect(rows if rows[-1].n_rows < _ENOUGH_ROWS else rows[-1:])

    def _expect(self, parts: Sequence[Dataset]) -> None:
        """Keep the threshold with the best F1 score to be expected on such rows."""
        most = max(1, MOST_PROBABILITIES // self.n_labels_ // len(parts))
        found: list[np.ndarray] = []
        for rows in parts:
            some = np.linspace(0, rows.n_rows - 1, min(most, rows.n_rows)).astype(np.int64)
            found.append(self._of_encoded(encoded_rows(self, rows.subset(some)), "probs"))
        self.threshold_ = expected_threshold(np.concatenate(found), self.threshold_average)

    def _labels(self, y: Any, n_rows: int, name: str = "y") -> np.ndarray:
        return indicator_matrix(y, n_rows, name)

    def _labelled_rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return the rows that have labels, and say how many have none."""
        n_rows = dataset_of(copy.copy(self), X, fitting=True).n_rows  # refuses what is no matrix of rows
        labels = indicator_matrix(y, n_rows)
        kept = np.flatnonzero(labels.any(axis=1))
        if not len(kept):
            raise InvalidParameterError("No row of y has a label, and drop_unlabelled=True leaves such rows out.")
        if len(kept) < n_rows:
            warn_caller(f"{n_rows - len(kept)} of {n_rows} rows have no label and are left out.", UserWarning)
        return rows_at(X, kept), rows_at(y if hasattr(y, "columns") else labels, kept)

    def _cross_validated(self, X: Any, labelled: LabelledDataset, seed: int) -> float:
        """Return the threshold with the best F1 score on rows that a fit has not seen."""
        labels = labelled.labels.numpy()
        alone = {"threshold": 0.5, "drop_unlabelled": False, "callbacks": None, "random_state": seed, "verbose": 0}
        arguments = self.get_params(deep=False) | alone
        return cross_validated_threshold(
            lambda: type(self)(**arguments), X, labels, self.n_folds, self.threshold_average, seed
        )

    def _fitted_state(self) -> dict[str, Any]:
        return {**super()._fitted_state(), "threshold": np.asarray(self.threshold_).tolist()}

    def _restore_state(self, state: dict[str, Any]) -> None:
        super()._restore_state(state)
        threshold = state["threshold"]
        self.threshold_ = np.asarray(threshold) if isinstance(threshold, list) else float(threshold)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if one_of("slots", self.slots, ("shared", "independent")) == "independent" and self.label_loss == "count":
            raise InvalidParameterError(
                "label_loss='count' is the law of counts from slots that share theirs, and slots='independent' do not; "
                "give label_loss='presence'."
            )
        check_threshold(self.threshold, self.threshold_average, self.n_folds, ("auto", "cv"))
        truth("drop_unlabelled", self.drop_unlabelled)
