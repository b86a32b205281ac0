"""Counts of a tree of queues, and of what left them: answers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND, found

from rushhour.metrics.doubts import doubts

if TYPE_CHECKING:
    from pathlib import Path

TIMES = np.arange(0, 4) * SECOND


def made(tmp_path: Path, *rows: Any) -> Any:
    return make.record(tmp_path / "run", {"qdisc": np.concatenate(rows)}, ends=[make.end()])


def measured(tmp_path: Path, *rows: Any) -> tuple[Any, Any]:
    record = made(tmp_path, *rows)
    return found(record, "backlog_mismatch_bytes"), found(record, "backlog_mismatch_packets")


def below(minor: int, backlog: Any, qlen: Any) -> Any:
    """Readings of a queue of a class of 1:."""
    return make.qdisc(
        TIMES, kind=b"pfifo", handle=(0x100 + minor) << 16, parent=0x10000 + minor, backlog=backlog, qlen=qlen
    )


def test_what_those_below_count_is_added_up_at_each_instant(tmp_path: Path) -> None:
    root = make.qdisc(TIMES, kind=b"htb", backlog=[0, 300, 300, 0], qlen=[0, 3, 3, 0])
    one, two = below(1, [0, 100, 300, 0], [0, 1, 3, 0]), below(2, [0, 200, 0, 0], [0, 2, 0, 0])

    assert measured(tmp_path, root, one, two) == ({"end:left → right": 0}, {"end:left → right": 0})


def test_a_drop_that_nobody_told_of_stays_in_the_count_above(tmp_path: Path) -> None:
    root = make.qdisc(TIMES, backlog=[0, 300, 100, 250], qlen=[0, 3, 1, 2])
    only = below(1, [0, 300, 0, 400], [0, 3, 0, 4])

    assert measured(tmp_path, root, only) == ({"end:left → right": 150}, {"end:left → right": 2})


def test_each_qdisc_is_held_against_those_right_below_it(tmp_path: Path) -> None:
    root = make.qdisc(TIMES, backlog=[0, 500, 500, 0])
    inner = make.qdisc(TIMES, kind=b"prio", handle=0x20000, parent=0x10001, backlog=[0, 500, 500, 0])
    leaf = make.qdisc(TIMES, kind=b"pfifo", handle=0x30000, parent=0x20001, backlog=[0, 500, 440, 0])

    assert measured(tmp_path, root, inner, leaf)[0] == {"end:left → right": 60}


def test_a_queue_alone_and_one_that_holds_packets_itself_have_no_mismatch(tmp_path: Path) -> None:
    alone = make.qdisc(TIMES, kind=b"fq_codel", backlog=[0, 9, 9, 0])
    assert measured(tmp_path / "alone", alone) == ({}, {})

    holder = make.qdisc(TIMES, kind=b"netem", backlog=[0, 9000, 9000, 0])
    assert measured(tmp_path / "netem", holder, below(1, 0, 0)) == ({}, {})


def test_what_stands_at_a_device_is_below_nothing_else_there(tmp_path: Path) -> None:
    root = make.qdisc(TIMES, kind=b"fq_codel", backlog=[0, 9, 9, 0])
    ingress = make.qdisc(TIMES, kind=b"clsact", handle=0xFFFF0000, parent=0xFFFFFFF1)

    assert measured(tmp_path, root, ingress) == ({}, {})


def test_a_queue_that_was_exchanged_counts_while_it_was_there(tmp_path: Path) -> None:
    root = make.qdisc(TIMES, backlog=[0, 300, 70, 0], qlen=[0, 3, 1, 0])
    first, then = below(1, [0, 300, 0, 0], [0, 3, 0, 0])[:2], below(2, [0, 0, 70, 0], [0, 0, 1, 0])[2:]

    assert measured(tmp_path, root, first, then) == ({"end:left → right": 0}, {"end:left → right": 0})


@pytest.mark.parametrize(
    ("above", "below_it", "said"),
    [
        ((300, 3), (300, 3), None),
        ((300, 3), (200, 2), None),  # one packet is held for whoever is above
        ((16_234, 34), (300, 3), "tbf counts 15.93 kB and 31 packets more"),
        ((300, 3), (1900, 3), "tbf counts 1.6 kB less"),
    ],
)
def test_counts_that_are_apart_are_a_doubt(
    tmp_path: Path, above: tuple[int, int], below_it: tuple[int, int], said: str | None
) -> None:
    root = make.qdisc(TIMES, backlog=above[0], qlen=above[1])
    told = [one for one in doubts(made(tmp_path, root, below(1, *below_it))) if "counts" in one]
    rest = "as waiting than what is below it: the kernel changed one count and not the other"
    assert told == ([f"left → right: {said} {rest}"] if said else [])


def test_where_programs_ran_nobody_knows_all_queues(tmp_path: Path) -> None:
    root, only = make.qdisc(TIMES, backlog=900, qlen=9), below(1, 300, 3)
    tables, ran = (
        {"qdisc": np.concatenate([root, only])},
        {"programs": [{"id": 0, "name": "mine", "exit": 0}]},
    )
    record = make.record(tmp_path / "run", tables, ends=[make.end()], result=ran)
    assert not [one for one in doubts(record) if "counts" in one]


def test_the_mean_size_of_what_left_a_queue(tmp_path: Path) -> None:
    rows = make.qdisc(TIMES, bytes=[100, 100, 852, 1620], packets=[1, 1, 11, 21])
    record = make.record(tmp_path / "run", {"qdisc": rows}, ends=[make.end()])

    # What was sent before t = 0 does not count.
    assert found(record, "packet_mean_bytes") == {"end:left → right": 76}


def test_a_queue_that_nothing_left_has_no_mean_size_and_a_policer_none_at_all(tmp_path: Path) -> None:
    silent = make.record(tmp_path / "silent", {"qdisc": make.qdisc(TIMES)}, ends=[make.end()])
    assert found(silent, "packet_mean_bytes") == {"end:left → right": None}

    rows = make.qdisc(TIMES, end=6, kind=b"clsact", parent=0xFFFFFFF1, bytes=TIMES, packets=TIMES)
    policed = make.record(tmp_path / "police", {"qdisc": rows}, ends=[make.end(6, "in", role="police")])
    assert found(policed, "packet_mean_bytes") == {}
