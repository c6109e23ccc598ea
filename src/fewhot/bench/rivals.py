"""The loops that `fit` is measured against, written as plainly as people write them."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

N_COLUMNS, HIDDEN, UNITS, BATCH = 784, 400, 200, 100


class HandWrittenVAE:
    """The shortest honest loop: everything in memory, no logging."""

    def __init__(self, X: np.ndarray) -> None:
        self.data = torch.from_numpy(X)
        self.encoder = nn.Sequential(nn.Linear(N_COLUMNS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * UNITS))
        self.decoder = nn.Sequential(nn.Linear(UNITS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, N_COLUMNS))
        self.optimiser = torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=1e-3)

    def rate(self, n_steps: int) -> float:
        """Take steps and return how many a second."""
        begin = time.perf_counter()
        for _ in range(n_steps):
            x = self.data[torch.randint(len(self.data), (BATCH,))]
            loc, logvar = self.encoder(x).chunk(2, dim=1)
            logits = self.decoder(loc + torch.randn_like(loc) * torch.exp(0.5 * logvar))
            kl = 0.5 * (loc.square() + logvar.exp() - logvar - 1).sum()
            loss = (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + kl) / BATCH
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        return n_steps / (time.perf_counter() - begin)


class DataLoaderVSC:
    """A plain GPU loop over a DataLoader, as most code has it."""

    def __init__(self, X: np.ndarray) -> None:
        self.device = torch.device("cuda")
        self.loader = DataLoader(
            TensorDataset(torch.from_numpy(X)), BATCH, shuffle=True, drop_last=True, pin_memory=True
        )
        self.encoder = nn.Sequential(nn.Linear(N_COLUMNS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 3 * UNITS))
        self.decoder = nn.Sequential(nn.Linear(UNITS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, N_COLUMNS))
        self.encoder.to(self.device)
        self.decoder.to(self.device)
        self.optimiser = torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=1e-3)
        self.prior = float(np.log(0.05 / 0.95))

    def rate(self, n_steps: int) -> float:
        """Take steps after a hundred to warm up, and return how many a second."""
        self._take(100)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        self._take(n_steps)
        torch.cuda.synchronize()
        return n_steps / (time.perf_counter() - begin)

    def _take(self, n_steps: int) -> None:
        taken = 0
        while taken < n_steps:
            for (x,) in self.loader:
                self._step(x.to(self.device, non_blocking=True))
                taken += 1
                if taken == n_steps:
                    break

    def _step(self, x: torch.Tensor) -> None:
        v, loc, logvar = self.encoder(x).chunk(3, dim=1)
        u = torch.rand_like(v).clamp(1e-6, 1 - 1e-6)
        soft = torch.sigmoid((v + torch.log(u) - torch.log1p(-u)) / 0.5)
        gate = (soft > 0.5).float() + soft - soft.detach()
        logits = self.decoder(gate * (loc + torch.randn_like(loc) * torch.exp(0.5 * logvar)))
        p = torch.sigmoid(v)
        slab = 0.5 * p * (loc.square() + logvar.exp() - logvar - 1)
        kl = slab + p * (v - self.prior) + F.logsigmoid(-v) - float(np.log(0.95))
        loss = (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + kl.sum()) / BATCH
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
