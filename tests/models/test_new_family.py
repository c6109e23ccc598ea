"""Adding a latent family is one file and one line: it trains, is estimated and is saved before its algebra is done."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.distributions import kl_divergence

from fewhot.codes import encode
from fewhot.codes.encoding import Encoding
from fewhot.core.parts import Part
from fewhot.core.registry import LATENTS
from fewhot.data import as_dataset
from fewhot.inference import exact_bound, refine
from fewhot.inference.evaluation import EXACT
from fewhot.likelihoods import BernoulliLikelihood
from fewhot.models import LatentModel
from fewhot.priors import StandardPrior
from fewhot.training import Settings, Trainer
from tests.parts import assemble, bank_of, batch_of, refinement_noise_of

FILE = '''
import torch
from torch import nn
from torch.distributions import Distribution

from fewhot.core.records import Draw
from fewhot.core.registry import LATENTS
from fewhot.latents import CodeSummary, Latent


class DoubleExponential(Distribution):
    """Laplace, unknown to torch's table of divergences."""

    def __init__(self, loc, scale):
        self.loc, self.scale = loc, scale
        super().__init__(loc.shape, validate_args=False)

    def log_prob(self, value):
        return -(value - self.loc).abs() / self.scale - torch.log(2 * self.scale)


@LATENTS.register("laplace-test")
class LaplaceLatent(Latent):
    refinable = ("loc", "logscale")

    def __init__(self, n_in, n_latent):
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.heads = nn.Linear(n_in, 2 * n_latent)

    def psi(self, h):
        loc, logscale = self.heads(h).chunk(2, dim=-1)
        return {"loc": loc, "logscale": logscale}

    def posterior(self, psi, knobs):
        return DoubleExponential(psi["loc"], psi["logscale"].clamp(-5, 5).exp())

    def noise(self, n_rows, generator):
        uniform = torch.rand(n_rows, self.n_latent, generator=generator, device=generator.device)
        return {"laplace": uniform.clamp(1e-6, 1 - 1e-6)}

    def draw(self, q, noise):
        u = noise["laplace"] - 0.5
        return Draw(q.loc - q.scale * u.sign() * torch.log1p(-2 * u.abs()))

    def summary(self, psi):
        return CodeSummary(psi["loc"], 2 * (2 * psi["logscale"]).exp())
'''


@pytest.fixture
def family(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "laplace_test_family.py"
    path.write_text(FILE)
    spec = importlib.util.spec_from_file_location("laplace_test_family", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["laplace_test_family"] = module
    spec.loader.exec_module(module)
    yield module
    LATENTS.remove("laplace-test")
    del sys.modules["laplace_test_family"]


@pytest.fixture
def model(family: ModuleType) -> LatentModel:
    return assemble(LATENTS["laplace-test"](12, 3), StandardPrior(3), BernoulliLikelihood(6))


@pytest.fixture
def data() -> np.ndarray:
    """Return rows with two bits of information, three times over."""
    bits = np.random.default_rng(0).integers(0, 2, (200, 2)).astype(np.float32)
    return np.repeat(bits, 3, axis=1)


def test_its_divergence_is_estimated_from_the_draw(model: LatentModel, data: np.ndarray) -> None:
    batch, (noise,) = batch_of(torch.from_numpy(data)), bank_of(model, 1)
    result = model.run(model.psi(batch), batch, EXACT, noise)
    with pytest.raises(NotImplementedError):
        kl_divergence(result.q, result.p)
    z = result.draw.z
    torch.testing.assert_close(model.divergence(result)["kl"], (result.q.log_prob(z) - result.p.log_prob(z)).sum(-1))


def test_its_estimated_divergence_has_the_mean_of_the_true_one(model: LatentModel) -> None:
    n = 50_000
    psi = {"loc": torch.full((n, 3), 0.7), "logscale": torch.full((n, 3), -1.0)}
    q = model.latent.posterior(psi, EXACT)
    draw = model.latent.draw(q, model.latent.noise(n, torch.Generator().manual_seed(0)))
    estimate = model.latent.divergence(q, model.prior(None), draw)["kl"]
    true = 3 * kl_divergence(torch.distributions.Laplace(0.7, np.exp(-1.0)), torch.distributions.Normal(0.0, 1.0))
    assert abs(estimate.mean() - true) < 4 * estimate.std() / n**0.5


def test_it_trains(model: LatentModel, data: np.ndarray) -> None:
    rows = as_dataset(data)
    settings = Settings(max_steps=60, batch_size=50, learning_rate=0.02, evaluate_every=30, compile=False)
    bank, batch = bank_of(model, 16), batch_of(torch.from_numpy(data))
    before = exact_bound(model, batch, bank).mean()
    history = Trainer(model, settings).fit(rows, None)
    after = exact_bound(model, batch, bank).mean()
    assert after > before + 0.5
    assert [record["step"] for record in history] == [30, 60]
    assert {"reconstruction", "kl"} <= set(history[0]["terms"])


def test_it_encodes_and_refines(model: LatentModel, data: np.ndarray) -> None:
    codes = encode(model, as_dataset(data), Encoding(refine_steps=5), sparse=True)
    assert codes.values.shape == (200, 3)
    assert codes.p_active is None
    noise, batch = refinement_noise_of(model, 4), batch_of(torch.from_numpy(data))
    with torch.no_grad():
        psi = model.psi(batch)
    better = refine(model, batch, psi, noise, 10)
    before, after = (exact_bound(model, batch, noise.judges, p) for p in (psi, better))
    assert (after >= before - 1e-4).all()


def test_it_is_saved_and_rebuilt(model: LatentModel, data: np.ndarray) -> None:
    config = json.loads(json.dumps(model.to_config()))
    assert config["args"]["latent"]["part"] == "latent family/laplace-test"
    again = Part.from_config(config)
    again.load_state_dict(model.state_dict())
    bank, batch = bank_of(model, 2), batch_of(torch.from_numpy(data))
    assert torch.equal(exact_bound(again, batch, bank), exact_bound(model, batch, bank))


def test_the_registry_is_clean_afterwards() -> None:
    assert "laplace-test" not in LATENTS
