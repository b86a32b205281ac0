"""MPTCP connections in real runs: what is said of the whole and of each subflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_outages import run

from rushhour.explain import explain

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.explain import Explanation

pytestmark = pytest.mark.virtual

CELL = """
title = "Two ways"
question = "What is said of a connection of several paths?"
duration = "10s"
[[node]]
name = "phone"
role = "host"
[[link]]
name = "wifi"
between = ["phone", "ap"]
rate = "20mbit"
delay = "10ms"
buffer = "100kB"
[[link]]
name = "lte"
between = ["phone", "mast"]
rate = "10mbit"
delay = "30ms"
buffer = "100kB"
[[link]]
between = ["ap", "server"]
[[link]]
between = ["mast", "ap"]
[[flow]]
name = "bulk"
kind = "mptcp"
from = "phone"
to = "server"
paths = ["wifi", "lte"]
{more}
"""


def told(more: str, folder: Path) -> dict[str, Explanation]:
    return {one.flow: one for one in explain(run(CELL.format(more=more), folder))}


def test_the_whole_and_its_subflows_are_told(tmp_path: Path) -> None:
    found = told("", tmp_path)
    assert [*found] == ["bulk", "bulk.wifi", "bulk.lte"]
    (whole,) = found["bulk"].findings
    assert "over 2 subflows: bulk.wifi 1" in whole.says
    assert "(scheduler: default)" in whole.says
    assert "for which of them the connection waited, nothing tells" in whole.says
    for name, possible in (("bulk.wifi", 20e6), ("bulk.lte", 10e6)):
        assert found[name].limit == "path"
        assert 0.85 * possible < found[name].goodput_bps < possible
        assert "the path was full" in found[name].findings[0].says
    parts = found["bulk.wifi"].goodput_bps + found["bulk.lte"].goodput_bps
    assert parts == pytest.approx(found["bulk"].goodput_bps, rel=0.05)


def test_a_backup_that_idled_is_called_so(tmp_path: Path) -> None:
    found = told('backup = ["lte"]', tmp_path)
    says = found["bulk.lte"].findings[0].says
    assert found["bulk.lte"].goodput_bps < 1e4
    assert "its connection gave it nothing to send" in says
    assert says.endswith("It is a backup: it carries data only where no other can.")
    assert "backup" not in found["bulk.wifi"].findings[0].says


def test_a_path_that_goes_away_is_dead_from_then_on(tmp_path: Path) -> None:
    gone = '[[pattern]]\nlink = "wifi"\nkey = "rate"\nsteps = [["0s", "20mbit"], ["5s", "0bit"]]'
    found = told(gone, tmp_path)
    assert found["bulk.wifi"].shares["outages"] == pytest.approx(0.5, abs=0.03)
    assert "outages" not in found["bulk.lte"].shares
