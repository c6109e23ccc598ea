"""What classifiers of many labels share: a probability from which a label is predicted, and how it is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.seeding import derive_seed
from fewhot.estimators.labels import check_columns, check_label_names, indicator_matrix
from fewhot.estimators.validation import rows_at
from fewhot.metrics.labels import macro_f1, micro_f1

N_THRESHOLDS = 100
"""Among how many cross-validation chooses."""
F1 = {"micro": micro_f1, "macro": macro_f1}


class MultiLabelMixin(ClassifierMixin):
    """Predict labels from their probabilities, and tell scikit-learn that rows have any number of them."""

    threshold: float | str
    threshold_: float | np.ndarray
    classes_: np.ndarray

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each label, in the order of ``classes_``, (n, K)."""
        raise TypeError(f"{type(self).__name__} does not say how likely labels are; define predict_proba(X).")

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels whose probability is at least ``threshold_``, 0 or 1, as an array, (n, K).

        A number that ``threshold`` was set to after the fit is taken instead.

        Column k is the label ``classes_[k]``: the name of a column where `fit` was given a frame of labels, else k.
        ``pandas.DataFrame(model.predict(X), columns=model.classes_)`` has the names, too.
        """
        found = self.predict_proba(X)
        return (found >= (self.threshold_ if isinstance(self.threshold, str) else self.threshold)).astype(np.int64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose labels are all right."""
        predicted = self.predict(X)
        labels = indicator_matrix(y, len(predicted)).astype(np.int64)
        check_columns(labels, predicted.shape[1])
        check_label_names(y, self.classes_)
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags


def cross_validated_threshold(
    make: Callable[[], Any], X: Any, labels: np.ndarray, n_folds: int, average: str, seed: int
) -> float:
    """Return the threshold with the best F1 score, a name in `F1`, on rows that a fit has not seen."""
    probabilities = cross_validated_probabilities(make, X, labels, n_folds, seed)
    return best_threshold(labels, probabilities, average)[0]


def cross_validated_probabilities(
    make: Callable[[], Any], X: Any, labels: np.ndarray, n_folds: int, seed: int
) -> np.ndarray:
    """Return what fits on the other rows say of each row's labels, (n, K).

    Parameters
    ----------
    make
        Returns an unfitted classifier that chooses no threshold of its own.
    X, labels
        Rows, and which labels they have, (n, K).
    n_folds
        How many fits there are, each of which leaves other rows out.
    seed
        Of the folds.
    """
    if len(labels) < n_folds:
        raise InvalidParameterError(
            f"threshold='cv' takes {n_folds} folds and there are {len(labels)} rows; give fewer n_folds, or a number."
        )
    folds = KFold(n_folds, shuffle=True, random_state=derive_seed(seed, "folds") % 2**32)
    probabilities = np.zeros(labels.shape, dtype=np.float32)
    for train, test in folds.split(labels):
        probabilities[test] = make().fit(rows_at(X, train), labels[train]).predict_proba(rows_at(X, test))
    return probabilities


def best_threshold(labels: np.ndarray, probabilities: np.ndarray, average: str) -> tuple[float, float]:
    """Return the threshold with the best F1 score, and that score.

    From one candidate to the next, another hundredth of the labels that are there is found.
    """
    present = probabilities[labels > 0]
    if not len(present):
        return 0.5, F1[average](labels, probabilities >= 0.5)
    candidates = np.unique(np.quantile(present, np.arange(N_THRESHOLDS) / N_THRESHOLDS, method="lower"))
    scores = [F1[average](labels, probabilities >= threshold) for threshold in candidates]
    best = int(np.argmax(scores))
    return float(candidates[best]), float(scores[best])


def expected_threshold(probabilities: np.ndarray, average: str) -> float | np.ndarray:
    r"""Return the threshold with the best F1 score to be expected of labels that are there with these probabilities.

    .. math:: \max_t \frac{2\sum_{p \ge t} p}{|\{p \ge t\}| + \sum p}

    No label is looked at. "micro" gives one threshold for all labels, "macro" one for each of them, (K,).
    """
    p = probabilities.reshape(-1, 1) if average == "micro" else probabilities
    p = -np.sort(-p.astype(np.float64), axis=0)
    found = np.cumsum(p, axis=0)
    n_said = np.arange(1, len(p) + 1)[:, None]
    best = (2 * found / (n_said + found[-1])).argmax(axis=0)
    thresholds = p[best, np.arange(p.shape[1])]
    return float(thresholds[0]) if average == "micro" else thresholds


def check_threshold(threshold: Any, average: str, n_folds: Any, names: Sequence[str] = ("cv",)) -> None:
    """Refuse a threshold that is neither a probability nor one of ``names``, and a way to choose it there is not."""
    if isinstance(threshold, str):
        one_of("threshold", threshold, names)
    else:
        real_number("threshold", threshold, low=0, high=1)
    one_of("threshold_average", average, tuple(F1))
    whole_number("n_folds", n_folds, least=2)
