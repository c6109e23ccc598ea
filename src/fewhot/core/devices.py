"""Choosing devices and the precision of matrix products."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidParameterError

_WORTH_THREADS = 5e7
"""Products in a step: two threads gain nothing at 2e7, and a third at 1.5e8."""
PRECISIONS = ("auto", "float32", "tf32", "bf16")


def resolve_device(device: str | torch.device) -> torch.device:
    """Return the device to train on; ``"auto"`` takes CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InvalidParameterError(f"device is {device!r}; it must be 'auto', 'cpu', 'cuda' or 'cuda:N'.") from error
    if resolved.type not in ("cpu", "cuda"):
        raise InvalidParameterError(f"device is {device!r}; it must be 'auto', 'cpu', 'cuda' or 'cuda:N'.")
    if resolved.type == "cuda" and (resolved.index or 0) >= torch.cuda.device_count():
        built = "" if torch.version.cuda else " (this build of torch is for CPUs only)"
        raise InvalidParameterError(f"device is {device!r} and torch does not offer it here{built}; use device='auto'.")
    return resolved


def resolve_precision(precision: str, device: torch.device) -> str:
    """Return the precision of the networks' matrix products; probabilities are always float32."""
    one_of("precision", precision, PRECISIONS)
    if precision == "auto":
        return "tf32" if device.type == "cuda" else "float32"
    return precision


@contextmanager
def matrix_precision(precision: str, device: torch.device) -> Generator[None, None, None]:
    """Run a block with the networks' products in ``precision``, and give the caller's setting back."""
    before, wanted = torch.get_float32_matmul_precision(), "high" if precision == "tf32" else "highest"
    if before == wanted and precision != "bf16" and not torch.is_autocast_enabled(device.type):
        yield  # nothing to change, which is every step on a CPU
        return
    torch.set_float32_matmul_precision(wanted)
    try:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def few_threads(n_products: float, device: torch.device) -> Generator[None, None, None]:
    """Run a block of steps of so many products each, and on a CPU those that are small with one thread.

    Threads of a small step wait for each other longer than they compute: alone on two cores, a table of 30 columns is
    fitted as quickly with one, and two or three times as quickly where another program wants the cores, too.
    """
    before = torch.get_num_threads()
    if device.type != "cpu" or n_products >= _WORTH_THREADS or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def in_float32() -> Generator[None, None, None]:
    """Run a block, or a function, with new tensors in single precision, and give the caller's default back."""
    before = torch.get_default_dtype()
    if before != torch.float32:
        torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        if before != torch.float32:
            torch.set_default_dtype(before)
