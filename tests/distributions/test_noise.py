import pytest
import torch
from scipy import stats

from fewhot.distributions.noise import latin_normals, latin_uniforms


def test_every_column_visits_every_cell_once() -> None:
    u = latin_uniforms(32, 7, torch.Generator().manual_seed(0))
    cells = (u * 32).long().sort(0).values
    assert torch.equal(cells, torch.arange(32)[:, None].expand(32, 7))


@pytest.mark.parametrize(("draw", "law"), [(latin_uniforms, stats.uniform), (latin_normals, stats.norm)])
def test_each_number_has_its_law(draw: object, law: object) -> None:
    generator = torch.Generator().manual_seed(0)
    first = torch.stack([draw(8, 3, generator)[0, 0] for _ in range(2000)])  # one number of each bank: independent
    assert stats.kstest(first.numpy(), law.cdf).pvalue > 1e-3


def test_columns_are_not_tied_to_each_other() -> None:
    u = latin_uniforms(4096, 2, torch.Generator().manual_seed(0))
    assert abs(torch.corrcoef(u.T)[0, 1]) < 4 / 4096**0.5


def test_means_over_a_bank_vary_less_than_those_of_independent_draws() -> None:
    generator = torch.Generator().manual_seed(0)
    stratified = torch.stack([(latin_uniforms(16, 1, generator) < 0.3).float().mean() for _ in range(200)])
    independent = torch.stack([(torch.rand(16, 1, generator=generator) < 0.3).float().mean() for _ in range(200)])
    assert stratified.std() < 0.5 * independent.std()
