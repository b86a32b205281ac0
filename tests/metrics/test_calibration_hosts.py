"""Calibration between machines: only what was added to the path there can be asked for."""

from pathlib import Path
from typing import Any

import builders as make
from builders import SECOND

from rushhour.metrics.calibration import calibrate
from rushhour.record.record import Record

MS = 1_000_000
PATH = {"from": "s1", "src": "192.0.2.1", "to": "r1", "dst": "192.0.2.2"}


def built(folder: Path, rtt: Any, *, delay: int = 0, kinds: Any = ("bfifo", "tbf"), **tables: Any) -> Record:
    """Two machines with an emulator that queues at 100 Mbit/s and may delay."""
    idle = {"rate_bps": None, "buffer_bytes": None, "queue": None}
    ends = [
        make.end(0, "s1 eth0", **idle, role="plain"),
        make.end(1, "r1 eth0", **idle, role="plain"),
        make.end(2, "delay", **idle | {"role": "wire", "delay_ns": delay}),
        make.end(3),
    ]
    tbf = "root handle 1: tbf rate 100000000bit burst 1540b limit 500000b"
    egress = [{"end": 2, "qdiscs": [], "filters": []}, {"end": 3, "qdiscs": [tbf], "filters": []}]
    read = [{"end": 3, "kind": kind} for kind in kinds]
    calibration = {"pings": [{"path": 0, "rtt_ns": rtt}], "trains": [], "qdiscs": read}
    return make.record(
        folder,
        tables,
        flows=[make.flow(ends=[0, 2, 3], reverse_ends=[1], bottleneck_end=3)],
        ends=ends,
        planned={0: {"from": "s1", "to": "r1"}},
        result={"calibration": calibration},
        plan={"calibration": {"paths": [PATH], "trains": []}, "links": [], "egress": egress},
        manifest={"lab": "hosts"},
    )


def judged(record: Record) -> dict[str, bool]:
    return {finding.check: finding.ok for finding in calibrate(record)}


def test_a_path_has_a_delay_of_its_own_beside_the_one_that_was_made(tmp_path: Path) -> None:
    assert judged(built(tmp_path / "r", [37 * MS] * 5, delay=10 * MS)) == {"idle RTT": True, "qdiscs": True}


def test_less_delay_than_was_made_means_that_packets_go_another_way(tmp_path: Path) -> None:
    found = [one for one in calibrate(built(tmp_path / "r", [2 * MS] * 5, delay=10 * MS)) if not one.ok]
    assert [one.check for one in found] == ["idle RTT"]
    assert "asked for 9998.0 µs or more" in found[0].message


def test_of_a_path_as_found_no_idle_rtt_is_asked(tmp_path: Path) -> None:
    assert "idle RTT" not in judged(built(tmp_path / "r", [MS] * 5))


def test_an_emulators_queue_that_is_not_there_is_found(tmp_path: Path) -> None:
    assert judged(built(tmp_path / "r", [MS] * 5, kinds=("pfifo_fast",)))["qdiscs"] is False


def test_more_than_the_emulators_rate_is_found(tmp_path: Path) -> None:
    t_ns = [0, SECOND, 2 * SECOND]
    moved = make.rows(make.INTERFACE, t_ns=t_ns, end=3, tx_bytes=[0, 12_500_000, 50_000_000])
    assert judged(built(tmp_path / "r", [MS] * 5, interface=moved))["output"] is False


def test_a_path_that_answers_no_echo_is_no_fault(tmp_path: Path) -> None:
    assert "idle RTT" not in judged(built(tmp_path / "r", [-1] * 5, delay=10 * MS))
