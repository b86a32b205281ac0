"""Values of factors, as files, commands and the names of cells have them."""

from __future__ import annotations

import pytest

from rushhour.quantities.factors import matches


@pytest.mark.parametrize(
    ("wanted", "value", "same"),
    [
        ("true", True, True),
        ("True", True, True),
        ("false", True, False),
        (["false", "true"], True, True),
        (False, "false", True),
        ("1", True, False),
        (10, "10", True),
        ("10ms", "10ms", True),
        ("TRUE", "true", False),
    ],
)
def test_a_word_of_a_command_is_the_value_of_a_file(wanted: object, value: object, *, same: bool) -> None:
    assert matches({"ecn": wanted}, {"ecn": value}) == same
