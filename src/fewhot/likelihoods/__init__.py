"""Likelihoods: decoder output -> p(x | z) over whole rows, dense or ragged. One family a file.

Each family is found by name in `fewhot.core.registry.LIKELIHOODS`; importing this package registers them all.
"""

from fewhot.likelihoods.base import Likelihood
from fewhot.likelihoods.bernoulli import BernoulliLikelihood
from fewhot.likelihoods.counts import CountLikelihood
from fewhot.likelihoods.gaussian import GaussianLikelihood
from fewhot.likelihoods.laplace import LaplaceLikelihood
from fewhot.likelihoods.multinomial import MultinomialLikelihood, MultinomialRows
from fewhot.likelihoods.negative_binomial import NegativeBinomialLikelihood
from fewhot.likelihoods.poisson import PoissonLikelihood
from fewhot.likelihoods.rows import ElementwiseRows
from fewhot.likelihoods.standardised import StandardisedLikelihood

__all__ = [
    "BernoulliLikelihood",
    "CountLikelihood",
    "ElementwiseRows",
    "GaussianLikelihood",
    "LaplaceLikelihood",
    "Likelihood",
    "MultinomialLikelihood",
    "MultinomialRows",
    "NegativeBinomialLikelihood",
    "PoissonLikelihood",
    "StandardisedLikelihood",
]
