"""What the agent found is flows of the record, from the result and what the context says of each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from builders import SECOND, end, flow, found, outcome, record, rows, tcp_info

from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.found import completed, names
from rushhour.record.result_file import FoundResult, ResultFile
from rushhour.series.readings import delivered

if TYPE_CHECKING:
    from pathlib import Path

AT = np.arange(0, 101) * (SECOND // 10)
DATAGRAMS = [("t_ns", "<i8"), ("flow", "<u4"), ("side", "u1"), ("packets", "<u8"), ("bytes", "<u8")]
PATH = {
    key: value for key, value in flow().items() if key not in ("id", "name", "group", "start_ns", "stop_ns")
}


def one(number: int, **more: Any) -> dict[str, Any]:
    """A connection from s1 to port 80 of r1."""
    return {
        "flow": number, "kind": "tcp", "node": "s1", "peer": "r1", "src": "10.0.0.1", "sport": 40000,
        "dst": "10.0.0.2", "dport": 80, "back": False, "pid": 7, "first_ns": 0, "last_ns": 10 * SECOND,
        "connected_ns": 0, "sender_done_ns": 10 * SECOND, "receiver_done_ns": 10 * SECOND,
        "bytes_sent": 1000, "bytes_received": 1000, "packets_sent": None, "packets_received": None,
        "error": None, **more,
    }  # fmt: skip


def back(number: int, **more: Any) -> dict[str, Any]:
    ends = {"node": "r1", "peer": "s1", "src": "10.0.0.2", "sport": 80, "dst": "10.0.0.1", "dport": 40000}
    return one(number, **ends, back=True, **more)


def context(**more: Any) -> dict[str, Any]:
    pairs = [
        {**PATH, "from": sender, "to": receiver, "kind": kind}
        for sender, receiver in (("s1", "r1"), ("r1", "s1"))
        for kind in ("tcp", "udp")
    ]
    return {"flows": [flow()], "ends": [end()], "duration_ns": 10 * SECOND, "pairs": pairs, **more}


def made(told: list[dict[str, Any]], **more: Any) -> ContextFile:
    result = read(ResultFile, {"found": {"flows": told}}, "result")
    return completed(read(ContextFile, context(**more), "context"), result)


def test_each_direction_is_a_flow_behind_those_of_the_plan() -> None:
    whole = made([one(1), back(2, first_ns=0), one(3, first_ns=5, sport=40002)])
    assert [one.name for one in whole.flows] == ["long", "r1:80.1", "r1:80.back.1", "r1:80.2"]
    first = whole.flows[1]
    assert (first.id, first.group, first.kind, first.generator) == (1, "r1:80", "tcp", "found")
    assert (first.start_ns, first.stop_ns, first.base_rtt_ns) == (0, 10 * SECOND, 20_000_000)
    assert (first.ends, whole.flows[2].group) == ((0, 2, 4), "r1:80.back")


def test_what_is_complete_stays_so() -> None:
    whole = made([one(1)])
    result = read(ResultFile, {"found": {"flows": [one(1)]}}, "result")
    assert completed(whole, result) == whole


def test_a_context_without_pairs_is_left_as_it_is() -> None:
    assert [flow.name for flow in made([one(1)], pairs=[]).flows] == ["long"]


def test_a_pair_that_is_not_known_has_no_flow() -> None:
    assert [flow.name for flow in made([one(1, peer="moon")]).flows] == ["long"]


def test_ports_are_counted_apart() -> None:
    told = read(FoundResult, {"flows": [one(1), one(3, dport=443), one(5, sport=40004)]}, "found").flows
    assert [name for name, _ in names(told).values()] == ["r1:80.1", "r1:443.1", "r1:80.2"]


def test_metrics_see_them_as_any_other(tmp_path: Path) -> None:
    received = np.arange(0, 101) * 125_000.0
    tables = {
        "tcp_info": np.concatenate(
            [tcp_info(AT, flow=number, side=1, bytes_received=received) for number in (0, 1)]
        )
    }
    told = one(1, bytes_received=12_500_000)
    run = record(
        tmp_path / "run",
        tables,
        outcomes=[outcome(bytes_received=12_500_000)],
        result={"found": {"flows": [told]}},
        manifest={"context": {**made([told])}},
    )
    values = found(run, "goodput_bps")
    assert values["flow:r1:80.1"] == values["flow:long"] == pytest.approx(10e6)
    assert (run.asked(run.context.flow("r1:80.1")).from_, run.asked(run.context.flow("long")).from_) == (
        "s1",
        "",
    )


def test_datagrams_are_counted_by_sample(tmp_path: Path) -> None:
    told = one(
        1, kind="udp", connected_ns=50, sender_done_ns=150, bytes_received=900, packets_sent=4,
        packets_received=3, last_ns=SECOND,
    )  # fmt: skip
    table = rows(
        DATAGRAMS, t_ns=[100, 100, 200], flow=1, side=[0, 1, 1], packets=[2, 1, 3], bytes=[600, 300, 900]
    )
    run = record(
        tmp_path / "run",
        {"datagrams": table},
        result={"found": {"flows": [told]}},
        manifest={"context": {**made([told])}},
    )
    t_ns, count = delivered(run, run.context.flow("r1:80.1"))
    assert (t_ns.tolist(), count.tolist()) == ([50, 100, 200], [0, 300, 900])
    assert found(run, "loss")["flow:r1:80.1"] == 0.25


def test_datagrams_on_their_way_at_the_end_are_not_lost(tmp_path: Path) -> None:
    """A hundred a second until the end: of half the base RTT, 2 s, nobody knows."""
    told = one(1, kind="udp", bytes_received=1000, packets_sent=1000, packets_received=720)
    table = rows(
        DATAGRAMS,
        t_ns=[5 * SECOND, 9 * SECOND, 10 * SECOND],
        flow=1,
        side=0,
        packets=[500, 900, 1000],
        bytes=1,
    )
    slow = [{**pair, "base_rtt_ns": 4 * SECOND} for pair in context()["pairs"]]
    run = record(
        tmp_path / "run",
        {"datagrams": table},
        result={"found": {"flows": [told]}},
        manifest={"context": {**made([told], pairs=slow)}},
    )
    assert found(run, "loss")["flow:r1:80.1"] == pytest.approx(0.1)
