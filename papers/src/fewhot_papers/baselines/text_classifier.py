"""A classifier of texts, trained end to end or on the vectors of a frozen encoder."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from fewhot.baselines.base import Baseline
from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.devices import in_float32, resolve_device
from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.core.masks import check_unmasked
from fewhot.core.memory import within_memory
from fewhot.core.registry import BASELINES
from fewhot.core.seeding import PrivateDraws, derive_seed, resolve_seed
from fewhot.data import TextDataset, Vocabulary, text_dataset
from fewhot.data.text import TOKENISERS, is_text
from fewhot.data.text.building import as_read
from fewhot.data.text.vocabulary import N_WORDS
from fewhot.estimators.undoing import undone_on_failure
from fewhot.estimators.validation import dataset_of
from fewhot.metrics.classes import class_places, places_among
from fewhot.metrics.probing import stratified_rows
from fewhot.models.defaults import encoder_for
from fewhot.nn import Pretrained
from fewhot.nn.gru import N_HIDDEN
from fewhot_papers.baselines.text_network import Labelled, Settings, TextNetwork, probabilities, train, vectors_of


@BASELINES.register("TextClassifier")
class TextClassifier(ClassifierMixin, Baseline):
    r"""Classes of texts: an encoder, two dense layers of 32 with leaky rectifiers (slope 0.01), and a softmax.

    .. math:: p(y \mid x) = \mathrm{softmax}\big(W_3\, r(W_2\, r(W_1 h(x) + b_1) + b_2) + b_3\big)_y,
        \qquad r(a) = \max(a, 0.01\,a)

    It minimises :math:`-\log p(y \mid x)` by Adam. With ``encoder="gru"`` all of it learns from the labels: the "simple
    classifier" that codes of texts are compared with. An encoder that does not learn, such as
    ``Pretrained(name, trained=False)``, reads every text once, and the dense layers learn from its vectors.

    Parameters
    ----------
    encoder : {"gru"} or torch.nn.Module, default="gru"
        What makes a vector of a text: the last state of a gated recurrent unit over its words; a
        `fewhot.nn.Pretrained`; or a module from ids of words and which of them are there, two (B, T) tensors, to
        (B, H). A module is deep-copied at fit. One of which no weight requires a gradient is frozen; one of your own
        that learns may have dropout, so the fit uses torch's global generator: other threads should not draw from it
        meanwhile.
    n_hidden : int, default=512
        Width of the state of "gru".
    n_words : int, default=20000
        How many words the vocabulary has at most, where texts are strings.
    tokeniser : str, default="plain"
        How strings are cut into words, by a name that `fewhot.data.tokenise` knows.
    max_length : int, default=None
        How many words of a string are read at most; None reads all.
    learning_rate : float, default=8e-4
        Adam's rate; a `Pretrained` may have its own.
    batch_size : int, default=256
        Texts a step. Never more than there are texts.
    max_epochs : int, default=60
        Passes over the texts.
    n_iter_no_change : int, default=5
        Stop after so many epochs without a better held-out accuracy, or an equal one with a larger likelihood, and keep
        the best weights. None trains on all texts for all epochs; with ``X_val`` the best weights are kept all the
        same.
    validation_fraction : float, default=0.1
        Share of the texts held out for early stopping, in proportion to the classes; 0 holds out none.
    random_state : int, numpy generator or None, default=None
        One seed for held-out texts, initialisation, order and dropout.
    device : str, default="auto"
        "cpu", "cuda", or "auto".

    Attributes
    ----------
    module_ : TextNetwork
        The fitted torch module.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    vocabulary_ : Vocabulary
        The words of the texts.
    history_ : list of dict
        Loss of each epoch, and accuracy and negative log-likelihood of held-out texts where there are any.
    n_iter_ : int
        Epochs of training.
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        Size of the vocabulary.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning sparse sentence encoding without supervision. Slope and when to
    stop are not published; those here are ours.

    Examples
    --------
    >>> texts = ["the sea is blue", "waves at sea", "the sun is hot", "a hot dry sun"] * 10
    >>> y = ["water", "water", "fire", "fire"] * 10
    >>> classifier = TextClassifier(n_hidden=8, learning_rate=0.02, batch_size=8, random_state=0).fit(texts, y)
    >>> classifier.predict(["blue waves", "dry and hot"]).tolist()
    ['water', 'fire']
    """

    module_: TextNetwork
    classes_: np.ndarray
    vocabulary_: Vocabulary
    history_: list[dict[str, Any]]
    n_iter_: int
    seed_: int
    n_features_in_: int

    def __init__(
        self,
        encoder: str | nn.Module = "gru",
        *,
        n_hidden: int = N_HIDDEN,
        n_words: int = N_WORDS,
        tokeniser: str = "plain",
        max_length: int | None = None,
        learning_rate: float = 8e-4,
        batch_size: int = 256,
        max_epochs: int = 60,
        n_iter_no_change: int | None = 5,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        device: str = "auto",
    ) -> None:
        self.encoder = encoder
        self.n_hidden = n_hidden
        self.n_words = n_words
        self.tokeniser = tokeniser
        self.max_length = max_length
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.device = device

    @in_float32()
    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    @within_memory("give a smaller n_hidden, n_words or batch_size, or a max_length")
    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X
            Texts: a list of strings, or a `fewhot.data.TextDataset`, whose vocabulary is kept.
        y
            Their classes, (n,): numbers or names, at least two different ones.
        X_val, y_val
            Held-out texts and classes for early stopping; None holds out ``validation_fraction`` of X.
        """
        self._check_parameters()
        device, seed = resolve_device(self.device), resolve_seed(self.random_state)
        with undone_on_failure(self):
            texts = self._texts_to_learn(X)
            check_unmasked(y, "y")
            self.classes_, places = class_places(y, texts.n_rows)
            if len(self.classes_) < 2:
                raise InvalidInputError("The texts of X are all of one class; a classifier needs at least two.")
            learned = Labelled(texts.to(device), torch.from_numpy(places).to(device))
            self._train(learned, self._held_out(X_val, y_val, device), seed)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each text, (n,)."""
        probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[probable]

    @in_float32()
    @within_memory("give a smaller batch_size, or fewer texts at a time")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``, (n, n_classes)."""
        check_is_fitted(self)
        device = resolve_device(self.device)
        texts = _some(dataset_of(self, X, fitting=False), "X").to(device)
        return probabilities(self.module_.to(device), texts, self.batch_size).cpu().numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of texts whose most probable class is theirs."""
        predicted = self.predict(X)
        classes, places = class_places(y, len(predicted))
        return float(np.average(classes[places] == predicted, weights=sample_weight))

    def _train(self, learned: Labelled, held_out: Labelled | None, seed: int) -> None:
        texts = learned.rows
        with torch.device("cpu"), PrivateDraws(seed, "initialisation"):
            encoder = encoder_for(texts.spec, (self.n_hidden,), self.encoder)
            network = TextNetwork(encoder, len(self.classes_), derive_seed(seed, "dense layers"))
        network.to(texts.device)
        if network.frozen:
            learned = self._as_vectors(network, learned)
            held_out = None if held_out is None else self._as_vectors(network, held_out)
        if held_out is None:
            learned, held_out = self._split(learned, seed)
        settings = Settings(
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.n_iter_no_change,
            seed=seed,
        )
        self.history_ = train(network, learned, held_out, settings)
        self.module_ = network
        self.n_iter_ = len(self.history_)
        self.seed_ = seed

    def _as_vectors(self, network: TextNetwork, labelled: Labelled) -> Labelled:
        return labelled._replace(rows=vectors_of(network.encoder, labelled.rows, self.batch_size))

    def _split(self, labelled: Labelled, seed: int) -> tuple[Labelled, Labelled | None]:
        """Return what is learned from, and what says when to stop."""
        n_rows = labelled.rows.n_rows
        n_held_out = int(self.validation_fraction * n_rows)
        if self.n_iter_no_change is None or not n_held_out:
            return labelled, None
        held_out = stratified_rows(labelled.places.cpu().numpy(), n_held_out, derive_seed(seed, "validation"))
        return labelled.subset(np.setdiff1d(np.arange(n_rows), held_out)), labelled.subset(held_out)

    def _texts_to_learn(self, X: Any) -> TextDataset:
        """Return texts whose vocabulary is kept; strings are cut as the arguments say."""
        if isinstance(X, TextDataset):
            texts = X
        elif is_text(X):
            texts = text_dataset(X, tokeniser=self.tokeniser, n_words=self.n_words, max_length=self.max_length)
            if isinstance(self.encoder, Pretrained):
                texts = texts.with_pieces(self.encoder.cut(as_read(X, texts.vocabulary)))
        else:
            raise InvalidTypeError("X is no list of strings; give at least one text in a list, or a TextDataset.")
        return _some(dataset_of(self, texts, fitting=True), "X")

    def _held_out(self, X_val: Any, y_val: Any, device: torch.device) -> Labelled | None:
        if (X_val is None) != (y_val is None):
            missing, there = ("X_val", "y_val") if X_val is None else ("y_val", "X_val")
            raise InvalidInputError(f"{there} was given without {missing}; give both, or neither.")
        if X_val is None:
            return None
        check_unmasked(y_val, "y_val")
        texts = _some(dataset_of(self, X_val, fitting=False, name="X_val"), "X_val")
        places = places_among(self.classes_, y_val, texts.n_rows, "y_val", "X_val")
        return Labelled(texts.to(device), torch.from_numpy(places).to(device))

    def _check_parameters(self) -> None:
        if not isinstance(self.encoder, nn.Module) and not (isinstance(self.encoder, str) and self.encoder == "gru"):
            raise InvalidParameterError(
                f"encoder is {self.encoder!r}; it must be 'gru', a fewhot.nn.Pretrained, or a torch module from ids of "
                f"words and which of them are there to vectors (B, H)."
            )
        for name in ("n_hidden", "n_words", "batch_size", "max_epochs"):
            whole_number(name, getattr(self, name))
        for name in ("max_length", "n_iter_no_change"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name))
        one_of("tokeniser", self.tokeniser, TOKENISERS)
        real_number("learning_rate", self.learning_rate, low=0, open_low=True)
        real_number("validation_fraction", self.validation_fraction, low=0, high=0.9)

    def _after_loading(self) -> None:
        self.module_.eval()
        if isinstance(self.encoder, Pretrained):
            # Its weights are those of the run, should it be fitted again.
            self.encoder = self._reader = self.module_.encoder.body

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _some(texts: Any, name: str) -> TextDataset:
    if not texts.n_rows:
        raise InvalidInputError(f"{name} has no texts; give at least one.")
    return texts
