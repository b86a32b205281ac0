"""Silence is never valid unless it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from known_runs import record_of

from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.spec import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

HEAD = 'title = "Silence"\nquestion = "Does anything arrive?"\nduration = "2s"\n'
FLOWS = (
    'flow = [{ name = "a" }, { name = "u", kind = "udp", rate = "1mbit" }, { name = "p", kind = "ping" }]\n'
)
LINK = 'preset = "dumbbell", rate = "10mbit", rtt = "10ms"'


def run(text: str, folder: Path) -> Record:
    path = folder / "scenario.toml"
    path.write_text(HEAD + text)
    loaded = load_scenario(str(path))
    lowered = lower(loaded, 1)
    labels = {"scenario": {"name": "x", "resolved": loaded.canonical()}, "cell": {"index": 0, "factors": {}}}
    job = Job(lowered.plan, lowered.context, kernels.default(), labels)
    return record_of(UmlLab(), job, folder / "run")


@pytest.mark.parametrize(
    ("queue", "flows"),
    [
        # The handshake comes through it, and no data.
        ("tbf rate 10mbit burst 2kb limit 1kb", 'flow = [{ name = "a" }]\n'),
        ("netem limit 0", FLOWS),
        ("bfifo limit 1", FLOWS),
    ],
)
def test_a_link_that_lets_nothing_through_is_invalid(queue: str, flows: str, tmp_path: Path) -> None:
    record = run(f'topology = {{ {LINK}, queue = "{queue}" }}\n{flows}', tmp_path)
    assert not record.valid
    assert any(reason.startswith("what arrived of") for reason in record.manifest["invalid_reasons"]), (
        record.manifest["invalid_reasons"]
    )


def test_one_flow_of_which_nothing_arrives_is_a_warning(tmp_path: Path) -> None:
    record = run(f'topology = {{ {LINK}, queue = "tbf rate 10mbit burst 2kb limit 1kb" }}\n{FLOWS}', tmp_path)
    assert any("nothing of a arrived" in text for text in record.manifest["warnings"])


@pytest.mark.parametrize("loss", ["0.999999", "0.5"])
def test_a_loss_that_was_asked_for_is_valid(loss: str, tmp_path: Path) -> None:
    record = run(f"topology = {{ {LINK}, loss = {loss} }}\n{FLOWS}", tmp_path)
    assert not [one for one in record.manifest["invalid_reasons"] if one.startswith("what arrived")]


HOLE = """
node = [{ name = "s", role = "switch" }, { name = "t", role = "switch" }]
link = [
    { between = ["a", "s"], rate = "10mbit" },
    { between = ["s", "t"], mtu = "1000B" },
    { between = ["t", "b"], delay = "5ms" },
]
flow = [{ name = "a", from = "a", to = "b" }]
"""


@pytest.mark.parametrize(
    ("expect", "valid"),
    [
        ("", False),
        ('expect = [{ metric = "goodput_bps", max = 1e6 }]', False),
        ('expect = [{ metric = "goodput_bps", max = 0 }]', True),
        ('expect = [{ metric = "goodput_bps", equals = 0, flow = "a" }]', True),
    ],
)
def test_a_black_hole_is_silent_where_the_scenario_expects_it(
    expect: str, valid: bool, tmp_path: Path
) -> None:
    # A switch sends no ICMP: what is larger than the next link's frames vanishes behind the handshake.
    record = run(HOLE + expect, tmp_path)
    assert record.valid == valid, record.manifest["invalid_reasons"]


def test_a_flow_that_starts_at_the_very_end_is_not_silent(tmp_path: Path) -> None:
    late = 'flow = [{ name = "a" }, { name = "late", start = "1.99s" }]\n'
    record = run(f"topology = {{ {LINK} }}\n{late}", tmp_path)
    assert record.valid, record.manifest["invalid_reasons"]
