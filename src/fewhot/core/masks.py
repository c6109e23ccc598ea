"""A check of numpy's masked arrays, whose masks conversions drop without a word."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError


def check_unmasked(values: Any, name: str = "X") -> None:
    """Refuse a masked array with an entry that is masked; one without is an array like any other."""
    if not isinstance(values, np.ma.MaskedArray):
        return
    n_masked = int(np.ma.getmaskarray(values).sum())  # pyright: ignore[reportUnknownArgumentType]
    if n_masked:
        raise InvalidInputError(
            f"{name} has {n_masked} masked of {values.size} entries; impute or drop the missing values first."
        )
