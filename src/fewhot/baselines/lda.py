"""Latent Dirichlet allocation, scored document by document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma, gammaln
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fewhot.baselines.base import Baseline
from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.core.memory import within_memory
from fewhot.core.registry import BASELINES
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.core.warning import warn_caller
from fewhot.data import as_matrix
from fewhot.estimators.undoing import undone_on_failure
from fewhot.estimators.validation import dataset_of
from fewhot.metrics import TopWords, perplexity, top_words
from fewhot.metrics.matrices import as_counts

_DOCUMENTS_AT_ONCE = 512
_MOST_STEPS = 20_000
_TOLERANCE = 1e-4
"""Inference stops when no topic of a document gains or loses more words than this in a step."""


@BASELINES.register("LDA")
class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Baseline):
    r"""Latent Dirichlet allocation: every document mixes topics, every topic is a distribution over words.

    .. math:: \theta \sim \mathrm{Dirichlet}(\alpha), \qquad t_i \sim \theta, \qquad w_i \sim \beta_{t_i}

    Topics are fitted by scikit-learn's variational Bayes. What is said of documents is computed here, with the topics
    held fixed: each document's variational posterior is iterated to convergence, and its bound stands alone.
    (scikit-learn's ``perplexity`` adds a term for the topics themselves, of the size of the training set, whatever the
    number of documents that are scored.)

    Parameters
    ----------
    n_components : int, default=50
        Number of topics K.
    doc_topic_prior : float, default=None
        The Dirichlet parameter :math:`\alpha` of each topic in a document; None is 1 / K.
    topic_word_prior : float, default=0.5
        The Dirichlet parameter of each word in a topic.
    fixed_topics : {"mean", "geometric"}, default="mean"
        Where documents hold the topics: at their mean :math:`\lambda_{kv} / \sum_w \lambda_{kw}`, whose words sum to
        1, so that the bound is on the log-probability under a model; or at the geometric mean
        :math:`\exp \mathbb{E}[\log \beta_{kv}]`, as training does and most published perplexities of LDA: it sums to
        less, and the bound is looser.
    learning_method : {"batch", "online"}, default="batch"
        Steps on all documents, or on some at a time in an order drawn once, which suits corpora too large for many
        passes.
    max_iter : int, default=20
        Passes over the documents.
    batch_size : int, default=256
        Documents a step of "online".
    learning_offset, learning_decay : float, default=10.0 and 0.7
        Step t of "online" has the size :math:`(t + \text{offset})^{-\text{decay}}`.
    random_state : int, numpy generator or None, default=None
        Seed of the start and of the order of documents.

    Attributes
    ----------
    topics_ : ndarray of shape (n_components, n_words)
        The probability of each word in each topic, as ``fixed_topics`` says.
    doc_topic_prior_ : float
        The :math:`\alpha` that was used.
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of shape (n_words,)
        The words, when X was a frame or an AnnData.

    References
    ----------
    Blei, Ng and Jordan (2003), Latent Dirichlet allocation; Hoffman, Blei and Bach (2010), Online learning for latent
    Dirichlet allocation.

    Examples
    --------
    >>> X = np.kron(np.eye(2, dtype=int), np.ones((20, 3), dtype=int))
    >>> lda = LDA(n_components=2, topic_word_prior=0.1, random_state=0).fit(X)
    >>> lda.transform(X).shape
    (40, 2)
    >>> lda.perplexity(X) < 6
    True
    """

    topics_: np.ndarray
    doc_topic_prior_: float
    seed_: int

    def __init__(
        self,
        n_components: int = 50,
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float = 0.5,
        fixed_topics: str = "mean",
        learning_method: str = "batch",
        max_iter: int = 20,
        batch_size: int = 256,
        learning_offset: float = 10.0,
        learning_decay: float = 0.7,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.fixed_topics = fixed_topics
        self.learning_method = learning_method
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_offset = learning_offset
        self.learning_decay = learning_decay
        self.random_state = random_state

    @within_memory("give fewer n_components")
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the topics.

        Parameters
        ----------
        X
            Documents: counts of words, dense or sparse, (n, V). Those without words say nothing.
        y
            Ignored.
        """
        self._check_parameters()
        with undone_on_failure(self):
            self._fit(self._counts(X, fitting=True))
        return self

    def _fit(self, counts: Any) -> None:
        counts = counts[np.flatnonzero(np.diff(counts.indptr))]
        if not counts.shape[0]:
            raise InvalidInputError("X has no words in any document; give counts, some of them above 0.")
        seed = resolve_seed(self.random_state)
        if self.learning_method == "online":  # documents often come sorted, and steps on one kind at a time mislead
            order = np.random.default_rng(derive_seed(seed, "order")).permutation(counts.shape[0])
            counts = counts[order]
        model = self._model(derive_seed(seed, "topics") % 2**32).fit(counts)
        counted = model.components_
        if self.fixed_topics == "mean":
            self.topics_ = counted / counted.sum(axis=1, keepdims=True)
        else:
            self.topics_ = np.exp(_expected_log(counted))
        self.doc_topic_prior_ = float(model.doc_topic_prior_)
        self.seed_ = seed

    def transform(self, X: Any) -> np.ndarray:
        """Return the mean share of each topic in each document, (n, n_components); without words, all the same."""
        weights = self._inferred(X).weights
        return weights / weights.sum(axis=1, keepdims=True)

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Return the variational bound on the log-probability of each document in nats, topics fixed, (n,).

        .. math:: \mathcal{L}_d = \sum_v x_v \log \sum_k e^{\mathbb{E}_q[\log\theta_k]} \beta_{kv}
            - \mathrm{KL}\big(\mathrm{Dirichlet}(\gamma)\,\|\,\mathrm{Dirichlet}(\alpha)\big)

        in which the topics of single words have been taken at their optimum,
        :math:`q(t_i = k) \propto e^{\mathbb{E}_q[\log\theta_k]} \beta_{k w_i}`. Words are in their order: the
        multinomial coefficient is left out, as in the multinomial likelihood. A document without words gives 0.
        """
        return self._inferred(X).bounds

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def perplexity(self, X: Any, average: str = "document") -> float:
        """Return the perplexity of documents by their bounds, those without words left out.

        Parameters
        ----------
        X
            Documents, (n, V).
        average
            "document" or "corpus"; see `fewhot.metrics.perplexity`.
        """
        one_of("average", average, ("document", "corpus"))
        lengths = np.asarray(self._counts(X).sum(axis=1)).ravel()
        return perplexity(self.score_samples(X), lengths, average)

    def top_words(self, n: int = 10, vocabulary: Sequence[str] | None = None) -> TopWords:
        """Return the most probable words of each topic; see `fewhot.metrics.top_words`."""
        check_is_fitted(self)
        return top_words(self, n, vocabulary=vocabulary)

    @property
    def _n_features_out(self) -> int:
        return len(self.topics_)

    def _model(self, seed: int) -> LatentDirichletAllocation:
        return LatentDirichletAllocation(
            self.n_components,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            learning_method=self.learning_method,
            max_iter=self.max_iter,
            batch_size=self.batch_size,
            learning_offset=self.learning_offset,
            learning_decay=self.learning_decay,
            random_state=seed,
        )

    def _check_parameters(self) -> None:
        for name in ("n_components", "max_iter", "batch_size"):
            whole_number(name, getattr(self, name))
        one_of("fixed_topics", self.fixed_topics, ("mean", "geometric"))
        one_of("learning_method", self.learning_method, ("batch", "online"))
        if self.doc_topic_prior is not None:
            real_number("doc_topic_prior", self.doc_topic_prior, low=0, open_low=True)
        real_number("topic_word_prior", self.topic_word_prior, low=0, open_low=True)
        real_number("learning_offset", self.learning_offset, low=1)
        real_number("learning_decay", self.learning_decay, low=0.5, high=1)

    def _counts(self, X: Any, *, fitting: bool = False) -> Any:
        """Return checked documents as CSR."""
        if not fitting:
            check_is_fitted(self)
        dataset_of(self, X, fitting=fitting)
        return as_counts(as_matrix(X))

    def _inferred(self, X: Any) -> Inferred:
        return infer(self._counts(X), self.topics_, self.doc_topic_prior_)


class Inferred(NamedTuple):
    """What is known of documents when topics are."""

    weights: np.ndarray  # (n, K): the parameters gamma of each document's Dirichlet posterior
    bounds: np.ndarray  # (n,): the bound on each document's log-probability


def infer(counts: Any, topics: np.ndarray, alpha: float) -> Inferred:
    r"""Iterate the posterior of each document to convergence, and bound its log-probability.

    .. math:: \gamma_k \leftarrow \alpha + \sum_v x_v \frac{e^{\mathbb{E}_q[\log\theta_k]} \beta_{kv}}
        {\sum_l e^{\mathbb{E}_q[\log\theta_l]} \beta_{lv}}, \qquad
        \mathbb{E}_q[\log\theta_k] = \psi(\gamma_k) - \psi\big(\textstyle\sum_l \gamma_l\big)

    Each step raises the bound. Documents do not see each other, and leave when they have converged.

    Parameters
    ----------
    counts
        Documents, CSR (n, V).
    topics
        Probabilities of words, (K, V).
    alpha
        The Dirichlet parameter of each topic.
    """
    by_word = np.ascontiguousarray(topics.T)  # (V, K)
    starts = range(0, counts.shape[0], _DOCUMENTS_AT_ONCE)
    parts = [_infer_some(counts[start : start + _DOCUMENTS_AT_ONCE], by_word, alpha) for start in starts]
    weights, bounds, n_moving = zip(*parts, strict=True)
    if sum(n_moving):
        warn_caller(
            f"The topics of {sum(n_moving)} of {counts.shape[0]} documents still moved after {_MOST_STEPS} steps; "
            f"their bounds are a little low.",
            ConvergenceWarning,
        )
    return Inferred(np.concatenate(weights), np.concatenate(bounds))


def _infer_some(counts: Any, by_word: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Return weights and bounds of some documents, and how many of them had not converged."""
    n_topics = by_word.shape[1]
    lengths = np.asarray(counts.sum(axis=1)).reshape(-1, 1)
    weights = np.repeat(alpha + lengths / n_topics, n_topics, axis=1)
    moving, moving_counts = np.arange(len(weights)), counts
    for _ in range(_MOST_STEPS):
        share = np.exp(_expected_log(weights[moving]))  # (m, K)
        per_word = moving_counts.data / _mixed(moving_counts, share, by_word)
        explained = sp.csr_array((per_word, moving_counts.indices, moving_counts.indptr), shape=moving_counts.shape)
        new = alpha + share * (explained @ by_word)
        still = np.flatnonzero(np.abs(new - weights[moving]).max(axis=1) > _TOLERANCE)
        weights[moving] = new
        moving, moving_counts = moving[still], moving_counts[still]
        if not len(moving):
            break
    return weights, _bounds(counts, weights, by_word, alpha), len(moving)


def _bounds(counts: Any, weights: np.ndarray, by_word: np.ndarray, alpha: float) -> np.ndarray:
    expected_log = _expected_log(weights)
    each = counts.data * np.log(_mixed(counts, np.exp(expected_log), by_word))
    words = np.bincount(_rows(counts), each, minlength=len(weights))
    n_topics = weights.shape[1]
    divergence = (
        gammaln(weights.sum(axis=1))
        - gammaln(weights).sum(axis=1)
        - gammaln(n_topics * alpha)
        + n_topics * gammaln(alpha)
        + ((weights - alpha) * expected_log).sum(axis=1)
    )
    return words - divergence


def _expected_log(weights: np.ndarray) -> np.ndarray:
    """Return the expected logs of Dirichlet shares, a row each."""
    return digamma(weights) - digamma(weights.sum(axis=1, keepdims=True))


def _mixed(counts: Any, share: np.ndarray, by_word: np.ndarray) -> np.ndarray:
    """Return the weight of each word that a document holds under its mixture of topics, one a stored count."""
    return np.einsum("ik,ik->i", share[_rows(counts)], by_word[counts.indices])


def _rows(counts: Any) -> np.ndarray:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
