"""Sojourn times against theory: fixed rate, CoDel's target, strict priority; every packet is there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment
    from numpy.typing import NDArray

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

LABEL = "left → right"
STAMPED = "[readings]\nsojourn = true\n"
# 1000 bytes of payload, UDP, IPv4 and Ethernet: 1042 bytes at 10 Mbit/s.
FRAME_NS = 1042 * 8 * 100
BURST = """
duration = "1s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "20ms"
jitter = "0ms"
buffer = "100kB"
[[flow]]
name = "burst"
kind = "udp"
rate = "1mbit"
packet = "1000B"
burst = 20
"""
ONE_FLOW = """
duration = "8s"
warmup = "3s"
family = "{family}"
ecn = {ecn}
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "40ms"
buffer = "200kB"
queue = "{queue}"
[[flow]]
name = "one"
cc = "cubic"
"""
PRIORITY = """
duration = "3s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "20ms"
jitter = "0ms"
buffer = "100kB"
scheduler = "prio"
class = [{ name = "voice", flows = ["voice"] }, { name = "bulk", flows = ["bulk"] }]
[[flow]]
name = "voice"
kind = "udp"
rate = "100kbit"
packet = "200B"
[[flow]]
name = "bulk"
cc = "cubic"
"""


def waits(record: Record, label: str = LABEL) -> NDArray[np.float64]:
    """The sojourn times at an end in ms, in the order of departure."""
    values: NDArray[np.float64] = record.series("sojourn_us", end=label).values / 1e3
    return values


def test_a_burst_waits_packet_by_packet(experiment: Experiment) -> None:
    """In a FIFO of fixed rate the k-th packet of a burst waits for the k - 1 before it."""
    record = experiment(BURST + STAMPED)
    rows = record.table("sojourn", end=record.context.end(LABEL).end)
    first = rows[rows["t_ns"] >= 0][:20]
    steps = np.diff(first["sojourn_ns"].astype(np.int64))

    assert first["len"].tolist() == [1042] * 20
    assert first["flow"].tolist() == [0] * 20
    # The bucket holds a frame of the full size, so a part of the second passes with the first.
    assert first["sojourn_ns"][0] == 0
    assert steps[1:] == pytest.approx(FRAME_NS, abs=1000)
    assert 0 < first["sojourn_ns"][-1] <= 19 * FRAME_NS + 1000


@pytest.mark.parametrize(
    ("queue", "ecn", "family"),
    [("fifo", "false", "ipv4"), ("fq_codel", "true", "ipv4"), ("fq_codel", "true", "ipv6")],
)
def test_every_packet_that_leaves_has_one_row(
    experiment: Experiment, queue: str, ecn: str, family: str
) -> None:
    """Marks on the way, drops and either family: as many rows as the device counted, none lost."""
    record = experiment(ONE_FLOW.format(queue=queue, ecn=ecn, family=family) + STAMPED)

    for label in (LABEL, "right → left"):
        number = record.context.end(label).end
        counted = record.table("interface", end=number)
        rows = record.table("sojourn", end=number)
        begun = rows[(rows["t_ns"] > counted["t_ns"][0]) & (rows["t_ns"] <= counted["t_ns"][-1])]
        sent = int(counted["tx_packets"][-1]) - int(counted["tx_packets"][0])
        # A packet may leave in the very instant of a reading.
        assert abs(len(begun) - sent) <= 1
        assert len(begun) > 1000
    assert record.result["lost_events"]["sojourn"] == 0


def test_a_full_fifo_holds_its_buffer_and_codel_its_target(experiment: Experiment) -> None:
    """FIFO: never above buffer / rate, and reached; CoDel: the least wait of 100 ms is its 5 ms or less."""
    fifo = experiment(ONE_FLOW.format(queue="fifo", ecn="false", family="ipv4") + STAMPED)
    codel = experiment(ONE_FLOW.format(queue="codel", ecn="false", family="ipv4") + STAMPED)

    most = 200_000 * 8 / 10e6 * 1e3
    assert most - 2 * 1.22 <= waits(fifo).max() <= most + 1.22
    assert metric(fifo, "sojourn_max_us", f"end:{LABEL}") <= 1e3 * (most + 1.22)
    assert metric(fifo, "sojourn_p50_us", "flow:one") > 4 * metric(codel, "sojourn_p50_us", "flow:one")
    series = codel.series("sojourn_us", end=LABEL)
    steady = series.t_s > 3
    windows = (series.t_s[steady] * 10).astype(int)
    least = [series.values[steady][windows == window].min() / 1e3 for window in np.unique(windows)]
    # RFC 8289: the standing queue is the local minimum; a packet of 1.2 ms in transmission comes on top.
    assert np.mean(np.array(least) <= 5 + 2 * 1.22) > 0.9


def test_priority_waits_for_one_packet_at_most(experiment: Experiment) -> None:
    """Strict priority without preemption: the packet that is being sent, and the one tbf holds ready."""
    record = experiment(PRIORITY + STAMPED)

    bulk = 1514 * 8 / 10e6 * 1e6
    assert metric(record, "sojourn_max_us", "class:voice") <= 2 * bulk + 10
    assert metric(record, "sojourn_p50_us", "class:bulk") > 10 * bulk
    assert metric(record, "sojourn_max_us", "flow:voice") == metric(record, "sojourn_max_us", "class:voice")


def test_stamping_changes_nothing(experiment: Experiment) -> None:
    """Programs at both sides take no virtual time: the same bytes in everything else that is recorded."""
    text = ONE_FLOW.format(queue="fifo", ecn="false", family="ipv4")
    seen, unseen = experiment(text + STAMPED), experiment(text)

    for table in ("tcp_probe", "tcp_info", "tcp_retransmit_skb", "interface"):
        np.testing.assert_array_equal(seen.table(table), unseen.table(table), table)
    for end in seen.context.ends:  # the devices that stamp have a clsact more
        np.testing.assert_array_equal(seen.root_qdisc(end), unseen.root_qdisc(end))
    assert seen.result["flows"] == unseen.result["flows"]
