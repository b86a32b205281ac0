"""Settings that change, as functions of time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.record import courses

SECOND_NS = 1_000_000_000

_STEPS = st.lists(
    st.tuples(st.integers(1, 10 * SECOND_NS), st.integers(0, 10**10)),
    max_size=8,
    unique_by=lambda one: one[0],
)
_SPANS = st.lists(
    st.tuples(st.integers(0, 12 * SECOND_NS), st.integers(0, 12 * SECOND_NS)).map(sorted), max_size=8
)


@given(first=st.integers(0, 10**10), later=_STEPS, spans=_SPANS)
def test_the_sums_of_many_spans_are_those_of_each(
    first: int, later: list[tuple[int, int]], spans: list[list[int]]
) -> None:
    """A rate's bits until an instant, taken twice, are what it lets through between."""
    course = ((0, float(first)), *((t_ns, float(value)) for t_ns, value in sorted(later)))
    begin, done = (np.array([span[place] for span in spans], np.float64) * 1e-9 for place in (0, 1))
    found = courses.integrals(course, begin, done)
    expected = [courses.integral(course, since, until) for since, until in spans]
    assert found == pytest.approx(expected, rel=1e-9, abs=100.0)  # of as many as 1.2e11


def test_a_course_holds_its_first_value_before_its_first_instant() -> None:
    """As `values` says, and what is summed up goes by it."""
    course = ((2 * SECOND_NS, 10.0), (3 * SECOND_NS, 20.0))
    at = np.array([0.0, 2.0, 2.5, 3.0, 9.0])
    assert courses.values(course, at).tolist() == [10, 10, 10, 20, 20]
    assert courses.integrals(course, np.array([0.0, 1.0]), np.array([2.5, 4.0])).tolist() == [25, 40]
