"""Quantities: what is read, what is refused and why, that writing and reading are inverse."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.quantities.units import Buffer, Duration, Probability, Rate, Size, UnitError


@pytest.mark.parametrize(
    ("word", "bps"),
    [
        ("100mbit", 10**8),
        ("1.5gbit", 1_500_000_000),
        ("10kbit", 10_000),
        ("8bit", 8),
        ("64kibit", 65_536),
        ("100Mbit", 10**8),
        (" 1 gbit ", 10**9),
        ("1e3kbit", 10**6),
        ("10tbit", 10**13),
    ],
)
def test_rates_are_read_as_tc_writes_them(word: object, bps: int) -> None:
    assert Rate.parse(word) == Rate(bps)


@pytest.mark.parametrize(
    ("word", "ns"),
    [
        ("20ms", 20_000_000),
        ("1.5s", 1_500_000_000),
        ("100us", 100_000),
        ("250ns", 250),
        ("2min", 120 * 10**9),
    ],
)
def test_durations_are_read(word: object, ns: int) -> None:
    assert Duration.parse(word) == Duration(ns)


def test_both_signs_for_micro_are_read() -> None:
    assert Duration.parse("5µs") == Duration.parse("5μs") == Duration(5_000)


@pytest.mark.parametrize(
    ("word", "size"), [("500kB", 500_000), ("64KiB", 65_536), ("1500B", 1500), ("1.5MB", 1_500_000)]
)
def test_sizes_are_read(word: object, size: int) -> None:
    assert Size.parse(word) == Size(size)


@pytest.mark.parametrize(
    ("word", "buffer"),
    [
        ("500kB", Buffer(bytes=500_000)),
        ("100p", Buffer(packets=100)),
        ("20ms", Buffer(time=Duration(20_000_000))),
        ("1bdp", Buffer(bdp=1.0)),
        ("0.5bdp", Buffer(bdp=0.5)),
    ],
)
def test_buffers_are_read_in_four_ways(word: object, buffer: Buffer) -> None:
    assert Buffer.parse(word) == buffer
    assert str(buffer) == word


@pytest.mark.parametrize(
    ("word", "p"), [("1%", 0.01), ("0.1%", 0.001), (0.01, 0.01), ("100%", 1.0), (0, 0.0)]
)
def test_probabilities_are_percentages_or_fractions(word: object, p: float) -> None:
    assert Probability.parse(word) == Probability(p)


@pytest.mark.parametrize(
    ("kind", "word", "says"),
    [
        (Rate, "100mbps", 'write "100mbit"'),
        (Rate, "10m", 'write "10mbit"'),
        (Rate, "100", "has no unit"),
        (Rate, 100, "has no unit"),
        (Rate, True, "text with a unit"),
        (Rate, None, "text with a unit"),
        (Rate, "-1mbit", "negative"),
        (Rate, "nanmbit", "not a rate"),
        (Rate, "1e99mbit", "too large"),
        (Rate, "11tbit", "too large"),
        (Rate, "0.3bit", "finer than 1 bit/s"),
        (Rate, "5parsec", "not a unit of rate"),
        (Rate, "1" * 1000 + "bit", "not a rate"),
        (Duration, "5m", "write min (or ms)"),
        (Duration, "5sec", "write s"),
        (Duration, "0.5ns", "finer than 1 ns"),
        (Duration, "1001h", "too large"),
        (Duration, 5.0, "has no unit"),
        (Size, "500kb", 'write "500kB" (1000) or "500KiB" (1024)'),
        (Size, "500KB", "ambiguous"),
        (Size, "1500b", 'write "1500B"'),
        (Size, "-5B", "negative"),
        (Buffer, "10", "has no unit"),
        (Buffer, "1.5p", "finer than 1 packet"),
        (Buffer, "1pint", "not a unit of a buffer"),
        (Buffer, "99999bdp", "10000bdp"),
        (Buffer, "1e-9bdp", "0.001bdp"),
        (Buffer, "64kb", "ambiguous"),
        (Probability, 1, "write a percentage"),
        (Probability, float("nan"), "no fraction"),
        (Probability, -0.1, "no fraction"),
        (Probability, 1e-30, "would not happen"),
        (Probability, "101%", "more than 100"),
        (Probability, "0.5", "has no unit"),
    ],
)
def test_what_is_refused_says_what_to_write(kind: Any, word: object, says: str) -> None:
    with pytest.raises(UnitError) as refused:
        kind.parse(word)
    assert says in str(refused.value)


def test_a_buffer_has_exactly_one_limit() -> None:
    with pytest.raises(UnitError):
        Buffer(bytes=1, packets=1)
    with pytest.raises(UnitError):
        Buffer()


def test_canonical_words_use_the_largest_unit_that_divides() -> None:
    assert [str(Rate(bps)) for bps in (10**9, 1_500_000, 65_536, 1)] == [
        "1gbit",
        "1500kbit",
        "64kibit",
        "1bit",
    ]
    assert [str(Duration(ns)) for ns in (0, 90 * 10**9, 1_500_000)] == ["0s", "90s", "1500us"]
    assert [str(Size(size)) for size in (0, 1500, 65_536, 10**6)] == ["0B", "1500B", "64KiB", "1MB"]
    assert [str(Probability(p)) for p in (0.0, 0.01, 1e-7, 1.0)] == ["0%", "1%", "0.00001%", "100%"]


@given(st.integers(0, 10**13))
def test_rates_survive_writing_and_reading(bps: int) -> None:
    assert Rate.parse(str(Rate(bps))) == Rate(bps)


@given(st.integers(0, 3_600_000 * 10**9))
def test_durations_survive_writing_and_reading(ns: int) -> None:
    assert Duration.parse(str(Duration(ns))) == Duration(ns)


@given(st.integers(0, 10**15))
def test_sizes_survive_writing_and_reading(size: int) -> None:
    assert Size.parse(str(Size(size))) == Size(size)


@given(st.floats(0, 1, allow_subnormal=False).filter(lambda p: p == 0 or p > 1e-12))
def test_probabilities_survive_writing_and_reading(p: float) -> None:
    assert Probability.parse(str(Probability(p))) == Probability(p)


@given(
    st.one_of(
        st.integers(0, 10**15).map(lambda n: Buffer(bytes=n)),
        st.integers(0, 10**9).map(lambda n: Buffer(packets=n)),
        st.integers(0, 10**15).map(lambda n: Buffer(time=Duration(n))),
        st.floats(1e-3, 1e4).map(lambda n: Buffer(bdp=n)),
    )
)
def test_buffers_survive_writing_and_reading(buffer: Buffer) -> None:
    assert Buffer.parse(str(buffer)) == buffer


@given(st.text(max_size=60) | st.integers() | st.floats() | st.none() | st.lists(st.integers(), max_size=3))
def test_any_value_is_read_or_refused_with_a_reason(value: Any) -> None:
    for kind in (Rate, Duration, Size, Buffer, Probability):
        reason = _refusal(kind, value)
        assert kind.parse(str(kind.parse(value))) == kind.parse(value) if reason is None else len(reason) > 10


def _refusal(kind: Any, value: Any) -> str | None:
    try:
        kind.parse(value)
    except UnitError as refused:
        return str(refused)
    return None
