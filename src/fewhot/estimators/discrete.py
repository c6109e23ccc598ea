"""What estimators of discrete codes share: how gradients pass the choices."""

from __future__ import annotations

from typing import Any

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.models.discrete import BY_SCORE, ESTIMATORS, LEAST_DRAWS

COMPARED_DRAWS = 4


def discrete_arguments(estimator: Any) -> dict[str, Any]:
    """Return what a model takes of these arguments."""
    name = estimator._chosen("estimator")
    draws = estimator.n_draws or (COMPARED_DRAWS if name in LEAST_DRAWS else 1)
    return {
        "estimator": name,
        "temperature": estimator.temperature,
        "temperature_decay": estimator.temperature_decay,
        "least_temperature": estimator.least_temperature,
        "n_draws": draws,
    }


def check_discrete(estimator: Any) -> None:
    """Refuse arguments of the wrong kind or size."""
    one_of("estimator", estimator.estimator, ("auto", *ESTIMATORS))
    real_number("temperature", estimator.temperature, low=0, open_low=True)
    real_number("temperature_decay", estimator.temperature_decay, low=0, high=1)
    real_number("least_temperature", estimator.least_temperature, low=0, open_low=True)
    falls = estimator.temperature_decay and estimator._chosen("estimator") not in BY_SCORE
    if falls and estimator.temperature < estimator.least_temperature:
        raise InvalidParameterError(
            f"temperature is {estimator.temperature} to begin with, which is below where it stops falling; give a "
            f"least_temperature of at most that, not {estimator.least_temperature}."
        )
    if estimator.n_draws is not None:
        whole_number("n_draws", estimator.n_draws, least=LEAST_DRAWS.get(estimator._chosen("estimator"), 1))
