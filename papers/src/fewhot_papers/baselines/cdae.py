"""CDAE: a denoising autoencoder with a vector for every user."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from fewhot.baselines.base import Recommender
from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.devices import in_float32, resolve_device
from fewhot.core.errors import DivergedError
from fewhot.core.registry import BASELINES
from fewhot.core.seeding import derive_seed, resolve_seed, stream
from fewhot.estimators.recommending import SimilarItemsMixin, cosine
from fewhot.estimators.validation import Histories

_ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu, "identity": lambda h: h}
_FOLD_IN_STEPS, _FOLD_IN_RATE = 100, 0.05


@BASELINES.register("CDAE")
class CDAE(SimilarItemsMixin, Recommender):
    r"""Rebuild a user's history from a part of it, with one hidden layer and a vector of the user's own.

    .. math::
        h = g(W^\top \tilde x + v_u + b), \qquad \hat x = W'^\top h + b', \qquad
        \min \sum_{u,i} c_{ui}\, \ell(x_{ui}, \hat x_{ui})
        + \tfrac{\lambda}{2} \Big( \lVert W \rVert^2 + \lVert W' \rVert^2 + \sum_u \lVert v_u \rVert^2 \Big)

    Here :math:`\tilde x` is x with items dropped at random and the rest scaled up, and c is ``positive_weight`` where
    a user has an item, 1 elsewhere. Values above 0 count as 1. The loss runs over all items, without sampling.

    Parameters
    ----------
    n_components : int, default=200
        Width of the hidden layer.
    loss : {"logistic", "square"}, default="logistic"
        The loss of one item.
    activation : {"tanh", "sigmoid", "relu", "identity"}, default="tanh"
        The function g.
    dropout : float, default=0.5
        Probability that an item is hidden from the network in a step.
    positive_weight : float, default=1.0
        The weight c of what users have.
    regularisation : float, default=100.0
        The weight λ of squared weights and user vectors.
    new_users : {"zero", "fit"}, default="zero"
        What stands for the vector of users in `score_items` and `recommend`: 0, or the one that rebuilds their
        history best with all else fixed.
    learning_rate : float, default=0.003
        Step length of Adam.
    batch_size : int, default=256
        Users a step.
    max_epochs : int, default=40
        How often training goes through the users.
    device : str, default="auto"
        Where to train and to score: "auto", "cpu", "cuda".
    random_state : int, numpy generator or None, default=None
        Seed of the first weights, of the order of users and of what is hidden.

    Attributes
    ----------
    encoder_weights_, item_vectors_ : ndarray of shape (n_items, n_components)
        The matrices W and W', one row an item.
    encoder_bias_, item_bias_ : ndarray of shape (n_components,) and (n_items,)
        The vectors b and b'.
    user_vectors_ : ndarray of shape (n_users, n_components)
        The vectors v of the training users.
    losses_ : list of float
        Mean objective of a user in each epoch, while items are hidden.

    References
    ----------
    Wu, Y., DuBois, C., Zheng, A. X. and Ester, M. (2016). Collaborative denoising auto-encoders for top-N recommender
    systems. WSDM. What stands for the vector of a new user is not said there.

    Examples
    --------
    >>> X = np.kron(np.eye(2), np.ones((20, 3)))  # two groups of users, each with items of its own
    >>> model = CDAE(n_components=4, regularisation=0.1, learning_rate=0.05, random_state=0).fit(X)
    >>> sorted(model.recommend([[1, 0, 0, 0, 0, 0]], n=2)[0][0].tolist())
    [1, 2]
    """

    encoder_weights_: np.ndarray
    encoder_bias_: np.ndarray
    item_vectors_: np.ndarray
    item_bias_: np.ndarray
    user_vectors_: np.ndarray
    losses_: list[float]

    def __init__(
        self,
        n_components: int = 200,
        *,
        loss: str = "logistic",
        activation: str = "tanh",
        dropout: float = 0.5,
        positive_weight: float = 1.0,
        regularisation: float = 100.0,
        new_users: str = "zero",
        learning_rate: float = 0.003,
        batch_size: int = 256,
        max_epochs: int = 40,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.activation = activation
        self.dropout = dropout
        self.positive_weight = positive_weight
        self.regularisation = regularisation
        self.new_users = new_users
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.device = device
        self.random_state = random_state

    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    @in_float32()
    def _fit(self, rows: Histories) -> None:
        device, seed = resolve_device(self.device), resolve_seed(self.random_state)
        weights = _Weights.draw(self._first_bias(rows), self.n_components, stream(seed, "initialisation")).to(device)
        vectors = torch.zeros(rows.shape[0], self.n_components, device=device)
        trained = [value.requires_grad_() for value in (*weights, vectors)]
        optimiser = torch.optim.Adam(trained, lr=self.learning_rate)
        order, noise = np.random.default_rng(derive_seed(seed, "order")), stream(seed, "dropout", device=device)
        self.losses_ = []
        for _ in range(self.max_epochs):
            total = 0.0
            shuffled = order.permutation(rows.shape[0])
            for start in range(0, rows.shape[0], self.batch_size):
                users = shuffled[start : start + self.batch_size]
                x = _marks(rows[users], device)
                shown = x * (torch.rand(x.shape, generator=noise, device=device) >= self.dropout) / (1 - self.dropout)
                v = vectors[torch.from_numpy(users).to(device)]
                loss = self._objective(x, self._decode(weights, shown, v), v).mean()
                loss = loss + self.regularisation / 2 * weights.size() / rows.shape[0]
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += loss.item() * len(users)
            self.losses_.append(total / rows.shape[0])
            if not np.isfinite(total):
                raise DivergedError("The loss of CDAE is no longer finite; lower learning_rate.")
        self.encoder_weights_, self.encoder_bias_, self.item_vectors_, self.item_bias_, self.user_vectors_ = (
            value.detach().cpu().numpy() for value in trained
        )

    @torch.inference_mode(mode=False)
    @torch.no_grad()
    @in_float32()
    def _score_rows(self, rows: Histories) -> np.ndarray:
        device = resolve_device(self.device)
        learned = (self.encoder_weights_, self.encoder_bias_, self.item_vectors_, self.item_bias_)
        weights = _Weights(*map(torch.from_numpy, learned)).to(device)
        x = _marks(rows, device)
        v = torch.zeros(len(x), self.encoder_weights_.shape[1], device=device)
        if self.new_users == "fit":
            v = self._fold_in(weights, x, v)
        return self._decode(weights, x, v).cpu().numpy()

    def _first_bias(self, rows: Histories) -> Tensor:
        """Return the scores that are best for everyone alike, from which training begins."""
        share = torch.from_numpy(np.bincount(rows.indices, minlength=rows.shape[1]) + 0.5) / (rows.shape[0] + 1)
        odds = self.positive_weight * share / (1 - share)
        return (odds.log() if self.loss == "logistic" else odds / (1 + odds)).float()

    def _similarity(self, items: np.ndarray) -> np.ndarray:
        return cosine(self.item_vectors_, items)

    def _decode(self, weights: _Weights, x: Tensor, v: Tensor) -> Tensor:
        hidden = _ACTIVATIONS[self.activation](x @ weights.encoder + v + weights.hidden_bias)  # (users, K)
        return hidden @ weights.decoder.T + weights.bias  # (users, items)

    def _objective(self, x: Tensor, scores: Tensor, v: Tensor) -> Tensor:
        """Return the loss of each user with the penalty of their vector, (users,)."""
        weight = 1 + (self.positive_weight - 1) * x
        if self.loss == "logistic":
            losses = F.binary_cross_entropy_with_logits(scores, x, weight, reduction="none")
        else:
            losses = weight * (x - scores).square()
        return losses.sum(1) + self.regularisation / 2 * v.square().sum(1)

    @torch.enable_grad()
    def _fold_in(self, weights: _Weights, x: Tensor, v: Tensor) -> Tensor:
        """Return the vector of each user that rebuilds their history best; no user sees another."""
        v = v.requires_grad_()
        optimiser = torch.optim.Adam([v], lr=_FOLD_IN_RATE)
        for _ in range(_FOLD_IN_STEPS):
            optimiser.zero_grad()
            self._objective(x, self._decode(weights, x, v), v).sum().backward()
            optimiser.step()
        return v.detach()

    def _check_parameters(self) -> None:
        for name in ("n_components", "batch_size", "max_epochs"):
            whole_number(name, getattr(self, name))
        one_of("loss", self.loss, ("logistic", "square"))
        one_of("activation", self.activation, list(_ACTIVATIONS))
        one_of("new_users", self.new_users, ("zero", "fit"))
        real_number("dropout", self.dropout, low=0, high=0.99)
        real_number("positive_weight", self.positive_weight, low=0, open_low=True)
        real_number("regularisation", self.regularisation, low=0)
        real_number("learning_rate", self.learning_rate, low=0, open_low=True)


class _Weights(NamedTuple):
    """What all users share."""

    encoder: Tensor  # W, (items, K)
    hidden_bias: Tensor  # b, (K,)
    decoder: Tensor  # W', (items, K)
    bias: Tensor  # b', (items,)

    @classmethod
    def draw(cls, bias: Tensor, n_components: int, generator: torch.Generator) -> Self:
        """Return small random matrices, uniform as Glorot and Bengio (2010) have them, beside a first bias b'."""
        shape = len(bias), n_components
        bound = math.sqrt(6 / sum(shape))
        encoder, decoder = (torch.empty(shape).uniform_(-bound, bound, generator=generator) for _ in range(2))
        return cls(encoder, torch.zeros(n_components), decoder, bias)

    def to(self, device: torch.device) -> Self:
        return type(self)(*(value.to(device) for value in self))

    def size(self) -> Tensor:
        """Return the sum of squares of both matrices."""
        return self.encoder.square().sum() + self.decoder.square().sum()


def _marks(rows: Histories, device: torch.device) -> Tensor:
    return torch.from_numpy((rows.toarray() > 0).astype(np.float32)).to(device)
