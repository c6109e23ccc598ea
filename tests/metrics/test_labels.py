"""F1 against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from fewhot.core.errors import InvalidInputError
from fewhot.metrics import macro_f1, micro_f1


@settings(deadline=None)
@given(truth=arrays(np.bool_, (6, 3)), predicted=arrays(np.bool_, (6, 3)))
def test_f1_agrees_with_scikit_learn(truth: np.ndarray, predicted: np.ndarray) -> None:
    for ours, average in ((micro_f1, "micro"), (macro_f1, "macro")):
        theirs = f1_score(truth, predicted, average=average, zero_division=0)
        for a in (truth, sp.csr_array(truth)):
            for b in (predicted, sp.csr_array(predicted)):
                assert ours(a, b) == pytest.approx(theirs)


def test_a_label_without_positives_and_predictions_counts_as_zero() -> None:
    assert macro_f1([[1, 0]], [[1, 0]]) == 0.5
    assert micro_f1([[0, 0]], [[0, 0]]) == 0.0


def test_labels_of_different_shapes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="one shape"):
        micro_f1([[1, 0]], [[1, 0, 1]])
