"""What a page carries comes back: exactly where numbers are whole, to a known precision elsewhere."""

import base64
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rushhour.report import embed

WHOLE = st.lists(st.one_of(st.integers(-(2**31) + 2, 2**31 - 2).map(float), st.just(float("nan"))))
REAL = st.lists(st.one_of(st.floats(-1e12, 1e12), st.just(float("nan"))), min_size=1)


def round_trip(values: list[float], scale: float) -> np.ndarray:
    header, columns = embed.unpack(embed.pack({}, [(np.array(values, float), scale)]))
    assert header["format"] == "rushhour-series/1"
    return columns[0]


@given(WHOLE)
def test_whole_numbers_and_gaps_come_back_exactly(values: list[float]) -> None:
    assert_array_equal(round_trip(values, 1.0), np.array(values, float))


@given(REAL)
def test_other_numbers_come_back_to_a_ten_millionth_of_the_largest(values: list[float]) -> None:
    given_values = np.array(values)
    largest = np.max(np.abs(given_values[~np.isnan(given_values)]), initial=0.0)
    back = round_trip(values, embed.value_scale(given_values))
    assert_allclose(back, given_values, rtol=0, atol=max(largest * 1e-7, 1e-290))


def test_a_window_trace_keeps_its_scale_at_one() -> None:
    assert embed.value_scale(np.array([10.0, np.nan, 400.0])) == 1.0


def test_rates_above_31_bits_keep_nine_digits() -> None:
    rate = np.array([9_876_543_210.0, 0.0])
    assert_allclose(round_trip(list(rate), embed.value_scale(rate)), rate, atol=5)


@pytest.mark.parametrize(("duration_s", "scale"), [(30, 1e-6), (2000, 1e-6), (30_000, 1e-4)])
def test_time_is_kept_to_the_microsecond_while_that_fits(duration_s: float, scale: float) -> None:
    assert embed.time_scale(duration_s) == pytest.approx(scale)


def test_columns_keep_their_order_and_the_header_its_words() -> None:
    text = embed.pack(
        {"label": "</script>é"}, [(np.array([1.0]), 1.0), (np.array([]), 1.0), (np.array([2.0]), 1.0)]
    )
    header, columns = embed.unpack(text)
    assert header["label"] == "</script>é"
    assert [column.tolist() for column in columns] == [[1.0], [], [2.0]]
    assert "<" not in text


def test_the_bytes_hold_no_date_and_nothing_of_this_python() -> None:
    packed = base64.b64decode(embed.pack({}, [(np.array([1.0]), 1.0)]))
    assert packed[:10].hex() == "1f8b0800000000000003"
    assert gzip.decompress(packed)[4:].startswith(b'{"format"')
