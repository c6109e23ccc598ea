"""How discrete codes are trained, by one name: by a gradient through choices, or by the score function."""

from __future__ import annotations

from typing import NamedTuple

from fewhot.core.checks import one_of
from fewhot.core.records import DataSpec
from fewhot.core.schedules import Exponential, Schedule
from fewhot.inference import VIMCO, Amortised, Inference, LeaveOneOut, ScoreFunction
from fewhot.latents import ChoiceEstimator, choice_estimator
from fewhot.latents.choices import BY_NAME as THROUGH_CHOICES
from fewhot.models.defaults import features_for
from fewhot.objectives import LearnedBaseline, Term

BY_SCORE = ("score-function", "muprop", "leave-one-out", "vimco")
ESTIMATORS = (*THROUGH_CHOICES, *BY_SCORE)
LEAST_DRAWS = {"leave-one-out": 2, "vimco": 2}
"""How many draws an estimator needs that compares them."""


class DiscreteTraining(NamedTuple):
    """What a family of choices, a step and an objective take from an estimator."""

    estimator: ChoiceEstimator
    inference: Inference
    terms: list[Term]
    schedules: dict[str, Schedule]


def discrete_training(
    spec: DataSpec,
    name: str,
    temperature: float = 1.0,
    temperature_decay: float = 0.0,
    least_temperature: float = 0.5,
    n_draws: int = 1,
) -> DiscreteTraining:
    r"""Return how to train by the estimator of this name.

    The temperature is constant, or falls as :math:`\max(\tau_{min},\ \tau\,e^{-rt})` with the step t.
    """
    one_of("estimator", name, ESTIMATORS)
    if name in BY_SCORE:
        baseline: list[Term] = []
        if name == "score-function":  # what an expansion leaves of the likelihood is about 0 as it is
            baseline.append(LearnedBaseline(features_for(spec), spec.n_columns))
        return DiscreteTraining(choice_estimator("straight-through"), _by_score(name, n_draws), baseline, {})
    falls = Exponential(temperature, temperature_decay, least_temperature) if temperature_decay else None
    schedules: dict[str, Schedule] = {} if falls is None else {"temperature": falls}
    return DiscreteTraining(choice_estimator(name, temperature), Amortised(n_draws=n_draws), [], schedules)


def _by_score(name: str, n_draws: int) -> Inference:
    match name:
        case "leave-one-out":
            return LeaveOneOut(n_draws)
        case "vimco":
            return VIMCO(n_draws)
        case _:
            return ScoreFunction(expand=name == "muprop", n_draws=n_draws)
