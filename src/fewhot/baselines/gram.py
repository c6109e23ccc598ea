"""The Gram matrix of sparse histories, dense and without a dense copy of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fewhot.estimators.validation import Histories

_BLOCK = 512


def gram(rows: Histories) -> np.ndarray:
    r"""Return :math:`X^\top X`, (items, items), in the type of X; time grows with the squared lengths of histories."""
    n_items = rows.shape[1]
    by_item: Histories = sp.csr_array(rows.T)
    product = np.empty((n_items, n_items), dtype=rows.dtype)
    for start in range(0, n_items, _BLOCK):
        block = slice(start, start + _BLOCK)
        product[block] = (by_item[block] @ rows).toarray()
    return product
