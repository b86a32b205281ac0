"""The tables of coverage in a terminal: no number is cut, none is rounded to all or nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rushhour.cli.coverage import _show_never, _table
from rushhour.coverage.totals import Share, Totals


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_name_takes_no_digit_of_a_number(width: int) -> None:
    row = Totals("drivers/net/bonding/bond_main_of_all.c", Share(411, 2978), Share(31, 188), Share(154, 2073))
    text = io.StringIO()
    _table(Console(file=text, width=width), [row], "file")
    said = text.getvalue()
    assert "…" not in said
    assert max(map(len, said.splitlines())) <= width
    assert all(part in said for part in ("411/2978", "14 %", "31/188", "16 %", "154/2073", "7 %"))


@pytest.mark.parametrize(
    ("executed", "total", "said"),
    [
        (0, 900, "0 %"),
        (1, 900, "<1 %"),
        (9, 900, "1 %"),
        (899, 900, ">99 %"),
        (900, 900, "100 %"),
        (1, 2, "50 %"),
    ],
)
def test_some_are_not_none_and_most_are_not_all(executed: int, total: int, said: str) -> None:
    assert Share(executed, total).said == said


def test_functions_that_nothing_executes_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"name": "lonely", "first": 1, "last": 2}
    _show_never({"a.c": [], "b.c": [one], "c.c": [one, one]})
    said = capsys.readouterr().out
    assert "a.c: every function is executed" in said
    assert "b.c: 1 function is never executed" in said
    assert "c.c: 2 functions are never executed" in said
