"""Records: sealed whole, read without trust, gathered in sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND

from rushhour.errors import RecordError
from rushhour.record.record import Record, RecordWriter, seal
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import sealed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def probe(count: int = 10, flow: int = 0) -> Any:
    return make.rows(
        make.TCP_PROBE,
        t_ns=np.arange(count) * 1000,
        flow=flow,
        snd_cwnd=np.arange(count) + 10,
        ssthresh=0x7FFFFFFF,
    )


def edit(path: Path, **changes: Any) -> None:
    document = json.loads(path.read_text())
    document.update(changes)
    path.write_text(json.dumps(document))
    run = path.parent
    if path.name != "manifest.json":
        make.reseal(run)
    else:
        path.write_text(json.dumps(sealed(document)))


def test_a_sealed_record_is_whole_and_verifies(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {"tcp_probe": probe()})

    record.verify()
    assert sorted(record.manifest["files"]) == ["console.log", "plan.json", "raw/tcp_probe.rh", "result.json"]
    assert record.tables() == ["tcp_probe"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_block_left_unsealed_leaves_nothing(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "run") as writer:
        (writer.folder / "plan.json").write_text("{}")

    assert list(tmp_path.iterdir()) == []


def test_a_newer_run_takes_the_place_of_an_older(tmp_path: Path) -> None:
    make.record(tmp_path / "run", {"tcp_probe": probe(3)})
    again = make.record(tmp_path / "run", {"tcp_probe": probe(4)})

    assert len(again.table("tcp_probe")) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_retransmission_that_failed_was_not_sent(tmp_path: Path) -> None:
    """Linux 6.17 traces what it only tried, too: err is what __tcp_retransmit_skb gives back."""
    told = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("state", "<i4"), ("err", "<i4")])
    tried = np.array([(1, 0, 1, 0), (2, 0, 1, -11), (3, 0, 1, 0)], told)
    record = make.record(tmp_path / "run", {"tcp_retransmit_skb": tried})

    assert record.table("tcp_retransmit_skb", flow=0)["t_ns"].tolist() == [1, 3]


def test_a_link_in_a_run_folder_is_not_sealed(tmp_path: Path) -> None:
    (tmp_path / "secret").symlink_to("/etc/passwd")

    with pytest.raises(RecordError, match="regular files only"):
        seal(tmp_path, {})


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda run: (run / "result.json").write_text("{}"), "was changed after the run"),
        (lambda run: (run / "console.log").unlink(), "is missing"),
        (lambda run: (run / "raw" / "new.rh").write_text(""), "was added after the run"),
        (lambda run: edit(run / "manifest.json", files={"../run2": "0"}), "outside the record"),
    ],
)
def test_tampering_is_noticed(tmp_path: Path, damage: Any, says: str) -> None:
    record = make.record(tmp_path / "run", {"tcp_probe": probe()})
    damage(record.path)

    with pytest.raises(RecordError, match=says):
        Record.open(record.path).verify()


def no_table(run: Path) -> None:
    """A file that is none, in a record whose seal fits it."""
    (run / "raw" / "tcp_info.rh").write_bytes(b"?")
    make.reseal(run)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda run: (run / "manifest.json").unlink(), "has no manifest.json"),
        (lambda run: (run / "manifest.json").write_text("{"), "is not JSON"),
        (lambda run: (run / "manifest.json").write_text("[" * 100000), "is not JSON"),
        (lambda run: (run / "manifest.json").write_text("[]"), "no JSON object"),
        (lambda run: edit(run / "manifest.json", format="rushhour-record/2"), "newer rushhour"),
        (lambda run: edit(run / "manifest.json", format=None), "not written by rushhour"),
        (lambda run: edit(run / "manifest.json", context=3), "context is 3; expected a table"),
        (lambda run: edit(run / "manifest.json", context={"flows": 3}), "context.flows is 3"),
        (lambda run: (run / "plan.json").unlink(), "is missing"),
        (lambda run: edit(run / "plan.json", sample_ns="1"), "sample_ns is '1'"),
        (no_table, "not a raw table"),
    ],
)
def test_a_damaged_record_says_what_is_damaged(tmp_path: Path, damage: Any, says: str) -> None:
    record = make.record(tmp_path / "run", {"tcp_info": make.tcp_info([0, SECOND], side=1)})
    damage(record.path)

    with pytest.raises(RecordError, match=says):
        Record.open(record.path).series("goodput_bps", flow="long")


def test_rows_of_one_flow_keep_their_order(tmp_path: Path) -> None:
    both = make.rows(make.TCP_PROBE, t_ns=np.arange(6), flow=[1, 0, 1, 0, 0, 1], snd_cwnd=[1, 2, 3, 4, 5, 6])
    record = make.record(tmp_path / "run", {"tcp_probe": both}, flows=[make.flow(0, "a"), make.flow(1, "b")])

    assert record.table("tcp_probe", flow="a")["snd_cwnd"].tolist() == [2, 4, 5]
    assert record.table("tcp_probe", flow=1)["snd_cwnd"].tolist() == [1, 3, 6]
    assert len(record.table("tcp_probe", flow=7)) == 0


def test_the_readings_of_one_socket_keep_their_order_and_their_states(tmp_path: Path) -> None:
    parts = [
        make.tcp_info([0, SECOND], flow, side=side, rtt=[10 * flow + side, 50])
        for flow in (1, 0)
        for side in (1, 0)
    ]
    rows = np.concatenate(parts)[[0, 2, 4, 6, 1, 3, 5, 7]]
    rows["state"][0] = 6  # TIME_WAIT has no tcp_info
    record = make.record(tmp_path / "run", {"tcp_info": rows}, flows=[make.flow(0, "a"), make.flow(1, "b")])

    assert record.socket("b", 1)["t_ns"].tolist() == [0, SECOND]
    assert record.socket("b", 1)["state"].tolist() == [6, 1]
    assert record.tcp_info("b", 1)[0].tolist() == [SECOND]
    assert record.tcp_info("b", 0)[1]["rtt"].tolist() == [10, 50]
    assert record.tcp_info(0, 1)[1]["rtt"].tolist() == [1, 50]
    assert len(record.socket(7, 0)) == 0


def test_unknown_names_are_errors_that_list_the_known(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {"tcp_probe": probe()})

    asked: list[tuple[Callable[[], Any], str]] = [
        (lambda: record.table("udp"), "tables: tcp_probe"),
        (lambda: record.table("../../plan"), "tables: tcp_probe"),
        (lambda: record.table("tcp_probe", flow="short"), "flows: long"),
        (lambda: record.table("tcp_probe", end=0), "no column 'end'"),
        (lambda: record.series("cwnd", flow=0), "snd_cwnd"),
        (lambda: record.series("snd_cwnd"), "give flow="),
        (lambda: record.series("queue_bytes", end="up"), "ends: left → right"),
    ]
    for ask, says in asked:
        with pytest.raises(RecordError, match=says):
            ask()


def test_a_set_opens_one_record_after_the_other(tmp_path: Path) -> None:
    for name in ("b", "a"):
        make.record(tmp_path / "runs" / name, {"tcp_probe": probe()})

    results = ResultSet.open(tmp_path)

    assert len(results) == 2
    assert [record.key for record in results] == ["a", "b"]
    assert [record.key for record in ResultSet.open(tmp_path / "runs" / "a")] == ["a"]
    with pytest.raises(RecordError, match="no records here"):
        ResultSet.open(tmp_path / "runs" / "a" / "raw")
