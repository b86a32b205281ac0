"""Conversations that no flow of the plan names are flows as good as those that it names.

The agent's own flows serve as programs: one whose `dport` is not that of its number is nobody's to those who
read the kernel, while the agent itself still says what became of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cpus
import numpy as np
import pytest
from experiments import metric
from known_runs import record_of

from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.plan_file import planned
from rushhour.record.record import Record
from rushhour.spec.load import load_scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rushhour.lab.kernel import Kernel

pytestmark = pytest.mark.virtual

HEAD = """title = "Found"
question = "Is a socket that nobody named a flow as well?"
duration = "4s"
sample = "50ms"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
buffer = "1bdp"
"""
LONG = """[[flow]]
name = "long"
cc = "cubic"
duration = "3s"
"""
CALLS = """[[flow]]
name = "calls"
kind = "crr"
transactions = 7
request = "100B"
response = "30kB"
"""
DATAGRAMS = """[[flow]]
name = "video"
kind = "udp"
rate = "5mbit"
duration = "2s"
"""
IPERF3 = """[[flow]]
name = "tool"
generator = "iperf3"
duration = "2s"
"""
PORT = 80


@pytest.fixture
def run(kernel: Kernel, tmp_path: Path) -> Callable[..., Record]:
    lab = UmlLab()

    def made(text: str, moved: tuple[int, ...] = (0,), name: str = "run", **found: Any) -> Record:
        """The record of a run whose flows of these numbers are nobody's."""
        scenario = tmp_path / "scenario.toml"
        scenario.write_text(HEAD + text)
        lowered = lower(load_scenario(str(scenario)), 1, found=("s1", "r1"))
        flows = [
            {**flow, "dport": PORT + flow.id} if flow.id in moved else flow for flow in lowered.plan.flows
        ]
        plan = planned({**lowered.plan, "flows": flows, "found": {**(lowered.plan.found or {}), **found}})
        record = record_of(lab, Job(plan, lowered.context, kernel, {}), tmp_path / name, cpus.own())
        assert record.valid, record.manifest["invalid_reasons"]
        return record

    return made


def test_a_connection_that_was_found_is_as_fast_as_the_one_that_was_planned(
    run: Callable[..., Record],
) -> None:
    record = run(LONG)
    flow = record.context.flow(f"r1:{PORT}.1")
    asked = record.asked(flow)
    assert (flow.group, flow.kind, flow.generator) == (f"r1:{PORT}", "tcp", "found")
    assert (asked.from_, asked.to, asked.sport, asked.dport) == ("s1", "r1", 33000, PORT)
    long = record.context.flow("long")
    assert (flow.ends, flow.base_rtt_ns, flow.bottleneck_bps) == (
        long.ends, long.base_rtt_ns, long.bottleneck_bps,
    )  # fmt: skip
    assert [one.name for one in record.flows()] == ["long", flow.name]
    # To the byte, and to what a system call takes.
    assert flow.outcome.bytes_received == long.outcome.bytes_received
    assert metric(record, "goodput_bps", f"flow:{flow.name}") == pytest.approx(
        metric(record, "goodput_bps", "flow:long"), rel=1e-3
    )


def test_what_is_read_of_it_is_what_is_read_of_a_planned_one(run: Callable[..., Record]) -> None:
    found, named = run(LONG, name="found"), run(LONG, (), name="named")
    flow, long = found.context.flow(f"r1:{PORT}.1"), named.context.flow("long")
    assert not named.result["found"]["flows"]
    for name in ("goodput_bps", "srtt_us", "retransmits", "slow_start_exit_cwnd"):
        values = [
            {value.scope: value.value for value in record.metrics() if value.metric == name}
            for record in (found, named)
        ]
        if f"flow:{long.name}" in values[1]:
            expected = values[1][f"flow:{long.name}"]
            assert values[0][f"flow:{flow.name}"] == pytest.approx(expected, rel=0.02), name
    for table in ("tcp_probe", "tcp_retransmit_skb", "tcp_cong_state_set", "tcp_info"):
        mine, theirs = found.table(table, flow=flow.id), named.table(table, flow=long.id)
        assert len(mine) == pytest.approx(len(theirs), rel=0.02, abs=2), table


