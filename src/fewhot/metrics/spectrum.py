"""How many directions of the code a decoder listens to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fewhot.core.errors import InvalidParameterError

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


def jacobian_spectrum(decoder: Any, at: Any = None) -> Spectrum:
    r"""Return the singular values of the decoder's Jacobian at a code.

    .. math:: J = \frac{\partial \log \mathrm{softmax}(f(z))}{\partial z}\Big|_{z} \in \mathbb{R}^{V \times K}

    Parameters
    ----------
    decoder
        A fitted estimator with a multinomial likelihood, or a function from a code (K,) to log proportions (V,), both
        torch tensors.
    at
        The code, (K,); the zero code when None, which a function does not know the length of.

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
    module: Any = getattr(decoder, "module_", None)
    if module is None and at is None:
        raise InvalidParameterError("at is None and decoder is a function; give the code to differentiate at.")
    if module is None:
        jacobian = _jacobian(decoder, torch.as_tensor(np.asarray(at), dtype=torch.float32))
    else:
        code = np.zeros(module.latent.n_latent) if at is None else np.asarray(at)
        z = torch.as_tensor(code, dtype=torch.float32, device=next(module.parameters()).device)
        jacobian = _jacobian(_log_proportions(module), z)
    values = np.linalg.svd(jacobian.cpu().double().numpy(), compute_uv=False)
    return Spectrum(values=values, used=int((values > USED_VALUE).sum()))


def _jacobian(function: Callable[[Tensor], Tensor], z: Tensor) -> Tensor:
    """Return (V, K) column by column: the pull-back is linear in its argument, so its own gradient pushes forward."""
    z = z.detach().requires_grad_()
    with torch.enable_grad():
        out = function(z)  # (V,)
        weights = torch.zeros_like(out, requires_grad=True)
        (pulled,) = torch.autograd.grad(out, z, weights, create_graph=True)  # (K,)
        columns = [torch.autograd.grad(entry, weights, retain_graph=True)[0] for entry in pulled]
    return torch.stack(columns, dim=1)


def _log_proportions(module: Any) -> Callable[[Tensor], Tensor]:
    def log_proportions(z: Tensor) -> Tensor:
        rows = module.decoder.generate(z[None])
        if not hasattr(rows, "log_probs"):
            raise InvalidParameterError(
                f"The likelihood is {type(module.decoder.head).__name__}; this spectrum is of log proportions, so fit "
                f"with likelihood='multinomial' or give a function."
            )
        return rows.log_probs[0]

    return log_proportions
