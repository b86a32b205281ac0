"""Calibration: true links pass, each kind of untruth is found and named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND

from rushhour.errors import RecordError
from rushhour.metrics.binomial import binomial_interval
from rushhour.metrics.calibration import calibrate, invalid_reasons
from rushhour.record.document import read
from rushhour.record.record import Record
from rushhour.record.result_file import ResultFile

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
DELAY = 10 * MS
FRAME_NS = 1514 * 80  # at 100 Mbit/s


def built(
    folder: Path,
    *,
    rtt: Any = None,
    arrivals: Any = None,
    kinds: Any = ("tbf",),
    netem: str | None = None,
    netem_ns: int = 0,
    **tables: Any,
) -> Record:
    """A dumbbell with 10 ms, 20 µs jitter and 1 % loss each way, and what calibration measured."""
    wire = {"rate_bps": None, "buffer_bytes": None, "role": "wire", "delay_ns": DELAY, "jitter_ns": 20_000}
    ends = [make.end(), make.end(3, "right → r1", **wire, loss=0.01), make.end(5, "left → s1", **wire)]
    if netem is not None:
        more = {"rate_bps": None, "buffer_bytes": None, "delay_ns": netem_ns}
        ends.append(make.end(0, "s1 → left", role="netem", queue=netem, **more))
    flows = [make.flow(ends=[0, 2, 3], reverse_ends=[4, 5])]
    pings = [2 * DELAY + 20_000] * 5 if rtt is None else rtt
    train = (np.arange(64) * FRAME_NS).tolist() if arrivals is None else arrivals
    calibration = {
        "pings": [{"path": 0, "rtt_ns": pings}],
        "trains": [{"train": 0, "sent": 64, "arrivals_ns": train}],
        "qdiscs": [{"end": 2, "kind": kind} for kind in kinds],
    }
    path = {"from": "s1", "src": "10.0.0.1", "to": "r1", "dst": "10.0.2.2"}
    tbf = "root handle 1: tbf rate 100000000bit burst 1540b limit 500000b"
    sides = [{"node": "left", "qdiscs": [tbf]}, {"node": "right", "qdiscs": [], "wire": {"drop": []}}]
    links = [{"ends": []}, {"ends": sides}]
    return make.record(
        folder,
        tables,
        flows=flows,
        ends=ends,
        planned={0: {"from": "s1", "to": "r1"}},
        result={"calibration": calibration},
        plan={
            "calibration": {"paths": [path], "trains": [path | {"packets": 64, "size": 1472}]},
            "links": links,
        },
    )


def failed(record: Record) -> list[str]:
    return [finding.check for finding in calibrate(record) if not finding.ok]


def in_real_time(record: Record) -> Record:
    """The same record, as if it had been made in real time."""
    return Record.being_made(record.path, {**record.manifest, "lab": "netns"})


def test_true_links_pass_every_check(tmp_path: Path) -> None:
    t_ns = np.arange(11) * SECOND
    record = built(
        tmp_path / "run",
        wire=make.rows(make.WIRE, t_ns=[0, SECOND], end=3, packets=[50, 10_050], lost=[9, 109]),
        qdisc=make.qdisc(t_ns, backlog=500_000),
        interface=make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=np.arange(11) * 12_500_000),
    )

    checks = [finding.check for finding in calibrate(record)]

    assert checks == ["idle RTT", "rate", "qdiscs", "loss", "queue limit", "output"]
    assert invalid_reasons(record) == []


@pytest.mark.parametrize(("off_us", "ok"), [(-3, False), (-1, True), (0, True), (44, True), (60, False)])
def test_idle_rtt_must_lie_between_the_delays_and_their_jitter(
    tmp_path: Path, off_us: int, *, ok: bool
) -> None:
    # 20 ms of delay, at most 40 µs of jitter, a few µs of clock.
    record = built(tmp_path / "run", rtt=[2 * DELAY + off_us * 1000])

    assert (failed(record) == []) is ok


@pytest.mark.parametrize(("words", "ok"), [("netem reorder 25%", True), ("netem duplicate 1%", False)])
def test_what_netem_reorders_may_come_at_once(tmp_path: Path, words: str, *, ok: bool) -> None:
    record = built(tmp_path / "run", rtt=[2 * DELAY, 2 * DELAY + MS], netem=words, netem_ns=MS)

    assert ("idle RTT" not in failed(record)) is ok


def test_pings_lost_to_the_asked_loss_are_no_fault(tmp_path: Path) -> None:
    assert failed(built(tmp_path / "run", rtt=[-1, 2 * DELAY, -1])) == []
    assert failed(built(tmp_path / "all", rtt=[-1, -1])) == []


def test_a_train_at_another_rate_is_found(tmp_path: Path) -> None:
    record = built(tmp_path / "run", arrivals=(np.arange(64) * FRAME_NS * 2).tolist())

    assert failed(record) == ["rate"]
    assert "measured 50" in invalid_reasons(record)[0]
    assert "asked for 100 Mbit/s" in invalid_reasons(record)[0]


@pytest.mark.parametrize(
    ("words", "factor", "ok"),
    [
        ("netem loss 9%", 2, True),
        ("netem loss 9%", 0.5, False),
        ("netem duplicate 1%", 2, False),
        ("netem duplicate 20%", 0.51, True),
        ("netem duplicate 20%", 0.4, False),
        ("netem rate 200mbit", 2, False),
        ("netem rate 200mbit 20", 2, True),
    ],
)
def test_netem_may_thin_a_train_but_not_speed_it_up(
    tmp_path: Path, words: str, factor: float, *, ok: bool
) -> None:
    arrivals = (np.arange(64) * FRAME_NS * factor).tolist()
    record = built(tmp_path / "run", arrivals=arrivals, netem=words)

    assert ("rate" not in failed(record)) is ok


def test_a_burst_at_the_head_of_a_train_does_not_count(tmp_path: Path) -> None:
    arrivals = np.concatenate([np.zeros(20), np.arange(44) * FRAME_NS])

    assert failed(built(tmp_path / "run", arrivals=arrivals.tolist())) == []


def test_where_time_is_real_a_pause_of_the_processor_is_not_the_paths(tmp_path: Path) -> None:
    paused = np.arange(64) * FRAME_NS + np.where(np.arange(64) > 50, 20_000_000, 0)
    slow = np.arange(64) * FRAME_NS * 2
    assert "rate" in failed(built(tmp_path / "virtual", arrivals=paused.tolist()))
    for name, arrivals, found in (("paused", paused, []), ("slow", slow, ["rate"])):
        record = in_real_time(built(tmp_path / name, arrivals=arrivals.tolist()))
        assert [check for check in failed(record) if check == "rate"] == found


@pytest.mark.parametrize(("late_ns", "ok"), [(850_000, True), (1_500_000, False)])
def test_where_time_is_real_timers_are_late(tmp_path: Path, late_ns: int, *, ok: bool) -> None:
    record = built(tmp_path / "run", rtt=[2 * DELAY + 20_000 + late_ns] * 5)
    assert "idle RTT" in failed(record)
    assert ("idle RTT" not in failed(in_real_time(record))) is ok


def test_a_train_too_short_to_tell_gives_no_finding(tmp_path: Path) -> None:
    record = built(tmp_path / "run", arrivals=[0, 1, 2, 3])

    assert "rate" not in [finding.check for finding in calibrate(record)]


def test_a_missing_qdisc_is_found(tmp_path: Path) -> None:
    assert failed(built(tmp_path / "run", kinds=("pfifo",))) == ["qdiscs"]
    assert failed(built(tmp_path / "more", kinds=("tbf", "bfifo"))) == []


@pytest.mark.parametrize(("lost", "ok"), [(60, False), (80, True), (120, True), (140, False)])
def test_losses_must_be_those_of_a_binomial(tmp_path: Path, lost: int, *, ok: bool) -> None:
    # 1 % of 10 000: mean 100, standard deviation 9.95, so 99.9 % lie within ± 33.
    rows = make.rows(make.WIRE, t_ns=[0, SECOND], end=3, packets=[0, 10_000], lost=[0, lost])

    assert (failed(built(tmp_path / "run", wire=rows)) == []) is ok


def test_a_queue_beyond_its_limit_is_found(tmp_path: Path) -> None:
    assert failed(built(tmp_path / "run", qdisc=make.qdisc([0, 1], backlog=[0, 500_001]))) == ["queue limit"]


def test_an_output_beyond_the_rate_is_found(tmp_path: Path) -> None:
    t_ns = np.arange(3) * SECOND
    rows = make.rows(make.INTERFACE, t_ns=t_ns, end=2, tx_bytes=[0, 12_500_000, 26_000_000])

    record = built(tmp_path / "run", interface=rows)

    assert failed(record) == ["output"]
    assert "108 Mbit/s at 2.000 s" in invalid_reasons(record)[0]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"pings": 3}, "calibration.pings is 3; expected a list"),
        ({"pings": [{"path": 9, "rtt_ns": [1]}]}, "makes no sense"),
        ({"pings": [{"path": 0, "rtt_ns": ["x"]}]}, "calibration.pings.0.rtt_ns.0 is 'x'"),
        ({"trains": [{"train": 0}]}, "calibration.trains.0.arrivals_ns is None"),
        ({"qdiscs": [{"end": "x", "kind": 3}]}, "calibration.qdiscs.0.end is 'x'"),
        ([], r"calibration is \[\]; expected a table"),
        ("no", "calibration is 'no'; expected a table"),
    ],
)
def test_a_damaged_calibration_is_an_error(tmp_path: Path, damage: Any, says: str) -> None:
    record = built(tmp_path / "run")
    damaged = {**record.result, "calibration": damage}

    def judged() -> None:
        vars(record)["result"] = read(ResultFile, damaged, "here")
        calibrate(record)

    with pytest.raises(RecordError, match=says):
        judged()


def test_no_calibration_is_no_fault(tmp_path: Path) -> None:
    record = built(tmp_path / "run")
    vars(record)["result"] = read(ResultFile, {**record.result, "calibration": None}, "here")
    assert failed(record) == []


def test_binomial_interval_against_scipy() -> None:
    from scipy.stats import binom  # noqa: PLC0415 - only here

    for n, p in [(100, 0.01), (1000, 0.5), (10_000, 0.01), (300, 0.999), (50, 0.9)]:
        low, high = binomial_interval(n, p)
        expected = binom.interval(0.999, n, p)
        assert [low, high] == pytest.approx(list(expected), abs=1)
        assert binom.cdf(high, n, p) - binom.cdf(low - 1, n, p) >= 0.999
    low, high = binomial_interval(10_000_000, 0.01)
    assert binom.cdf(high, 10_000_000, 0.01) - binom.cdf(low - 1, 10_000_000, 0.01) == pytest.approx(
        0.999, abs=1e-4
    )
    assert binomial_interval(100, 0) == (0, 0)
    assert binomial_interval(100, 1) == (100, 100)
