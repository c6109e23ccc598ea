"""Codes: the hand-over from torch to arrays."""

from fewhot.codes.codes import Codes
from fewhot.codes.encoding import encode, encode_values, score, score_terms

__all__ = ["Codes", "encode", "encode_values", "score", "score_terms"]