def test_every_connection_has_a_flow_for_each_direction_that_carries_something(
    run: Callable[..., Record],
) -> None:
    record = run(CALLS)
    flows = [flow for flow in record.flows() if flow.is_found]
    assert [flow.name for flow in flows] == [
        name for n in range(1, 8) for name in (f"r1:{PORT}.{n}", f"r1:{PORT}.back.{n}")
    ]
    received = [flow.outcome.bytes_received for flow in flows]
    assert received == 7 * [100, 30_000]
    begins = [flow.start_ns for flow in flows]
    assert begins == sorted(begins)
    answers = record.context.flow(f"r1:{PORT}.back.1")
    assert record.asked(answers).from_ == "r1"
    assert metric(record, "goodput_bps", f"flow:{answers.name}") > 1e6


def test_beyond_the_most_they_are_counted(run: Callable[..., Record]) -> None:
    record = run(CALLS, most=3)
    assert record.result.found is not None
    assert (len(record.result.found.flows), record.result.found.beyond) == (6, 4)
    assert any("4 conversations more" in warning for warning in record.manifest.warnings)


def test_datagrams_are_counted_at_both_ends(run: Callable[..., Record]) -> None:
    record = run(DATAGRAMS)
    flow, video = record.context.flow(f"r1:{PORT}.1"), record.context.flow("video")
    assert (flow.kind, len(record.flows())) == ("udp", 2)
    for name in ("bytes_received", "packets_sent", "packets_received"):
        assert getattr(flow.outcome, name) == getattr(video.outcome, name), name
    assert metric(record, "goodput_bps", f"flow:{flow.name}") == pytest.approx(
        metric(record, "goodput_bps", "flow:video"), rel=0.01
    )
    assert metric(record, "loss", f"flow:{flow.name}") == 0
    series = record.series("goodput_bps", flow=flow.id)
    assert np.median(series.values) == pytest.approx(5e6, rel=0.05)


def test_the_control_connection_of_a_tool_is_found(run: Callable[..., Record]) -> None:
    record = run(IPERF3, moved=())
    found = [flow for flow in record.flows() if flow.is_found]
    assert [flow.name for flow in found] == ["r1:5001.1", "r1:5001.back.1"]
    assert all(0 < (flow.outcome.bytes_received or 0) < 10_000 for flow in found)
    assert (record.context.flow("tool").outcome.bytes_received or 0) > 1_000_000


def test_packets_in_queues_are_theirs(run: Callable[..., Record]) -> None:
    text = "[readings]\nsojourn = true\n" + LONG + DATAGRAMS
    found, named = run(text, (0, 1), name="found"), run(text, (), name="named")
    for name, flow in (("long", f"r1:{PORT}.1"), ("video", f"r1:{PORT + 1}.1")):
        mine, theirs = found.table("sojourn", flow=flow), named.table("sojourn", flow=name)
        for side in (0, 1):
            waited = [rows["sojourn_ns"][rows["side"] == side].tolist() for rows in (mine, theirs)]
            assert waited[0] == waited[1], (name, side)


def tables(record: Record) -> dict[str, str]:
    return {name: digest for name, digest in record.manifest.files.items() if name.startswith("raw/")}


def test_the_same_run_finds_the_same(run: Callable[..., Record], tmp_path: Path, kernel: Kernel) -> None:
    first = run(LONG + CALLS + DATAGRAMS, (0, 1, 2), name="first")
    assert len({flow.group for flow in first.flows() if flow.is_found}) == 4
    job = Job(first.plan, read(ContextFile, first.manifest.context, "the context"), kernel, {})
    second = Record.open(UmlLab().run(job, tmp_path / "second", cpus.own()))
    assert tables(second) == tables(first)
    assert (second.result.found, second.manifest.context) == (first.result.found, first.manifest.context)
