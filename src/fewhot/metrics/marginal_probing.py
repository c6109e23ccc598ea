"""What a small classifier can read from codes whose uncertainty it averages over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.devices import in_float32
from fewhot.core.errors import InvalidInputError
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.metrics.classes import class_places, places_among
from fewhot.metrics.code_draws import CodeDraws, FixedCodes, PosteriorDraws
from fewhot.metrics.code_kinds import code_matrix
from fewhot.metrics.marginal_classifier import LabelledCodes, Training, answers, trained_classifier
from fewhot.metrics.probing import stratified_rows

HELD_OUT = 0.1
"""The share of training rows that say when to stop, where no others are given."""

MarginalKind = Literal["sample", "mean", "map"]
_KINDS: tuple[MarginalKind, ...] = ("sample", "mean", "map")


class _Given(NamedTuple):
    """Codes, their labels, and what a complaint calls both."""

    codes: CodeDraws | None
    labels: Any
    rows: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalProbe:
    """How well a small classifier does on codes.

    Attributes
    ----------
    accuracy
        Share of test rows whose most probable class is theirs.
    se
        Standard error of that share over test rows.
    nll
        Mean negative log-likelihood of the test rows' classes, in nats.
    n_draws
        Draws of the code that were averaged over, a row.
    kind
        Which code it saw.
    majority
        Share of the commonest class among the test rows: what no code at all would reach.
    """

    accuracy: float
    se: float
    nll: float
    n_draws: int
    kind: str
    majority: float


def marginal_probe(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    n_draws: int = 5,
    X_val: Any = None,
    y_val: Any = None,
    kind: MarginalKind = "sample",
    random_state: Any = 0,
    learning_rate: float = 1e-3,
    batch_size: int = 256,
    max_epochs: int = 100,
    patience: int = 10,
) -> MarginalProbe:
    r"""Return the test accuracy of a small classifier on codes of a frozen encoder, averaged over draws of the code.

    .. math:: p(y \mid x) = \frac{1}{K} \sum_{k=1}^K p(y \mid z_k), \qquad z_k \sim q(z \mid x)

    Two dense layers of 32 with leaky rectifiers (slope 0.01) and a softmax minimise :math:`-\log p(y \mid x)`, the log
    of the mean and not the mean of the logs, by Adam. Every row is encoded once; training and test have fresh draws of
    its code (of `HSVAE`, a fresh gate and, where it is drawn, a fresh rate for each). The classifier kept is that of
    the epoch with the best validation accuracy, and of equals the best likelihood. Codes go in as they are, as
    published; `linear_probe` divides them by their deviations, because its penalty minds their scale.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X_train, y_train
        Rows or texts to learn from, and a class a row.
    X_test, y_test
        Rows and classes to test on.
    n_draws
        How many draws of a row's code, K; "mean" and "map" have one code a row, whatever is given here.
    X_val, y_val
        Rows and classes that say when to stop; None holds out a tenth of the training rows, in proportion to the
        classes.
    kind
        Which code, as in `code_matrix`: "sample", "mean" or "map".
    random_state
        Seed of the held-out rows, of the classifier's beginning, of the order of rows and of the draws.
    learning_rate, batch_size
        Adam's rate, and rows a batch.
    max_epochs, patience
        Epochs at most, and after how many without a better one training stops.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning sparse sentence encoding without supervision. Slope, rate,
    batch and when to stop are not published; those here are ours.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).random((60, 4))
    >>> vsc = fh.VSC(n_components=3, alpha=0.5, max_steps=5, random_state=0).fit(X)
    >>> found = marginal_probe(vsc, X[:40], np.arange(40) % 2, X[40:], np.arange(20) % 2, max_epochs=2)
    >>> found.n_draws, found.majority
    (5, 0.5)
    """
    one_of("kind", kind, _KINDS)
    whole_number("n_draws", n_draws)
    training = _training(learning_rate, batch_size, max_epochs, patience)
    seed = resolve_seed(random_state)

    def given(X: Any, y: Any, part: str) -> _Given:
        rows = f"X_{part}"
        if X is None:
            return _Given(None, y, rows, f"y_{part}")
        sampled = kind == "sample"
        codes = PosteriorDraws(estimator, X, n_draws) if sampled else FixedCodes(code_matrix(estimator, X, kind), rows)
        return _Given(codes, y, rows, f"y_{part}")

    train, test, val = given(X_train, y_train, "train"), given(X_test, y_test, "test"), given(X_val, y_val, "val")
    return _probe(train, test, val, kind=kind, training=training, seed=seed)


def marginal_probe_codes(
    train: Any,
    y_train: Any,
    test: Any,
    y_test: Any,
    *,
    val: Any = None,
    y_val: Any = None,
    kind: str = "features",
    random_state: Any = 0,
    learning_rate: float = 1e-3,
    batch_size: int = 256,
    max_epochs: int = 100,
    patience: int = 10,
) -> MarginalProbe:
    """Return the test accuracy of the classifier of `marginal_probe` on features that are already there.

    So an encoder without a posterior is judged as codes are: one feature vector a row, and nothing to average over.

    Parameters
    ----------
    train, test, val
        Features, (n, K): arrays or sparse matrices. Without ``val`` a tenth of the training rows is held out.
    y_train, y_test, y_val
        A class a row.
    kind
        What the result calls these features.
    random_state, learning_rate, batch_size, max_epochs, patience
        As in `marginal_probe`.

    Examples
    --------
    >>> y = np.arange(80) % 2
    >>> features = np.eye(2)[y]
    >>> marginal_probe_codes(features, y, features, y, learning_rate=0.01, batch_size=8).accuracy
    1.0
    """
    return _probe(
        _Given(FixedCodes(train, "train"), y_train, "train", "y_train"),
        _Given(FixedCodes(test, "test"), y_test, "test", "y_test"),
        _Given(None if val is None else FixedCodes(val, "val"), y_val, "val", "y_val"),
        kind=kind,
        training=_training(learning_rate, batch_size, max_epochs, patience),
        seed=resolve_seed(random_state),
    )


@in_float32()
def _probe(train: _Given, test: _Given, val: _Given, *, kind: str, training: Training, seed: int) -> MarginalProbe:
    codes = _there(train)
    classes, places = class_places(train.labels, codes.n_rows, train.name, train.rows)
    if len(classes) < 2:
        raise InvalidInputError(f"The rows of {train.rows} are all of one class; a probe needs at least two.")
    tested = _labelled(test, classes, codes.n_units)
    learned, held_out = _split(codes, places, _held_out(val, classes, codes.n_units), seed)
    classifier = trained_classifier(learned, held_out, len(classes), training, derive_seed(seed, "training"))
    found = answers(classifier, tested, derive_seed(seed, "test"))
    n_test = len(tested.rows)
    return MarginalProbe(
        accuracy=found.accuracy,
        se=float(np.sqrt(found.accuracy * (1 - found.accuracy) / n_test)),
        nll=found.nll,
        n_draws=codes.n_draws,
        kind=kind,
        majority=float(np.bincount(tested.places).max() / n_test),
    )


def _there(given: _Given) -> CodeDraws:
    if given.codes is None:
        raise InvalidInputError(f"{given.rows} is None; give rows.")
    return given.codes


def _labelled(given: _Given, classes: np.ndarray, n_units: int) -> LabelledCodes:
    """Return codes with the places of their classes among those of training."""
    codes = _there(given)
    if codes.n_units != n_units:
        raise InvalidInputError(
            f"{given.rows} has {codes.n_units} columns and the training rows have {n_units}; give rows of one width."
        )
    places = places_among(classes, given.labels, codes.n_rows, given.name, given.rows)
    return LabelledCodes(codes, np.arange(codes.n_rows), places)


def _held_out(given: _Given, classes: np.ndarray, n_units: int) -> LabelledCodes | None:
    if (given.codes is None) != (given.labels is None):
        missing, there = (given.rows, given.name) if given.codes is None else (given.name, given.rows)
        raise InvalidInputError(f"{there} was given without {missing}; give both, or neither.")
    return None if given.codes is None else _labelled(given, classes, n_units)


def _split(
    codes: CodeDraws, places: np.ndarray, given: LabelledCodes | None, seed: int
) -> tuple[LabelledCodes, LabelledCodes]:
    """Return the rows to learn from and those that say when to stop."""
    everything = np.arange(codes.n_rows)
    if given is not None:
        return LabelledCodes(codes, everything, places), given
    held_out = stratified_rows(places, max(1, round(HELD_OUT * codes.n_rows)), derive_seed(seed, "held out"))
    kept = np.setdiff1d(everything, held_out)
    return LabelledCodes(codes, kept, places), LabelledCodes(codes, held_out, places)


def _training(learning_rate: float, batch_size: int, max_epochs: int, patience: int) -> Training:
    return Training(
        learning_rate=real_number("learning_rate", learning_rate, low=0, open_low=True),
        batch_size=whole_number("batch_size", batch_size),
        max_epochs=whole_number("max_epochs", max_epochs),
        patience=whole_number("patience", patience),
    )
