"""The rules of the library's tests."""

from tests.conftest import _same_seed, pytest_make_parametrize_id

__all__ = ["_same_seed", "pytest_make_parametrize_id"]
