"""Bodies: networks from rows or codes to vectors. No probability, no losses."""

from fewhot.nn.autoregression import Autoregression
from fewhot.nn.blank import Blank
from fewhot.nn.conv import Convolutions, PictureOutput, TransposedConvolutions
from fewhot.nn.gru import WordGRU
from fewhot.nn.mlp import MLP, RowsMLP, UserBody
from fewhot.nn.places import Places
from fewhot.nn.pretrained import Pretrained
from fewhot.nn.rows_linear import RowsLinear
from fewhot.nn.twin import Twin
from fewhot.nn.word_scores import word_log_probs

__all__ = [
    "MLP",
    "Autoregression",
    "Blank",
    "Convolutions",
    "PictureOutput",
    "Places",
    "Pretrained",
    "RowsLinear",
    "RowsMLP",
    "TransposedConvolutions",
    "Twin",
    "UserBody",
    "WordGRU",
    "word_log_probs",
]
