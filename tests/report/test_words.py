"""Numbers as people write them."""

import pytest

from rushhour.report.words import quantity, scale_for


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
        (0, "bit/s", "0 bit/s"),
        (None, "bit/s", "\N{EN DASH}"),
        (float("nan"), "s", "\N{EN DASH}"),
    ],
)
def test_quantity(value: float | None, unit: str, said: str) -> None:
    assert quantity(value, unit) == said


def test_a_column_has_one_scale_that_its_largest_value_decides() -> None:
    scale = scale_for([95.64e6, 1.2e6, None], "bit/s")
    assert [scale.text(value) for value in (95.64e6, 1.2e6, None)] == ["95.64", "1.20", "\N{EN DASH}"]
    assert scale.unit == "Mbit/s"


def test_counts_have_no_decimals() -> None:
    assert scale_for([412.0, 3.0], "packets").text(3.0) == "3"
