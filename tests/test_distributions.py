"""Student's t and the normal distribution against SciPy, and against closed forms where SciPy is rougher."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri, stdtr, stdtrit

from rushhour.summary.distributions import normal_quantile, student_quantile, student_two_sided

FREEDOMS = [0.37, 1, 2, 2.22, 3, 4, 7, 10, 19, 30, 55.5, 100, 1000]
QUANTILES = [0.025, 0.3, 0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9999, 0.999999]


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("t", [0, 1e-3, 0.1, 0.5, 1, 1.5, 2, 3, 5, 10, 50, 1e3, 1e6])
def test_tails_are_scipys(freedom: float, t: float) -> None:
    assert student_two_sided(freedom, t) == pytest.approx(2 * stdtr(freedom, -t), rel=1e-11, abs=1e-300)
    assert student_two_sided(freedom, -t) == student_two_sided(freedom, t)


@given(st.floats(1e-12, 1e12))
def test_one_degree_of_freedom_is_cauchys(t: float) -> None:
    assert student_two_sided(1, t) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-12)


@given(st.floats(1e-12, 1e8))
def test_two_degrees_of_freedom_have_a_closed_form(t: float) -> None:
    root = math.sqrt(2 + t * t)
    assert student_two_sided(2, t) == pytest.approx(2 / (root * (root + t)), rel=1e-12)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("p", QUANTILES)
def test_quantiles_are_scipys(freedom: float, p: float) -> None:
    assert student_quantile(freedom, p) == pytest.approx(float(stdtrit(freedom, p)), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("p", [1e-9, *QUANTILES, 1 - 1e-9])
def test_normal_quantiles_are_scipys(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(float(ndtri(p)), rel=1e-13, abs=1e-15)


def test_what_lies_beyond_everything_is_nothing() -> None:
    assert student_two_sided(4, math.inf) == 0
    assert student_two_sided(4, 1e200) == 0
    assert student_two_sided(4, 0) == 1
