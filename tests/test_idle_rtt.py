"""The idle RTT beside a smoothed one: a change of delay is no queue."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import builders as make
import numpy as np
import pytest
from builders import SECOND

from rushhour.record import courses
from rushhour.series import idle_rtt

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

MS = 1_000_000
# The wire there changes, the wire back takes 10 ms; a quarter of the 4 s at 190 ms, the rest at 10 ms.
STEP = [[0, 190.0 * MS], [SECOND, 10.0 * MS], [3 * SECOND, 40.0 * MS]]
MEAN = round((190 + 2 * 10 + 40) / 4) * MS


def path() -> list[dict[str, Any]]:
    there = make.end(4, "right → r1", role="wire", rate_bps=None, delay_ns=MEAN, over_time={"delay_ns": STEP})
    back = make.end(3, "right → left", role="wire", rate_bps=None, delay_ns=10 * MS)
    return [make.end(2), there, back]


def met(sent: float) -> float:
    """RTT in µs of a packet sent at an instant in seconds, by the wire that keeps order."""
    if sent < 1:
        return 200e3
    if sent < 1.18:
        return (1.19 - sent) * 1e6 + 10e3  # it waits for those ahead, which came out at 1.19 s
    return 20e3 if sent < 3 else 50e3


def kept(folder: Path, tables: dict[str, Any]) -> Record:
    flow = make.flow(base_rtt_ns=MEAN + 10 * MS, ends=[2, 4], reverse_ends=[3])
    return make.record(folder, tables, flows=[flow], ends=path(), duration_ns=4 * SECOND)


def smoothing() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Arrivals in ns and the kernel's estimate after each, of packets sent every 5 ms over the idle path."""
    sent = np.arange(0, 3.7, 0.005)
    rtt = np.array([met(t) for t in sent])
    srtt = np.fromiter(accumulate(rtt, lambda held, new: held + (new - held) / 8), float)
    return (sent * 1e9 + rtt * 1e3).astype(np.int64), srtt


def test_a_change_of_delay_is_no_queue(tmp_path: Path) -> None:
    """A window of two packets in flight and an ACK for each: sent in clumps, not evenly."""
    sent: list[float] = [0.0, 0.001]
    arrive: list[float] = []
    at, out = 0, 0.0
    while sent[at] < 3.7:
        delay = 0.19 if sent[at] < 1 else 0.01 if sent[at] < 3 else 0.04
        out = max(out, sent[at] + delay)  # behind the packet before, if that is not out yet
        arrive.append(out + 0.01)
        sent.append(arrive[-1])
        at += 1
    t_s, rtt = np.array(arrive), (np.array(arrive) - np.array(sent[: len(arrive)])) * 1e6
    srtt = np.fromiter(accumulate(rtt, lambda held, new: held + (new - held) / 8), float)
    shown = np.concatenate([srtt[:1], srtt[:-1]])  # an event shows what was before its ACK
    una = 1000 * np.arange(len(t_s))
    rows = make.rows(
        make.TCP_PROBE, t_ns=np.round(t_s * 1e9).astype(np.int64), flow=0, srtt=shown.astype(np.uint32),
        snd_una=una, snd_nxt=una + 2000,
    )  # fmt: skip
    series = kept(tmp_path / "run", {"tcp_probe": rows}).series("srtt_queue_delay_us", flow=0)

    assert series.source == "tcp_probe"
    # Whole microseconds, smoothed by eighths, are what is told.
    assert np.abs(series.values).max() < 100


def test_samples_between_acks_are_no_queue_either(tmp_path: Path) -> None:
    t_ns, srtt = smoothing()
    at = np.arange(0.25, 3.9, 0.02) * SECOND
    before = np.searchsorted(t_ns, at, side="right") - 1
    info = make.tcp_info(at.astype(np.int64), rtt=srtt[before].astype(np.uint32), segs_in=before + 1)
    series = kept(tmp_path / "run", {"tcp_info": info}).series("srtt_queue_delay_us", flow=0)

    assert series.source == "tcp_info"
    settled = (series.t_s < 1.19) | (series.t_s > 1.6) & (series.t_s < 3) | (series.t_s > 3.5)
    assert np.abs(series.values[settled]).max() < 200


def test_a_path_that_changes_delays_by_no_buffer(tmp_path: Path) -> None:
    """Its first second alone, in which the idle path takes 200 ms: the mean over all time is 72."""
    t_ns, srtt = (column[:160] for column in smoothing())
    una = 1000 * np.arange(len(t_ns))
    rows = make.rows(
        make.TCP_PROBE, t_ns=t_ns, flow=0, snd_una=una, snd_nxt=una + 2000,
        srtt=np.concatenate([srtt[:1], srtt[:-1]]).astype(np.uint32),
    )  # fmt: skip
    record = kept(tmp_path / "run", {"tcp_probe": rows})
    assert make.found(record, "buffer_delay_pct")["flow:long"] == pytest.approx(0, abs=3)


@pytest.mark.parametrize(
    ("done_s", "mean_ms"), [(1, 200), (2, 110), (4, (200 + 2 * 20 + 50) / 4), (None, MEAN / MS + 10)]
)
def test_the_mean_is_of_the_time_that_a_flow_was_active(
    tmp_path: Path, done_s: int | None, mean_ms: float
) -> None:
    done_ns = None if done_s is None else done_s * SECOND
    flow = make.flow(base_rtt_ns=MEAN + 10 * MS, ends=[2, 4], reverse_ends=[3])
    outcomes = [make.outcome(0, sender_done_ns=done_ns, receiver_done_ns=done_ns)]
    context = make.record(tmp_path / "run", {}, flows=[flow], ends=path(), outcomes=outcomes).context
    found = courses.mean_base_rtt_ns(context.flows[0], context.ends)
    assert found is not None
    assert found / MS == pytest.approx(mean_ms)


