"""Connections of several paths: shares, silence, and what was sent again, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND, found

from rushhour.record import decode
from rushhour.record.decode import MPTCP_INFO, layout

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

LENGTH = 96
ROWS = np.dtype(
    [("t_ns", "<i8"), ("flow", "<u4"), ("side", "u1"), ("state", "u1"), ("rqueue", "<u4"), ("wqueue", "<u4"),
     ("info", f"V{LENGTH}")]
)  # fmt: skip
DONE = {"sender_done_ns": 5 * SECOND, "receiver_done_ns": 5 * SECOND}
NAMES = {0: ("bulk", "mptcp"), 1: ("bulk.wifi", "subflow"), 2: ("bulk.lte", "subflow")}


def info(t_ns: list[int], side: int, **fields: Any) -> Any:
    made = make.rows(ROWS, t_ns=t_ns, flow=0, side=side, state=1)
    told = np.zeros(len(made), layout(MPTCP_INFO, LENGTH))
    for name, value in fields.items():
        told[name] = value
    made["info"] = told.view(f"V{LENGTH}")
    return made


def record(folder: Path, received: list[int]) -> Record:
    """A connection of 5 s read once a second, two thirds of it by wifi."""
    t_ns = [SECOND * second for second in range(6)]
    parts = [
        make.tcp_info(t_ns[1:2], flow=flow, side=1, bytes_received=[n]) for flow, n in ((1, 2000), (2, 1000))
    ]
    sender = info(t_ns, 0, subflows=[0, 1, 1, 1, 1, 1], bytes_retrans=[0, 0, 7, 9, 9, 9])
    return make.record(
        folder,
        {"mptcp_info": np.concatenate([sender, info(t_ns, 1, bytes_received=received)]),
         "tcp_info": np.concatenate(parts)},
        flows=[make.flow(number, *words, stop_ns=5 * SECOND) for number, words in NAMES.items()],
        outcomes=[make.outcome(**DONE, bytes_received=received[-1])],
        plan={"flows": [{"id": number, "name": name, "kind": kind} | ({"of": 0} if number else {})
                        for number, (name, kind) in NAMES.items()]},
        duration_ns=5 * SECOND,
    )  # fmt: skip


def test_a_structure_of_the_kernel_is_taken_apart_at_its_offsets() -> None:
    fields: Any = layout(MPTCP_INFO, LENGTH).fields
    # As a C compiler lays out struct mptcp_info of Linux 6.12.
    offsets = {
        "flags": 8, "token": 12, "write_seq": 16, "rcv_nxt": 32, "retransmits": 44, "bytes_retrans": 48,
        "bytes_received": 64, "subflows_total": 80, "last_data_sent": 84, "last_ack_recv": 92,
    }  # fmt: skip
    assert {name: fields[name][1] for name in offsets} == offsets
    # 5.10 ends with rcv_nxt: nothing is made up.
    assert "bytes_received" not in (decode.layout(MPTCP_INFO, 40).names or ())


def test_shares_are_of_what_came_by_all_subflows(tmp_path: Path) -> None:
    one = record(tmp_path / "run", [0, 600, 1200, 1800, 2400, 3000])
    assert found(one, "subflow_share") == {
        "flow:bulk.wifi": pytest.approx(2 / 3),
        "flow:bulk.lte": pytest.approx(1 / 3),
    }
    assert found(one, "subflows_used") == {"flow:bulk": 2.0}
    assert found(one, "mptcp_retransmitted_bytes") == {"flow:bulk": 9.0}


def test_the_connection_is_one_flow_of_the_sum(tmp_path: Path) -> None:
    one = record(tmp_path / "run", [0, 600, 1200, 1800, 2400, 3000])
    assert found(one, "goodput_bps") == {"flow:bulk": 4800.0, "total": 4800.0}
    assert list(one.series("goodput_bps", flow="bulk").values) == [4800.0] * 5
    assert list(one.series("subflows", flow="bulk").values) == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("received", "seconds"),
    [
        ([0, 600, 1200, 1800, 2400, 3000], 1.0),
        ([0, 600, 600, 600, 2400, 3000], 3.0),
        ([0, 600, 600, 600, 600, 600], 4.0),
    ],
)
def test_silence_lasts_until_something_comes_or_the_end(
    tmp_path: Path, received: list[int], seconds: float
) -> None:
    one = record(tmp_path / "run", received)
    assert found(one, "silence_max_s") == {"flow:bulk": seconds, "total": seconds}


def test_of_other_flows_there_is_nothing_to_say(tmp_path: Path) -> None:
    one = make.record(tmp_path / "run", {"tcp_info": make.tcp_info([0, SECOND])})
    for metric in ("subflow_share", "subflows_used", "mptcp_retransmitted_bytes", "silence_max_s"):
        assert found(one, metric) == {}
