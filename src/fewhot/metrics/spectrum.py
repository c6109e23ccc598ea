"""How many directions of the code a decoder listens to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fewhot.core.checks import whole_number
from fewhot.core.devices import in_float32
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.memory import within_memory
from fewhot.core.seeding import resolve_seed, stream
from fewhot.metrics.matrices import as_numbers
from fewhot.metrics.proportions import decoder_module, log_proportions

USED_VALUE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectrum:
    """Singular values of a decoder's Jacobian.

    Attributes
    ----------
    values
        The singular values, largest first, (min(V, K),).
    used
        How many of them exceed 1.
    """

    values: np.ndarray
    used: int


@in_float32()
@within_memory("give fewer n_draws")
def jacobian_spectrum(decoder: Any, at: Any = None, *, n_draws: int = 0, random_state: Any = 0) -> Spectrum:
    r"""Return the singular values of the decoder's Jacobian at a code, or of its mean over codes of the prior.

    .. math:: J(z) = \frac{\partial \log \mathrm{softmax}(f(z))}{\partial z} \in \mathbb{R}^{V \times K}, \qquad
        \frac{1}{S}\sum_s J(z_s), \quad z_s \sim p(z)

    Memory is in proportion to V K, however large the vocabulary.

    Parameters
    ----------
    decoder
        A fitted estimator with a multinomial likelihood, or a function from a code (K,) to log proportions (V,), both
        torch tensors.
    at
        The code, (K,); the zero code when None, which a function does not know the length of.
    n_draws
        Draws S of the prior over which the Jacobian is averaged, instead of taking it at one code; 0 for none.
    random_state
        Seed of the draws.

    References
    ----------
    Krishnan, Liang and Hoffman (2018), On the challenges of learning with inference networks on sparse,
    high-dimensional data.

    Examples
    --------
    >>> weights = torch.tensor([[3.0, 0.0], [0.0, 0.5]])
    >>> jacobian_spectrum(lambda z: weights @ z, at=[0.0, 0.0]).used
    1
    """
    module = _module_of(decoder)
    if module is None and n_draws:
        raise InvalidParameterError("n_draws is above 0 and decoder is a function, which has no prior; give a code.")
    if at is not None and n_draws:
        raise InvalidParameterError("Both at and n_draws were given; give at most one.")
    if module is None and at is None:
        raise InvalidParameterError("at is None and decoder is a function; give the code to differentiate at.")
    if module is None:
        jacobian = _jacobian(decoder, torch.as_tensor(_code(at), dtype=torch.float32))
    else:
        codes = _codes(module, at, whole_number("n_draws", n_draws, least=0), random_state)
        jacobian = torch.zeros((), dtype=torch.float64, device=codes.device)
        for code in codes:  # one at a time: each is (V, K)
            jacobian = jacobian + _jacobian(lambda z: log_proportions(module, z[None])[0], code) / len(codes)
    values = np.linalg.svd(jacobian.cpu().double().numpy(), compute_uv=False)
    return Spectrum(values=values, used=int((values > USED_VALUE).sum()))


def _module_of(decoder: Any) -> Any:
    """Return the fitted module of an estimator; None for a function."""
    return None if callable(decoder) else decoder_module(decoder)


def _codes(module: Any, at: Any, n_draws: int, random_state: Any) -> Tensor:
    """Return the codes to differentiate at, (n, K)."""
    device = next(module.parameters()).device
    if not n_draws:
        code = np.zeros(module.latent.n_latent) if at is None else _code(at, module.latent.n_latent)
        return torch.as_tensor(code, dtype=torch.float32, device=device)[None]
    with torch.no_grad():
        generator = stream(resolve_seed(random_state), "spectrum", device=device)
        return module.prior.sample(n_draws, module.posterior_of, generator)


def _code(at: Any, n_units: int | None = None) -> np.ndarray:
    """Return a code as an array, (K,); None lets it have any length."""
    code = as_numbers(at, "at", "a unit")
    if code.ndim != 1 or not code.size or len(code) != (n_units or len(code)) or not np.isfinite(code).all():
        wanted = "finite numbers, one a unit" if n_units is None else f"{n_units} finite numbers"
        raise InvalidInputError(f"at has shape {code.shape}; it must be a code of {wanted}.")
    return code


def _jacobian(function: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
    """Return (V, K) column by column: the pull-back is linear in its argument, so its own gradient pushes forward."""
    z = z.detach().requires_grad_()
    with torch.enable_grad():
        out = function(z)  # (V,)
        weights = torch.zeros_like(out, requires_grad=True)
        (pulled,) = torch.autograd.grad(out, z, weights, create_graph=True)  # (K,)
        columns = [torch.autograd.grad(entry, weights, retain_graph=True)[0] for entry in pulled]
    return torch.stack(columns, dim=1)
