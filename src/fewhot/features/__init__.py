"""What happens to rows before a network sees them.

Observation transforms define what the model is a density of; feature transforms define what the encoder alone reads.
"""

from fewhot.features.observations import AsIs, StochasticBinarise, UnitNorm
from fewhot.features.transforms import Identity, Log1p, Proportions, Standardise, TfIdf, UnitLength

__all__ = [
    "AsIs",
    "Identity",
    "Log1p",
    "Proportions",
    "Standardise",
    "StochasticBinarise",
    "TfIdf",
    "UnitLength",
    "UnitNorm",
]
