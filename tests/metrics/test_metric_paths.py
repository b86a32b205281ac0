"""Shares of paths, what TCP makes of reordering, checksums: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest
from builders import SECOND, found

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_share_is_of_the_bundle_and_since_the_start(tmp_path: Path) -> None:
    ends = [
        make.end(2, "m → n #1", bundle="m → n"),
        make.end(4, "m → n #2", bundle="m → n"),
        make.end(6, "n → b"),
    ]
    sent = make.rows(
        make.INTERFACE,
        t_ns=[0, 0, 0, SECOND, SECOND, SECOND],
        end=[2, 4, 6] * 2,
        tx_packets=[5, 0, 0, 35, 10, 99],
    )
    record = make.record(tmp_path / "run", {"interface": sent}, ends=ends)
    assert found(record, "path_share") == {"end:m → n #1": 0.75, "end:m → n #2": 0.25}


def test_a_port_is_paused_from_stop_to_go_and_to_the_end(tmp_path: Path) -> None:
    rows = make.rows(
        make.PAUSES,
        t_ns=[SECOND, 2 * SECOND, 3 * SECOND],
        end=[2, 2, 2],
        stopped=[1, 0, 1],
    )
    ports = {"interval_ns": 1000, "ports": [{"end": 2, "line": "", "watch": []}]}
    record = make.record(
        tmp_path / "run",
        {"pauses": rows},
        ends=[make.end(2, "s → switch")],
        plan={"pauses": ports},
        duration_ns=4 * SECOND,
    )
    assert found(record, "paused_pct") == {"end:s → switch": 50.0}
    assert found(record, "pauses") == {"end:s → switch": 2.0}


def test_what_tcp_makes_of_reordering_is_its_own_word(tmp_path: Path) -> None:
    info = make.tcp_info([0, SECOND], reordering=[3, 40], reord_seen=[0, 7])
    record = make.record(tmp_path / "run", {"tcp_info": info})
    assert found(record, "reordering_segments") == {"flow:long": 40.0}
    assert found(record, "reorderings_seen") == {"flow:long": 7.0}


def test_counters_of_the_stack_are_summed_over_hosts(tmp_path: Path) -> None:
    counters = {
        "s1": {"TcpExt.TCPDSACKUndo": 2, "TcpExt.TCPFullUndo": 1},
        "r1": {"Udp.InCsumErrors": 5, "IpExt.InCsumErrors": 3, "Tcp.InCsumErrors": 1},
    }
    record = make.record(
        tmp_path / "run",
        flows=[make.flow(0, "a"), make.flow(1, "b", kind="udp")],
        result={"counters": counters},
    )
    assert found(record, "reductions_undone") == {"total": 3.0}
    assert found(record, "checksum_errors") == {"total": 9.0, "kind:udp": 5.0, "kind:tcp": 1.0}
    assert found(record, "header_errors") == {"total": 3.0}


def test_a_record_without_counters_says_nothing_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    assert found(make.record(tmp_path / "old"), "checksum_errors") == {}
    damaged = make.record(tmp_path / "new", result={"counters": {"r1": {"Udp.InCsumErrors": "many"}}})
    with pytest.raises(RecordError, match="InCsumErrors is 'many'; expected a whole number"):
        damaged.metrics()