@pytest.mark.parametrize(
    ("arrives", "rtt_ms"), [(0.5, 200), (1.1, 200), (2.0, 20), (3.01, 20), (3.045, 45), (3.2, 50)]
)
def test_an_answer_met_the_delay_of_when_it_crossed(tmp_path: Path, arrives: float, rtt_ms: float) -> None:
    context = kept(tmp_path / "run", {}).context
    base = idle_rtt.of_answers(context.flows[0], context.ends, np.array([arrives]))

    assert base is not None
    assert base[0] / MS == pytest.approx(rtt_ms)


def base_ms(folder: Path, sent: list[float], rtt_ms: list[float], **changes: Any) -> list[float]:
    """Idle RTT in ms of packets sent at instants in s; `changes`: keys of the flow, `ends`, `others`."""
    ends, others = changes.pop("ends", path()), changes.pop("others", [])
    flow = make.flow(**{"base_rtt_ns": MEAN + 10 * MS, "ends": [2, 4], "reverse_ends": [3], **changes})
    context = make.record(folder, {}, flows=[flow, *others], ends=ends, duration_ns=4 * SECOND).context
    found = idle_rtt.of_packets(context, context.flows[0], np.array(sent), np.array(rtt_ms) / 1e3)
    assert found is not None
    return [float(value) / MS for value in found]


def test_a_packet_waits_behind_its_own_flow_s_and_not_behind_ones_that_are_not_there(tmp_path: Path) -> None:
    """Sent before the fall at 0.9 s, out at 1.09 s; those sent after 1.08 s have nobody ahead of them."""
    found = base_ms(tmp_path / "run", [0.9, 1.05, 1.085, 1.1], [200, 50, 20, 20])

    assert found == pytest.approx([200, 50, 20, 20])


@pytest.mark.parametrize(("took_ms", "base"), [(20, 20), (60, 60), (115, 20), (15, 20)])
def test_behind_others_a_packet_may_have_waited(tmp_path: Path, took_ms: float, base: float) -> None:
    """Sent at 1.1 s: 20 ms with nobody ahead, 100 ms with somebody just ahead; more than that is a queue."""
    other = make.flow(1, "other", ends=[2, 4], reverse_ends=[3])

    assert base_ms(tmp_path / "run", [1.1], [took_ms], others=[other]) == pytest.approx([base])


def test_a_change_of_rate_changes_what_a_frame_takes_to_be_sent(tmp_path: Path) -> None:
    """A frame of 1250 bytes: 1 ms at 10 Mbit/s, 10 ms at 1 Mbit/s; the mean of the rates makes 1.82 ms."""
    rates = [[0, 10e6], [2 * SECOND, 1e6]]
    wire = make.end(4, "right → r1", role="wire", rate_bps=None, delay_ns=5 * MS, serial_bps=5_500_000,
                    over_time={"serial_bps": rates})  # fmt: skip
    back = make.end(3, "right → left", role="wire", rate_bps=None, delay_ns=5 * MS)
    found = base_ms(
        tmp_path / "run", [1.0, 1.5, 3.0], [11, 31, 20], ends=[make.end(2), wire, back],
        base_rtt_ns=round(10 * MS + 1250 * 8e9 / 5.5e6), request_frame_bytes=1250, answer_frame_bytes=0,
    )  # fmt: skip

    assert found == pytest.approx([11, 11, 20], abs=1e-3)


def test_a_queue_is_no_wait_behind_others_on_the_wire(tmp_path: Path) -> None:
    """A burst at 0.5 s and one at 3.5 s: each waits for one more frame of 12 µs in the queue."""
    late = np.arange(300) * 0.012
    found = base_ms(tmp_path / "run", [0.5] * 300 + [3.5] * 300, [*(200 + late), *(50 + late)])

    # The last one of each spends 3.6 ms in the queue; jitter blurs 20 µs of that.
    assert found == pytest.approx([200] * 300 + [50] * 300, abs=0.03)


@pytest.mark.parametrize("table", ["tcp_probe", "tcp_info"])
def test_half_a_round_trip_of_crossing_syns_is_no_negative_queue(tmp_path: Path, table: str) -> None:
    """The kernel takes 10 ms for the first round trip of 20 ms; each ACK brings it nearer by an eighth."""
    srtt = np.array([20e3 - 10e3 * (7 / 8) ** count for count in range(30)])
    t_ns = (np.arange(30) + 1) * 20 * MS
    tables = {
        "tcp_probe": make.rows(make.TCP_PROBE, t_ns=t_ns, srtt=np.round(srtt).astype(int)),
        "tcp_info": make.tcp_info(t_ns, rtt=np.round(srtt).astype(int), segs_in=np.arange(30)),
    }
    delays = {}
    for how in ("both", "sender"):
        record = make.record(tmp_path / how, {table: tables[table]}, planned={0: {"open": how}})
        delays[how] = record.series("srtt_queue_delay_us", flow=0).values
    assert np.abs(delays["both"]).max() < 2
    assert delays["sender"].min() < -9e3, "where only one end connects nothing excuses a short round trip"
