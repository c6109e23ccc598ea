"""How an estimator finds the local parameters of rows: its arguments, checked and turned into a procedure."""

from __future__ import annotations

from typing import Any

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.inference import SVI, Amortised, Inference, Refined
from fewhot.inference.refined import KEPT, ORDERS, TEACHERS

INFERENCES = ("amortised", "svi", "refined")


def procedure(estimator: Any, epoch: int, n_steps: int) -> Inference:
    """Return the inference procedure; ``epoch`` is how many steps one has, of ``n_steps`` in all."""
    decay = {
        "weight_decay": estimator._chosen("weight_decay"),
        "decoupled_weight_decay": estimator._decays_decoupled,
    }
    ascent = (estimator.inner_steps, estimator.inner_learning_rate, estimator.inner_beta1, estimator.inner_keep)
    match estimator._chosen("inference"):
        case "amortised":
            return Amortised(**decay)
        case "svi":
            return SVI(*ascent, **decay)
        case _:
            begin, end = estimator.refined_epochs or (0, None)
            if begin * epoch >= n_steps:
                raise InvalidParameterError(
                    f"refined_epochs is {estimator.refined_epochs!r}, and the fit ends after {n_steps / epoch:.3g} "
                    f"epochs; begin sooner, or give more max_steps."
                )
            return Refined(
                *ascent,
                **decay,
                order=estimator.phase_order,
                encoder_by=estimator.encoder_by,
                begin=begin * epoch,
                end=None if end is None else end * epoch,
            )


def check_inference(estimator: Any) -> None:
    """Refuse arguments of the wrong kind or size."""
    one_of("inference", estimator.inference, ("auto", *INFERENCES))
    one_of("inner_keep", estimator.inner_keep, KEPT)
    one_of("phase_order", estimator.phase_order, ORDERS)
    one_of("encoder_by", estimator.encoder_by, TEACHERS)
    whole_number("inner_steps", estimator.inner_steps)
    real_number("inner_learning_rate", estimator.inner_learning_rate, low=0, open_low=True)
    real_number("inner_beta1", estimator.inner_beta1, low=0, high=0.999)
    _check_epochs(estimator.refined_epochs, estimator._chosen("inference"))


def refuse_unused_inference(estimator: Any) -> None:
    """Refuse what was given and would change nothing."""
    inference = estimator._chosen("inference")
    for name, default in (("phase_order", ORDERS[0]), ("encoder_by", TEACHERS[0])):
        if inference != "refined" and getattr(estimator, name) != default:
            raise InvalidParameterError(
                f"{name} says how the two networks learn from optimised local parameters, and "
                f"inference={inference!r} does not; give inference='refined'."
            )


def _check_epochs(given: Any, inference: str) -> None:
    if given is None:
        return
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidParameterError(f"refined_epochs is {given!r}; it must be two epochs, such as (0, 10).")
    if inference != "refined":
        raise InvalidParameterError(
            f"refined_epochs says when local parameters are optimised, and inference={inference!r} "
            f"does not choose; give inference='refined'."
        )
    begin, end = given
    whole_number("the first of refined_epochs", begin, least=0)
    if end is not None and whole_number("the second of refined_epochs", end) <= begin:
        raise InvalidParameterError(f"refined_epochs is {given!r}; the second must be larger than the first.")
