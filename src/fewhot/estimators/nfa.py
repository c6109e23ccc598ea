"""Nonlinear factor analysis: codes of word counts and of user-item histories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import nn

from fewhot.codes import score
from fewhot.core.checks import LARGEST_WEIGHT, one_of, real_number, truth, whole_number
from fewhot.core.devices import in_float32
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.records import DataSpec
from fewhot.core.registry import ESTIMATORS
from fewhot.core.schedules import Geometric, Linear, Schedule
from fewhot.data import Dataset, as_dataset
from fewhot.estimators.documentation import LEARNED, documented
from fewhot.estimators.gated import GatedEstimator
from fewhot.estimators.local_parameters import check_inference, procedure, refuse_unused_inference
from fewhot.estimators.nfa_recipes import RECIPES
from fewhot.estimators.nfa_settings import NFASettings
from fewhot.estimators.recipes import Recipe
from fewhot.estimators.recommending import RecommenderMixin, SimilarItemsMixin, cosine
from fewhot.estimators.validation import Histories
from fewhot.likelihoods import MultinomialLikelihood
from fewhot.likelihoods.base import Likelihood
from fewhot.metrics import perplexity
from fewhot.models import AgainstCollapse, nfa
from fewhot.models.defaults import rate_decay
from fewhot.models.latent_model import LatentModel
from fewhot.models.nfa import INPUTS
from fewhot.nn.mlp import ACTIVATIONS

LATENTS = ("gaussian", "spike-slab")
ANNEALINGS = {"linear": Linear, "exponential": Geometric}
FIRST_KL_WEIGHT = 0.01
MOST_LAYERS = 8


@ESTIMATORS.register("NFA")
@documented
class NFA(RecommenderMixin, SimilarItemsMixin, NFASettings, GatedEstimator):
    r"""Nonlinear factor analysis: dense or sparse codes of counts, with optimised local parameters.

    .. math:: \mathcal{L}(x) = \mathbb{E}_{q(z|x)}\Big[\sum_v x_v \log\mathrm{softmax}(f_\theta(z))_v\Big]
        - \mathrm{KL}\big(q(z|x)\,\|\,\mathcal{N}(0, I)\big)

    for rows x of counts: words of a document, items of a user. Rows that are mostly 0 teach an inference network
    little; with ``inference="refined"`` each row's own posterior is optimised in training, from where the network
    leaves it.

    Parameters
    ----------
    n_components : int, default=64
        Number of units.
    n_layers : int, default=None
        Layers of the generative network, the output among them: 1 is log-linear, 2 has one hidden layer. Hidden ones
        are as wide as the first of ``hidden_layer_sizes``. None takes the recipe's, 1 but for those of papers.
    inference : {"auto", "amortised", "svi", "refined"}, default="auto"
        How local parameters are found in training: by the inference network; from nothing, for each batch, without a
        network; or from the network's word, for each batch. The last two take ``inner_steps`` passes for each step.
        "auto" takes the recipe's, "amortised".
    inner_steps : int, default=100
        Steps of each batch's ascent, with "svi" and "refined". Codes and scores take ``refine_steps``, which for "svi"
        are as many when left at 0.
    inner_learning_rate : float, default=0.01
        Their size in training. Codes, scores and early stopping take steps of 0.02 that become smaller, whatever it is.
    inner_beta1 : float, default=0.9
        How much of its first moment the ascent's Adam keeps; the authors' code has 0.1.
    inner_keep : {"last", "best"}, default="last"
        The iterate to learn from: the last, or each row's best of a few on the way.
    phase_order : {"model-first", "encoder-first"}, default="model-first"
        With "refined", which of the two networks moves first; the authors' code moves the encoder first.
    encoder_by : {"bound", "kl"}, default="bound"
        With "refined", what the inference network learns from: the bound, or the divergence of the optimised posterior
        from its own.
    refined_epochs : tuple of two, default=None
        With "refined", the epochs between which local parameters are optimised, such as ``(0, 10)`` for the first ten
        or ``(10, None)`` for all but these; None optimises throughout.
    features : {"auto", "tfidf", "norm", "unit", "log", "counts"}, default="auto"
        What the inference network reads of the counts, which the likelihood sees as they are: tf-idf weights, shares
        of the total, rows of length 1, :math:`\log(1+x)`, or the values as they are. "auto" takes the recipe's:
        "tfidf" for counts, else what suits the values.
    idf : {"paper", "smooth"}, default="paper"
        :math:`\log(D/d)` or scikit-learn's :math:`1 + \log\frac{1+D}{1+d}`, for d of D training rows.
    activation : {"auto", "relu", "tanh", "gelu", "silu", "leaky-relu", "linear"}, default="auto"
        Of all hidden layers. "auto" takes the recipe's, "relu".
    dropout : float, default=None
        Share of the features' entries left out in training. None takes the recipe's, 0.
    weight_decay : float, default=None
        What is added to gradients for each unit of weight. None takes the recipe's, 0.
    decoupled_weight_decay : bool, default=None
        Take ``weight_decay`` times the learning rate from the weights instead, as AdamW does; then 0.1 is a usual size.
        None takes the recipe's, False but for "likes", unless ``weight_decay`` is given.
    kl_weight : float, default=None
        Weight of the divergence in training; reported bounds always have weight 1. None takes the recipe's, 1.
    kl_annealing : {"auto", "none", "linear", "exponential"}, default="auto"
        How the weight of the divergence grows from a hundredth of itself. "auto" takes the recipe's, "none".
    kl_annealing_steps : int, default=None
        Over how many steps. None takes the recipe's, 10,000, and at most half of those that the fit may take.
    latent : {"gaussian", "spike-slab"}, default="gaussian"
        "spike-slab" gives sparse codes, as `VSC` with a joint prior.
    density, l0 : float, default=None
        With sparse codes, the mean share or number of active units that a controller holds; at most one may be given,
        and none means ``density=0.05``, at least 4 units.
    max_active : int, default=None
        With sparse codes, a ceiling on the active units of each row when encoding.
    max_share : float, default=None
        With sparse codes, the largest share of rows that any one unit may serve.
    sparse_output : bool, default=True
        Whether `transform` returns sparse codes as a `scipy.sparse.csr_array` or a dense array.
    {shared}

    Attributes
    ----------
    {learned}
    gate_shift_ : float
        With sparse codes, what was added to every gate's logit at the end.

    References
    ----------
    Krishnan, Liang and Hoffman (2018), On the challenges of learning with inference networks on sparse,
    high-dimensional data.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, fewhot as fh
    >>> X = sp.csr_array(np.random.default_rng(0).poisson(0.2, (100, 30)))
    >>> nfa = fh.NFA(n_components=5, max_steps=20, random_state=0).fit(X)
    >>> nfa.transform(X).shape
    (100, 5)
    """

    _histories_in = np.float64  # counts too large for float32 are refused, not rounded
    fixed_priors = ()
    alpha = None
    dense_start = 0.0
    in_words: ClassVar[dict[str, str]] = {
        "{and_decoder}": "the first of which is that of the decoder's",
        "{auto_likelihood}": '"multinomial"',
        "{and_back}": "; the decoder is a perceptron all the same",
        "{learned}": f"""{LEARNED}
    recipe_ : str
        The recipe that was fitted: the one named, or "likes" or "counts" by what the rows are.""",
    }
    recipes: ClassVar[dict[str | None, Recipe]] = dict(RECIPES)

    def __init__(
        self,
        n_components: int = 64,
        *,
        n_layers: int | None = None,
        inference: str = "auto",
        inner_steps: int = 100,
        inner_learning_rate: float = 0.01,
        inner_beta1: float = 0.9,
        inner_keep: str = "last",
        phase_order: str = "model-first",
        encoder_by: str = "bound",
        refined_epochs: tuple[int, int | None] | None = None,
        features: str = "auto",
        idf: str = "paper",
        activation: str = "auto",
        dropout: float | None = None,
        weight_decay: float | None = None,
        decoupled_weight_decay: bool | None = None,
        kl_weight: float | None = None,
        kl_annealing: str = "auto",
        kl_annealing_steps: int | None = None,
        latent: str = "gaussian",
        density: float | None = None,
        l0: float | None = None,
        max_active: int | None = None,
        max_share: float | None = None,
        sparse_output: bool = True,
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
        self.n_layers = n_layers
        self.inference = inference
        self.inner_steps = inner_steps
        self.inner_learning_rate = inner_learning_rate
        self.inner_beta1 = inner_beta1
        self.inner_keep = inner_keep
        self.phase_order = phase_order
        self.encoder_by = encoder_by
        self.refined_epochs = refined_epochs
        self.features = features
        self.idf = idf
        self.activation = activation
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.decoupled_weight_decay = decoupled_weight_decay
        self.kl_weight = kl_weight
        self.kl_annealing = kl_annealing
        self.kl_annealing_steps = kl_annealing_steps
        self.latent = latent
        self.density = density
        self.l0 = l0
        self.max_active = max_active
        self.max_share = max_share
        self.sparse_output = sparse_output
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

    @in_float32()
    def perplexity(self, X: Any, average: str = "document") -> float:
        r"""Return perplexity by the bound, the divergence inside; rows without counts are left out.

        ``average="document"`` is :math:`\exp(-\frac{1}{D}\sum_d L_d/N_d)`, as published; ``"corpus"`` is
        :math:`\exp(-\sum_d L_d / \sum_d N_d)`. With ``refine_steps`` the bounds are refined ones.
        """
        one_of("average", average, ("document", "corpus"))
        check_is_fitted(self)
        if self.likelihood_ != "multinomial":
            raise InvalidParameterError(
                f"Perplexity is of proportions, likelihood='multinomial', and this model has {self.likelihood_!r}; "
                f"compare models of the same likelihood by their bounds, score(X)."
            )
        data = self._rows(X)
        return perplexity(score(self.module_, data, self._encoding()), data.totals(), average)

    def _score_rows(self, rows: Histories) -> np.ndarray:
        """Return what the decoder expects of every item, given the code of each row; of an empty row, the mean row."""
        scores = self._decoded(self._encoded(self._supported(as_dataset(rows))))
        if self.references_ is not None:
            head = self.module_.decoder.head
            total = head.total.item() if isinstance(head, MultinomialLikelihood) else 1.0
            scores[np.diff(rows.indptr) == 0] = total * self.references_.columns.loc
        return scores

    def _similarity(self, items: np.ndarray) -> np.ndarray:
        """Return the cosine between the items' rows of the decoder's last layer."""
        weights = self.module_.decoder.output_weights[: self.n_features_in_]
        return cosine(weights.cpu().numpy(), items)

    def _training_rows(self, X: Any, y: Any, *, goes_on: bool) -> Dataset:
        data = super()._training_rows(X, y, goes_on=goes_on)
        if data.spec.maximum <= 0 <= data.spec.minimum:
            raise InvalidInputError("X holds nothing but zeros; give counts, some of them above 0.")
        return data

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        self._refuse_unused()
        return nfa(
            spec,
            **self._model_arguments(spec),
            n_layers=self._chosen("n_layers"),
            activation=self._chosen("activation"),
            features=self._chosen("features"),
            smooth_idf=self.idf == "smooth",
            dropout=self._chosen("dropout"),
            inference=procedure(self, -(-spec.n_rows // min(self._chosen("batch_size"), spec.n_rows)), n_steps),
            kl_weight=self._weight_of_kl,
            schedules={"learning_rate": rate_decay(n_steps), **self._annealing(n_steps)},
            l0=self._asked(),
            max_share=self.max_share,
            n_steps=n_steps,
        )

    def _annealing(self, n_steps: int) -> dict[str, Schedule]:
        how = self._chosen("kl_annealing")
        if how == "none":
            return {}
        steps = self._chosen("kl_annealing_steps")
        if self.kl_annealing_steps is None:  # a fit shorter than the recipe's ends with the whole weight, too
            steps = max(1, min(steps, n_steps // 2))
        return {"kl_weight": ANNEALINGS[how](FIRST_KL_WEIGHT, 1.0, steps)}

    def _gives_sparse(self) -> bool:
        return super()._gives_sparse() and self.latent == "spike-slab"

    def _asked(self) -> float | None:
        return super()._asked() if self.latent == "spike-slab" else None

    def _check_parameters(self) -> None:
        one_of("latent", self.latent, LATENTS)
        given = [*self._given(), *(name for name in ("max_active", "max_share") if getattr(self, name) is not None)]
        if self.latent == "gaussian" and given:
            raise InvalidParameterError(
                f"{given[0]} says how sparse codes are, and {type(self).__name__} has dense codes by default; for "
                f"sparse ones give latent='spike-slab'."
            )
        super()._check_parameters()
        check_inference(self)
        one_of("features", self.features, ("auto", *INPUTS))
        one_of("idf", self.idf, ("paper", "smooth"))
        one_of("activation", self.activation, ("auto", *ACTIVATIONS))
        one_of("kl_annealing", self.kl_annealing, ("auto", "none", *ANNEALINGS))
        if self.kl_annealing_steps is not None:
            whole_number("kl_annealing_steps", self.kl_annealing_steps)
        if self.n_layers is not None and whole_number("n_layers", self.n_layers) > MOST_LAYERS:
            raise InvalidParameterError(f"n_layers is {self.n_layers}; it must be at most {MOST_LAYERS}.")
        for name, high in (("dropout", 0.99), ("weight_decay", 1.0), ("kl_weight", LARGEST_WEIGHT)):
            if getattr(self, name) is not None:
                real_number(name, getattr(self, name), low=0, high=high)
        if self.decoupled_weight_decay is not None:
            truth("decoupled_weight_decay", self.decoupled_weight_decay)
        if self.latent == "spike-slab" and self._chosen("inference") == "svi":
            raise InvalidParameterError(
                "inference='svi' has no network whose gates the dial could set, and latent='spike-slab' needs it; give "
                "inference='refined' or 'amortised'."
            )

    def _refuse_unused(self) -> None:
        """Refuse what was given and would change nothing. A saved model that was given such things still loads."""
        refuse_unused_inference(self)
        features = self._chosen("features")
        if self.kl_annealing_steps is not None and self._chosen("kl_annealing") == "none":
            raise InvalidParameterError(
                "kl_annealing_steps says how long the weight of the divergence grows, and kl_annealing='none' keeps it "
                "fixed; give kl_annealing='linear'."
            )
        if self.idf != "paper" and features not in ("auto", "tfidf"):
            raise InvalidParameterError(
                f"idf says how words are weighted, and features={features!r} has no such weights; give "
                f"features='tfidf'."
            )
