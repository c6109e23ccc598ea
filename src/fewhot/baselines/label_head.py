"""Multi-label classifiers to compare with: one network, and a logistic, a softmax or a sparsemax head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from fewhot.baselines.base import Baseline
from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.devices import in_float32, resolve_device
from fewhot.core.errors import DivergedError, FewhotError, InvalidParameterError
from fewhot.core.registry import BASELINES
from fewhot.core.seeding import PrivateDraws, derive_seed, resolve_seed, stream
from fewhot.data import as_matrix
from fewhot.estimators.labels import classes_of, indicator_matrix
from fewhot.estimators.thresholds import MultiLabelMixin, check_threshold, cross_validated_threshold
from fewhot.estimators.undoing import undone_on_failure
from fewhot.estimators.validation import dataset_of
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import column_moments
from fewhot.models.sdlgm_labels import FEATURES
from fewhot.nn import MLP

_ROWS_AT_ONCE = 4096
_LARGEST_STEP = float(np.finfo(np.float32).max)
_ADAMS_FIRST_STEP = 10.01
"""How many times the learning rate Adam's first step is at most, 1 / (1 - 0.9), and a little more."""


@BASELINES.register("LabelHead")
class LabelHead(MultiLabelMixin, Baseline):
    r"""Multi-label classifier: scores s of K labels from a network, under one of three heads.

    .. math::
        \text{logistic:}\quad & p_k = \sigma(s_k), && -\textstyle\sum_k y_k\log p_k + (1-y_k)\log(1-p_k) \\
        \text{softmax:}\quad & p = \mathrm{softmax}(s), && -\textstyle\sum_k t_k \log p_k \\
        \text{sparsemax:}\quad & p = \arg\min_{p \in \Delta} \lVert p - s \rVert^2, &&
            \tfrac12\lVert t - s\rVert^2 - \tfrac12\lVert p - s\rVert^2

    with the loss at the right, where t has equal shares for the labels of a row. Rows without labels teach the last two
    nothing. The network is that of `SDLGMClassifier`, and so are the standardised features.

    Parameters
    ----------
    head : {"logistic", "softmax", "sparsemax"}, default="logistic"
        Which of the three; "sparsemax" needs the package entmax.
    hidden_layer_sizes : sequence of int, default=(100,)
        Widths of the network's hidden layers; () is a linear classifier.
    features : {"auto", "as-is"}, default="auto"
        What the network reads of a row: standardised columns, or columns as they are.
    dropout : float, default=0.0
        Share of a row's features that are left out in training.
    hidden_dropout : float, default=0.0
        The same for the last hidden layer.
    label_smoothing : float, default=0.0
        The probability with which a label is taken for its opposite in training; with "softmax" and "sparsemax", for
        any label.
    weight_decay : float, default=0.0
        Decoupled weight decay.
    max_steps : int, default=2000
        Steps of Adam.
    batch_size : int, default=100
        Rows a step.
    learning_rate : float, default=1e-3
        Adam's rate.
    threshold : float or "cv", default=0.5
        The probability from which a label is predicted; "cv" chooses it by cross-validation on the training
        rows. Shares of several labels are small: give less than 0.5 to "softmax" and "sparsemax", or "cv".
    threshold_average : {"micro", "macro"}, default="micro"
        Whose F1 score "cv" looks at.
    n_folds : int, default=5
        Folds of that cross-validation.
    device : str, default="auto"
        "auto", "cpu" or "cuda".
    random_state : int, numpy generator or None, default=None
        Seed of the network, of the order of rows and of dropout.

    Attributes
    ----------
    weights_ : ndarray
        The weights of the network, one after the other.
    mean_, scale_ : ndarray of shape (n_features,)
        By which features are standardised, 0 and 1 for "as-is"; sparse ones are not centred.
    n_labels_ : int
        Number of labels.
    classes_ : ndarray of shape (n_labels,)
        The labels: names of columns where a frame was given, else their numbers.
    head_, layers_ : str, list of int
        The head and the widths that were fitted.
    threshold_ : float
        The probability from which a label is predicted.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    Martins and Astudillo (2016), From softmax to sparsemax, ICML.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> Y = (X[:, :3] > 0.5).astype(int)
    >>> LabelHead(max_steps=50, random_state=0).fit(X, Y).predict(X).shape
    (100, 3)
    """

    weights_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray
    n_labels_: int
    classes_: np.ndarray
    head_: str
    layers_: list[int]
    n_features_in_: int

    def __init__(
        self,
        head: str = "logistic",
        *,
        hidden_layer_sizes: Sequence[int] = (100,),
        features: str = "auto",
        dropout: float = 0.0,
        hidden_dropout: float = 0.0,
        label_smoothing: float = 0.0,
        weight_decay: float = 0.0,
        max_steps: int = 2000,
        batch_size: int = 100,
        learning_rate: float = 1e-3,
        threshold: float | str = 0.5,
        threshold_average: str = "micro",
        n_folds: int = 5,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.head = head
        self.hidden_layer_sizes = hidden_layer_sizes
        self.features = features
        self.dropout = dropout
        self.hidden_dropout = hidden_dropout
        self.label_smoothing = label_smoothing
        self.weight_decay = weight_decay
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.threshold = threshold
        self.threshold_average = threshold_average
        self.n_folds = n_folds
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the classifier, and choose the threshold.

        Parameters
        ----------
        X
            Rows, (n, p), dense or sparse.
        y
            Their labels, (n, K), 0 or 1.
        """
        self._check_parameters()
        seed = resolve_seed(self.random_state)
        with undone_on_failure(self):
            rows = self._rows(X, fitting=True)
            labels = indicator_matrix(y, rows.shape[0])
            self.threshold_ = self._threshold(X, labels, seed)
            self.n_labels_ = labels.shape[1]
            self.classes_ = classes_of(y, self.n_labels_)
            self.head_, self.layers_ = self.head, [int(size) for size in self.hidden_layer_sizes]
            self._train(rows, labels, seed)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each label, or its share among the labels of a row, (n, K)."""
        check_is_fitted(self)
        return self._through(X, HEADS[self.head_].probabilities)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the labels, (n, K)."""
        return self._through(X, lambda scores: scores)

    def _threshold(self, X: Any, labels: np.ndarray, seed: int) -> float:
        if self.threshold != "cv":
            return float(self.threshold)
        arguments = self.get_params(deep=False) | {"threshold": 0.5, "random_state": seed}
        return cross_validated_threshold(
            lambda: type(self)(**arguments), X, labels, self.n_folds, self.threshold_average, seed
        )

    @in_float32()
    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    def _train(self, rows: Any, labels: np.ndarray, seed: int) -> None:
        self.mean_, self.scale_ = _standard(rows)
        if self.features == "as-is":
            self.mean_, self.scale_ = np.zeros_like(self.mean_), np.ones_like(self.scale_)
        device = resolve_device(self.device)
        with PrivateDraws(seed, "initialisation"):
            network = self._network().to(device)
        body, last = network
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)
        order, noise = np.random.default_rng(derive_seed(seed, "order")), stream(seed, "dropout", device=device)
        loss_of = HEADS[self.head].loss
        for chosen in _batches(order, len(labels), self.batch_size, self.max_steps):
            x = self._features(rows[chosen], device)
            h = _dropped(body(_dropped(x, self.dropout, noise)), self.hidden_dropout, noise)
            loss = loss_of(last(h), torch.from_numpy(labels[chosen]).to(device), self.label_smoothing).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        self.weights_ = parameters_to_vector(network.parameters()).detach().cpu().numpy()
        if not np.isfinite(self.weights_).all():
            raise DivergedError("The weights of LabelHead are no longer finite; lower learning_rate.")

    @in_float32()
    @torch.no_grad()
    def _through(self, X: Any, head: Callable[[Tensor], Tensor]) -> np.ndarray:
        check_is_fitted(self)
        rows, device = self._rows(X, fitting=False), resolve_device(self.device)
        network = self._network()
        vector_to_parameters(torch.from_numpy(self.weights_), network.parameters())
        network.to(device)
        starts = range(0, rows.shape[0], _ROWS_AT_ONCE)
        parts = [head(network(self._features(rows[start : start + _ROWS_AT_ONCE], device))) for start in starts]
        return torch.cat(parts).cpu().numpy()

    def _network(self) -> nn.Sequential:
        body = MLP(self.n_features_in_, self.layers_)
        return nn.Sequential(body, nn.Linear(body.n_out, self.n_labels_))

    def _rows(self, X: Any, *, fitting: bool) -> Any:
        """Return checked rows as an array or a CSR matrix."""
        dataset_of(self, X, fitting=fitting)
        matrix = as_matrix(X)
        return matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix, dtype=np.float32)

    def _features(self, rows: Any, device: torch.device) -> Tensor:
        dense = rows.toarray() if sp.issparse(rows) else rows
        return torch.from_numpy(((dense - self.mean_) / self.scale_).astype(np.float32)).to(device)

    def _check_parameters(self) -> None:
        one_of("head", self.head, tuple(HEADS))
        one_of("features", self.features, FEATURES)
        if self.head == "sparsemax":
            _sparsemax()
        if isinstance(self.hidden_layer_sizes, str) or not np.iterable(self.hidden_layer_sizes):
            raise InvalidParameterError(
                f"hidden_layer_sizes is {self.hidden_layer_sizes!r}; it must be a sequence of whole numbers."
            )
        for size in self.hidden_layer_sizes:
            whole_number("each of hidden_layer_sizes", size)
        for name in ("max_steps", "batch_size"):
            whole_number(name, getattr(self, name))
        for name in ("dropout", "hidden_dropout"):
            real_number(name, getattr(self, name), low=0, high=0.99)
        real_number("label_smoothing", self.label_smoothing, low=0, high=0.5)
        decay = real_number("weight_decay", self.weight_decay, low=0)
        rate = real_number("learning_rate", self.learning_rate, low=0, open_low=True)
        if rate * max(_ADAMS_FIRST_STEP, decay) > _LARGEST_STEP:
            raise InvalidParameterError(
                f"learning_rate is {rate:g} and weight_decay is {decay:g}, whose steps are beyond float32; lower them."
            )
        check_threshold(self.threshold, self.threshold_average, self.n_folds)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Logistic:
    """Labels by themselves."""

    @staticmethod
    def probabilities(scores: Tensor) -> Tensor:
        return scores.sigmoid()

    @staticmethod
    def loss(scores: Tensor, y: Tensor, smoothing: float) -> Tensor:
        return F.binary_cross_entropy_with_logits(scores, y + smoothing * (1 - 2 * y), reduction="none").sum(-1)


class _Softmax:
    """Labels that share a row, all with some probability."""

    @staticmethod
    def probabilities(scores: Tensor) -> Tensor:
        return scores.softmax(-1)

    @staticmethod
    def loss(scores: Tensor, y: Tensor, smoothing: float) -> Tensor:
        return -(_shares(y, smoothing) * scores.log_softmax(-1)).sum(-1)


class _Sparsemax:
    """Labels that share a row, most with none."""

    @staticmethod
    def probabilities(scores: Tensor) -> Tensor:
        return _sparsemax()(scores, dim=-1)

    @staticmethod
    def loss(scores: Tensor, y: Tensor, smoothing: float) -> Tensor:
        """Return the loss, whose gradient is p - t: p minimises what it is in, and so does not move the loss."""
        t, p = _shares(y, smoothing), _Sparsemax.probabilities(scores.detach())
        return ((scores * (p - t)).sum(-1) + (t.square() - p.square()).sum(-1) / 2) * (t.sum(-1) > 0)


HEADS = {"logistic": _Logistic, "softmax": _Softmax, "sparsemax": _Sparsemax}


def _shares(y: Tensor, smoothing: float) -> Tensor:
    """Return equal shares for the labels of a row, and a little for all; nothing where there are none."""
    n_labels = y.sum(-1, keepdim=True)
    return ((1 - smoothing) * y / n_labels.clamp(min=1) + smoothing / y.shape[-1]) * (n_labels > 0)


def _dropped(x: Tensor, share: float, noise: torch.Generator) -> Tensor:
    if not share:
        return x
    return x * (torch.rand(x.shape, generator=noise, device=x.device) >= share) / (1 - share)


def _sparsemax() -> Any:
    try:
        return library("entmax").sparsemax
    except ImportError as error:
        raise FewhotError("head='sparsemax' needs the package entmax: pip install 'fewhot[labels]'.") from error


def _standard(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what to take from each column, and what to divide it by."""
    mean, deviation = column_moments(rows)
    scale = np.where(deviation > 0, deviation, 1.0)
    return (np.zeros_like(mean) if sp.issparse(rows) else mean).astype(np.float32), scale.astype(np.float32)


def _batches(order: np.random.Generator, n_rows: int, batch_size: int, n_steps: int) -> Any:
    """Yield the rows of each step: all of them in a new order, a batch at a time, again and again."""
    done = 0
    while done < n_steps:
        shuffled = order.permutation(n_rows)
        for start in range(0, n_rows, batch_size):
            if done == n_steps:
                return
            yield shuffled[start : start + batch_size]
            done += 1
