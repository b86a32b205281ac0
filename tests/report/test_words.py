"""Numbers as people write them."""

import pytest

from rushhour.quantities.words import quantity, scale_for, shortened
from rushhour.report.shares import METRIC as SHARE
from rushhour.report.tables import scale_of


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (95_640_000, "bit/s", "95.64 Mbit/s"),
        (10e9, "bit/s", "10 Gbit/s"),
        (2012.3, "µs", "2.012 ms"),
        (2012.3, "us", "2.012 ms"),
        (500_000, "bytes", "500 kB"),
        (500_000, "B", "500 kB"),
        (0.957, "", "0.957"),
        (1, "%", "1%"),
        (30, "s", "30 s"),
        (0.25, "s", "250 ms"),
        (412, "packets", "412 packets"),
        (1, "segments", "1 segment"),
        (1, "queries", "1 query"),
        (0, "bit/s", "0 bit/s"),
        (None, "bit/s", "\N{EN DASH}"),
        (float("nan"), "s", "\N{EN DASH}"),
    ],
)
def test_quantity(value: float | None, unit: str, said: str) -> None:
    assert quantity(value, unit) == said


@pytest.mark.parametrize(
    "unit", ["bit/s", "µs", "us", "s", "bytes", "packets", "count", "events", "", "ratio", "%"]
)
@pytest.mark.parametrize("power", range(-14, 12))
def test_a_quantity_is_a_column_of_one_value(unit: str, power: int) -> None:
    for value in (0.0, 2.0 * 10.0**power, 1.7 * 10.0**power, -3.4567 * 10.0**power):
        plain = scale_for([value], unit).with_unit(value)
        # Zeros at the end say nothing, but of a ratio.
        number, _, behind = plain.removesuffix("%").partition(" ")
        short = number.rstrip("0").rstrip(".") if "." in number and unit not in ("", "ratio") else number
        kept = quantity(value, unit).removesuffix("%").partition(" ")
        assert (kept[0], kept[2]) == (short, behind)


def test_a_column_has_one_scale_that_its_largest_value_decides() -> None:
    scale = scale_for([95.64e6, 1.2e6, None], "bit/s")
    assert [scale.text(value) for value in (95.64e6, 1.2e6, None)] == ["95.64", "1.20", "\N{EN DASH}"]
    assert scale.unit == "Mbit/s"


def test_a_column_of_small_ratios_has_three_digits_of_each() -> None:
    scale = scale_for([0.0147, 0.015, 0.0142], "")
    assert [scale.text(value) for value in (0.0147, 0.015, 0.0142)] == ["0.0147", "0.0150", "0.0142"]


@pytest.mark.parametrize(
    ("shares", "said"),
    [([0.0344, 0.045, 0.048], ["3.44", "4.50", "4.80"]), ([0.91, 0.09], ["91.0", "9.0"])],
)
def test_shares_of_a_column_have_equally_many_decimals(shares: list[float], said: list[str]) -> None:
    scale = scale_of(SHARE, "1", shares)
    assert [scale.text(value) for value in shares] == said


def test_counts_have_no_decimals() -> None:
    assert scale_for([412.0, 3.0], "packets").text(3.0) == "3"


def test_no_value_of_a_column_loses_its_digits_to_a_greater_one() -> None:
    rates = scale_for([120e6, 31_400, 4, 0], "bit/s")
    assert [rates.text(value) for value in (120e6, 31_400, 4, 0)] == ["120.0", "31.4 kbit/s", "4 bit/s", "0"]
    assert rates.with_unit(31_400) == "31.4 kbit/s"
    times = scale_for([12.0, 0.0004], "s")
    assert [times.text(value) for value in (12.0, 0.0004)] == ["12.00", "400 µs"]
    delays = scale_for([2.5e6, 180.0], "µs")
    assert [delays.text(value) for value in (2.5e6, 180.0)] == ["2.500", "180 µs"]
    ratios = scale_for([0.9, 0.00012], "")
    assert [ratios.text(value) for value in (0.9, 0.00012)] == ["0.900", "0.00012"]
    counts = scale_for([12_345.0, 0.4], "packets")
    assert [counts.text(value) for value in (12_345.0, 0.4)] == ["12345", "0.4"]


@pytest.mark.parametrize("unit", ["bit/s", "µs", "s", "bytes", "packets", "", "%"])
@pytest.mark.parametrize("power", range(-2, 10))
def test_only_zero_is_shown_as_zero(unit: str, power: int) -> None:
    scale = scale_for([3e9, 10.0**power], unit)
    text = scale.text(1.7 * 10.0**power)
    assert float(text.split()[0]) != 0
    assert scale.text(0.0) == "0"


@pytest.mark.parametrize(
    ("letters", "said"),
    [(20, "linux-6.12.117-mine"), (19, "linux-6.12.117-mine"), (10, "linux…mine"), (2, "l…"), (1, "…")],
)
def test_a_name_is_shortened_in_its_middle(letters: int, said: str) -> None:
    assert shortened("linux-6.12.117-mine", letters) == said
