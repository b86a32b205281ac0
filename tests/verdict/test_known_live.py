"""A real difference between two releases is found, and the commit that made it is named."""

import json
from pathlib import Path

import pytest

from rushhour.report.verdict.output import write
from rushhour.verdict import compare

pytestmark = pytest.mark.virtual

SYNS = """
title = "SYNs"
question = "How often is a SYN that nobody answers sent again?"
duration = "4s"
[[link]]
between = ["a", "b"]
rate = "10mbit"
delay = "10ms"
[[pattern]]
key = "loss"
direction = "forward"
steps = [["0s", "100%"]]
[[flow]]
name = "long"
from = "a"
to = "b"
[[judge]]
metric = "syn_retransmits"
minimum = "0.5 events"
"""


def test_linear_timeouts_of_syns_came_between_6_1_and_6_12(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 1, 3 s before; at 1, 2, 3 s since tcp_syn_linear_timeouts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "syns.toml").write_text(SYNS)
    found = compare("debian-6.1", "debian-6.12", scenarios=["syns.toml"])
    write(found, tmp_path / "out")
    (cell,) = json.loads((tmp_path / "out" / "verdict.json").read_text())["cells"]
    (counted,) = cell["metrics"]
    assert (counted["base"]["mean"], counted["candidate"]["mean"]) == (2, 3)
    assert cell["verdict"] == "worse"
    assert [change["commit"][:12] for change in cell["known"]] == ["ccce324dabfe"]
