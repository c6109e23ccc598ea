"""Decoders over words: codes in, log proportions out."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from fewhot.core.errors import InvalidParameterError


def log_proportions(module: Any, z: Tensor) -> Tensor:
    """Return the log proportions of codes (n, K), (n, V); refuse models of anything but shares of a total."""
    rows = module.decoder.generate(z)
    if not hasattr(rows, "log_probs"):
        raise InvalidParameterError(
            f"The likelihood is {type(module.decoder.head).__name__}, which has no log proportions; fit with "
            f"likelihood='multinomial'."
        )
    return rows.log_probs
