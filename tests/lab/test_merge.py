"""Tables and results of several machines become those of one experiment."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import PING, UDP, rows, tcp_info

from rushhour.lab.host.merge import Alignment, Half, merge_results, merge_tables
from rushhour.record.document import read
from rushhour.record.plan_file import planned
from rushhour.record.result_file import ResultFile
from rushhour.record.tables import read_table, write_table

PLAN = planned(
    {
        "flows": [
            {"id": 0, "name": "up", "kind": "tcp", "from": "a", "to": "b"},
            {"id": 1, "name": "down", "kind": "udp", "from": "b", "to": "a"},
        ]
    }
)


def half(tmp_path: Path, name: str, alignment: Alignment, tables: dict[str, Any], **result: Any) -> Half:
    folder = tmp_path / name
    folder.mkdir()
    for table, content in tables.items():
        write_table(folder / f"{table}.rh", table, content)
    return Half(name, folder, read(ResultFile, result, name), alignment)


def merged(tmp_path: Path, halves: list[Half]) -> tuple[Path, list[str]]:
    raw = tmp_path / "raw"
    raw.mkdir()
    return raw, merge_tables(PLAN, halves, raw)


def test_rows_of_two_machines_stand_in_the_order_of_the_common_clock(tmp_path: Path) -> None:
    raw, warnings = merged(
        tmp_path,
        [
            half(tmp_path, "a", Alignment(), {"tcp_info": tcp_info([0, 100, 200])}),
            half(tmp_path, "b", Alignment(-50), {"tcp_info": tcp_info([0, 100, 200], side=1)}),
        ],
    )
    table = read_table(raw / "tcp_info.rh")
    assert table.rows["t_ns"].tolist() == [-50, 0, 50, 100, 150, 200]
    assert table.rows["side"].tolist() == [1, 0, 1, 0, 1, 0]
    assert warnings == []


def test_a_datagram_is_stamped_by_both_ends_clocks(tmp_path: Path) -> None:
    # Flow 1 goes from b to a: a wrote the row, b stamped tx.
    received = rows(UDP, flow=1, seq=[0, 1], tx_ns=[1000, 2000], rx_ns=[6000, 7000])
    raw, _ = merged(
        tmp_path,
        [
            half(tmp_path, "a", Alignment(10), {"udp": received}),
            half(tmp_path, "b", Alignment(-700), {}),
        ],
    )
    table = read_table(raw / "udp.rh").rows
    assert table["tx_ns"].tolist() == [300, 1300]
    assert table["rx_ns"].tolist() == [6010, 7010]


def test_an_echo_that_never_came_back_stays_so(tmp_path: Path) -> None:
    echoes = rows(PING, flow=0, seq=[0, 1], tx_ns=[1000, 2000], rx_ns=[1500, -1])
    raw, _ = merged(tmp_path, [half(tmp_path, "a", Alignment(100), {"ping": echoes})])
    assert read_table(raw / "ping.rh").rows["rx_ns"].tolist() == [1600, -1]


def test_drift_grows_with_time() -> None:
    one = Alignment(1000, 50e-6)
    assert one.stamp(0) == 1000
    assert one.stamp(10**9) == 10**9 + 1000 + 50_000
    assert one.stamps(np.array([0, 10**9, -1])).tolist() == [1000, 10**9 + 51_000, -1]
    assert one.stamp(None) is None


def test_of_kernels_that_tell_differently_the_common_part_is_kept_and_said(tmp_path: Path) -> None:
    raw, warnings = merged(
        tmp_path,
        [
            half(tmp_path, "a", Alignment(), {"tcp_info": tcp_info([0], length=248, snd_cwnd=7)}),
            half(tmp_path, "b", Alignment(), {"tcp_info": tcp_info([1], length=232, snd_cwnd=9, side=1)}),
        ],
    )
    table = read_table(raw / "tcp_info.rh").rows
    assert table.dtype["info"].itemsize == 232
    (sentence,) = warnings
    assert "the end of info left out" in sentence
    from rushhour.record import decode  # noqa: PLC0415 - one use

    assert decode.tcp_info(table["info"])["snd_cwnd"].tolist() == [7, 9]


def test_a_column_that_one_kernel_lacks_is_left_out_and_said(tmp_path: Path) -> None:
    more = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("state", "<i4"), ("family", "<u2")])
    less = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("state", "<i4")])
    raw, warnings = merged(
        tmp_path,
        [
            half(tmp_path, "a", Alignment(), {"tcp_retransmit_skb": rows(more, t_ns=[5], family=2)}),
            half(tmp_path, "b", Alignment(), {"tcp_retransmit_skb": rows(less, t_ns=[3])}),
        ],
    )
    assert read_table(raw / "tcp_retransmit_skb.rh").rows.dtype.names == ("t_ns", "flow", "state")
    assert warnings == ["tcp_retransmit_skb: family left out, the kernels of a and b report them differently"]


def flow(number: int, **known: Any) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("connected_ns", "sender_done_ns", "receiver_done_ns", "bytes_sent", "bytes_received", "error"), None
    )
    return {"id": number, **empty, "packets_sent": None, "packets_received": None, **known}


@pytest.fixture
def whole(tmp_path: Path) -> dict[str, Any]:
    a = half(
        tmp_path,
        "a",
        Alignment(),
        {},
        start_clock_ns=7,
        kernel={"release": "6.1"},
        flows=[
            flow(0, connected_ns=10, sender_done_ns=90, bytes_sent=1000),
            flow(1, packets_received=4, classes={"2": 3, "3": 1}),
        ],
        calibration={"pings": [{"path": 0, "rtt_ns": [5]}], "trains": [], "qdiscs": []},
        counters={"a": {"Tcp.RetransSegs": 1}},
        lost_events={"tcp_probe": 2},
        machine={"": {"load": 0.1}},
        warnings=["busy"],
    )
    b = half(
        tmp_path,
        "b",
        Alignment(1000),
        {},
        flows=[
            flow(0, receiver_done_ns=100, bytes_received=1000, error="reset"),
            flow(1, sender_done_ns=80, packets_sent=5),
        ],
        calibration={"pings": [{"path": 1, "rtt_ns": [6]}], "trains": [], "qdiscs": []},
        counters={"b": {}},
        lost_events={"tcp_probe": 1},
        machine={"b": {"load": 0.2}},
        warnings=[],
    )
    return merge_results(PLAN, [a, b])


def test_each_side_tells_of_a_flow_what_it_knows(whole: dict[str, Any]) -> None:
    up, down = whole["flows"]
    assert (up["connected_ns"], up["sender_done_ns"], up["receiver_done_ns"]) == (10, 90, 1100)
    assert (up["bytes_sent"], up["bytes_received"], up["error"]) == (1000, 1000, "b: reset")
    assert (down["sender_done_ns"], down["packets_sent"], down["packets_received"]) == (1080, 5, 4)
    assert (down["classes"], "classes" in up) == ({"2": 3, "3": 1}, False)


def test_what_machines_say_of_themselves_keeps_their_names(whole: dict[str, Any]) -> None:
    assert whole["machine"] == {"a": {"load": 0.1}, "b": {"load": 0.2}}
    assert whole["counters"] == {"a": {"Tcp.RetransSegs": 1}, "b": {}}
    assert whole["warnings"] == ["a: busy"]
    assert whole["lost_events"] == {"tcp_probe": 3}
    assert [one["path"] for one in whole["calibration"]["pings"]] == [0, 1]
    assert (whole["ok"], whole["start_clock_ns"]) == (True, 7)
