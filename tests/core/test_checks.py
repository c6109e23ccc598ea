"""Checks of arguments, the clip, and devices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fewhot.core.checks import one_each, one_of, real_number, truth, whole_number
from fewhot.core.clipping import clip_below_largest, clip_keeping_gradient
from fewhot.core.devices import matrix_precision, resolve_device, resolve_precision
from fewhot.core.errors import InvalidParameterError


@pytest.mark.parametrize("value", [1, 7, np.int32(7)])
def test_whole_numbers_pass(value: object) -> None:
    assert type(whole_number("n", value)) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, True, None, "3", np.nan])
def test_everything_else_is_no_whole_number(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^n is .*; it must be a whole number of at least 1\.$"):
        whole_number("n", value)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5)])
def test_numbers_in_range_pass(value: object) -> None:
    assert type(real_number("x", value, low=0, high=1)) is float


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf, True, None, "0.5", 1j])
def test_numbers_out_of_range_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^x is .*; it must be a number at least 0 and at most 1\.$"):
        real_number("x", value, low=0, high=1)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_no_number_unless_it_is_asked_for(value: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^x is -?inf; it must be a finite number at least 0\.$"):
        real_number("x", value, low=0)
    assert real_number("x", abs(value), low=0, infinite=True) == np.inf


@pytest.mark.parametrize("values", [[1, 2], (1, 2), np.array([1, 2]), range(1, 3), torch.tensor([1, 2])])
def test_one_for_each_passes(values: object) -> None:
    assert one_each("labels", values, 2, "rows") == [1, 2]


@pytest.mark.parametrize("values", ["ab", b"ab", 2, None, {1, 2}, {1: "a", 2: "b"}, iter([1, 2])])
def test_what_is_no_list_is_not_one_for_each(values: object) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"^labels is of type \w+; give a list of 2, one for each of the rows\.$"
    ):
        one_each("labels", values, 2, "rows")


@pytest.mark.parametrize("values", [[], [1], (1, 2, 3), np.arange(3)])
def test_too_few_and_too_many_are_not_one_for_each(values: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^labels holds \d entries for 2 rows; give one each\.$"):
        one_each("labels", values, 2, "rows")


@pytest.mark.parametrize("values", [np.array(2), np.eye(2)])
def test_a_matrix_and_a_number_are_not_one_for_each(values: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^labels has shape \(.*\) for 2 rows; give one each, \(2,\)\.$"):
        one_each("labels", values, 2, "rows")


@pytest.mark.parametrize("value", [True, False, np.True_])
def test_booleans_pass(value: object) -> None:
    assert truth("b", value) is bool(value)


@pytest.mark.parametrize("value", [0, 1, None, "yes", 0.5])
def test_everything_else_is_no_boolean(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^b is .*; it must be True or False\.$"):
        truth("b", value)


def test_an_open_end_is_refused_itself() -> None:
    with pytest.raises(InvalidParameterError, match=r"^x is 0; it must be a number above 0\.$"):
        real_number("x", 0, low=0, open_low=True)


@pytest.mark.parametrize("value", ["a", True])
def test_a_choice_passes(value: object) -> None:
    assert one_of("c", value, ("a", True)) == value


@pytest.mark.parametrize("value", ["b", 1, None])
def test_what_is_no_choice_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^c is .*; it must be one of 'a', True\.$"):
        one_of("c", value, ("a", True))


def test_the_clip_bounds_the_value_and_keeps_the_gradient() -> None:
    x = torch.tensor([-30.0, 0.5, 30.0], requires_grad=True)
    clipped = clip_keeping_gradient(x, -20.0, 10.0)
    clipped.sum().backward()
    assert clipped.tolist() == [-20.0, 0.5, 10.0]
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_logits_of_a_choice_keep_their_differences_however_large_they_are() -> None:
    logits = torch.tensor([[160.0, 158.0, 40.0], [0.0, -1.0, 2.0]], requires_grad=True)
    clipped = clip_below_largest(logits)
    assert clipped.tolist() == [[0.0, -2.0, -50.0], [-2.0, -3.0, 0.0]]
    (pushed,) = torch.autograd.grad(clipped.softmax(-1)[0, 0], logits)
    torch.testing.assert_close(pushed[0, 0], torch.tensor(0.8808 * 0.1192), rtol=1e-3, atol=0)


def test_devices_by_name() -> None:
    assert resolve_device("cpu").type == "cpu"
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["tpu9", "cuda:x", None])
def test_devices_that_do_not_exist_are_refused(name: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^device is "):
        resolve_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_without_a_device_says_what_to_do() -> None:
    with pytest.raises(InvalidParameterError, match="use device='auto'"):
        resolve_device("cuda")


def test_precision_follows_the_device_when_automatic() -> None:
    assert resolve_precision("auto", torch.device("cpu")) == "float32"
    assert resolve_precision("auto", torch.device("cuda")) == "tf32"
    assert resolve_precision("bf16", torch.device("cpu")) == "bf16"


def test_matrix_precision_is_given_back() -> None:
    before = torch.get_float32_matmul_precision()
    with matrix_precision("tf32", torch.device("cpu")):
        assert torch.get_float32_matmul_precision() == "high"
        assert not torch.is_autocast_enabled("cpu")
    with matrix_precision("bf16", torch.device("cpu")):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    assert torch.get_float32_matmul_precision() == before
