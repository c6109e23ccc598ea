"""The SDLGMCounter estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from torch import nn

from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.documentation import documented
from fewhot.estimators.labels import check_columns, check_label_names, label_matrix
from fewhot.estimators.sdlgm_supervised import SupervisedSDLGM
from fewhot.likelihoods.base import Likelihood
from fewhot.models import AgainstCollapse


@ESTIMATORS.register("SDLGMCounter")
@documented
class SDLGMCounter(RegressorMixin, SupervisedSDLGM):
    r"""Count how often things occur in a row: a digit in a picture, an item in a scene.

    .. math:: \log p(n\,|\,x) = \log\frac{L_0!}{(L_0-N)!\prod_k n_k!} + \sum_k n_k \log(\lambda\pi_k)
        + (L_0-N)\log(1-\lambda), \qquad N = \sum_k n_k

    Each of :math:`L_0` slots is on with probability :math:`\lambda(x)` and then holds thing k with
    :math:`\pi_k(x)`; counts of up to :math:`L_0` in all have this law, and the mean :math:`L_0\lambda\pi_k`.

    Parameters
    ----------
    n_components : int, default=32
        With ``variant="con"``, units beside those of the things counted.
    variant : {"dis", "gen", "con"}, default="dis"
        Counts given rows ("dis"); rows given counts, too ("gen"); rows given counts and further units ("con").
    n_slots : int, default=None
        The number :math:`L_0` of slots, at least the largest total of a training row; None takes that.
    label_weight : float, default=1.0
        Weight of the counts beside the bound on rows, for "gen" and "con".
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
    n_slots_ : int
        The number of slots.
    label_references_ : LabelReferences or None
        Simple models of the training rows' counts, beside which `fewhot.metrics.summarise` judges this one; None after
        `partial_fit`.
    classes_ : ndarray of shape (K,)
        What is counted: the names of a frame's columns, or their places.

    References
    ----------
    Xu, Onoro Rubio, Serra and Niepert, Learning Sparsity of Representations with Discrete Latent Variables.

    Examples
    --------
    >>> import numpy as np, fewhot as fh
    >>> rng = np.random.default_rng(0)
    >>> n = rng.poisson(1.0, (100, 3))
    >>> X = n + rng.normal(0, 0.1, n.shape)
    >>> counter = fh.SDLGMCounter(max_steps=50, random_state=0).fit(X, n)
    >>> counter.predict(X).dtype, counter.predict_counts(X).dtype  # expected counts, and whole numbers
    (dtype('float32'), dtype('int64'))
    """

    _target = "counts"

    def __init__(
        self,
        n_components: int = 32,
        *,
        variant: str = "dis",
        n_slots: int | None = None,
        label_weight: float = 1.0,
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
        self.n_slots = n_slots
        self.label_weight = label_weight
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

    def predict(self, X: Any) -> np.ndarray:
        """Return the expected counts, which are fractions, in the order of ``classes_``, (n, K).

        `predict_counts` rounds them. They are as the encoder gives them: ``refine_steps`` is for codes.
        """
        return self._of_labels(X, "mean")

    def predict_counts(self, X: Any) -> np.ndarray:
        """Return the expected counts, rounded to whole numbers, in the order of ``classes_``, (n, K)."""
        return np.rint(self.predict(X)).astype(np.int64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the expected counts, the mean over things."""
        predicted = self.predict(X)
        labels = label_matrix(y, len(predicted))
        check_columns(labels, self.n_labels_)
        check_label_names(y, self.classes_)
        return float(r2_score(labels, predicted, sample_weight=sample_weight))

    def _labels(self, y: Any, n_rows: int, name: str = "y") -> np.ndarray:
        return label_matrix(y, n_rows, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags
