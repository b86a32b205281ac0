"""What a link takes to send: bytes / rate for every packet, alone or queued, at any rate and of any size.

The theory is Lindley's recursion: a packet leaves when its last bit has been sent, and its first bit is sent
when it has come and the packet before it has left.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments import Experiment
    from numpy.typing import NDArray

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

HEADERS = 42  # Ethernet, IPv4, UDP or ICMP
HOP_NS = 800  # a clock reading of a process and a timer's lateness, for each device that holds packets
FLOWS = ((60, 1), (700, 2), (1400, 3), (24, 7))  # payload, and datagrams that leave together


def bits(payload: int) -> int:
    return 8 * (payload + HEADERS)


def sent(came: NDArray[np.int64], sizes: NDArray[np.int64], rate_bps: float) -> NDArray[np.float64]:
    """When each packet has been sent by a link of this rate, in ns."""
    free, found = 0.0, []
    for at, size in zip(came, sizes, strict=True):
        free = max(float(at), free) + size * 1e9 / rate_bps
        found.append(free)
    return np.array(found)


def datagrams(record: Record) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """When each datagram was sent, its bits on the link, and when it came; in the order of arrival."""
    columns = []
    for flow in record.flows("udp"):
        rows = record.table("udp", flow=flow.id)
        assert len(rows) > 20
        assert flow.packet_bytes is not None
        columns.append((rows["tx_ns"], np.full(len(rows), bits(flow.packet_bytes)), rows["rx_ns"]))
    tx, size, rx = (np.concatenate(column).astype(np.int64) for column in zip(*columns, strict=True))
    order = np.lexsort((tx, rx))
    return tx[order], size[order], rx[order]


def flows(rate_bps: float, share: float = 0.9) -> str:
    """Flows of four sizes, in bursts, that together ask for a share of a rate."""
    each = share * rate_bps / len(FLOWS)
    lines = [
        f'{{ name = "f{n}", kind = "udp", packet = "{payload}B", burst = {burst}, start = "{211 * n}us", '
        f'rate = "{each * payload / (payload + HEADERS):.0f}bit" }}'
        for n, (payload, burst) in enumerate(FLOWS)
    ]
    return "flow = [\n" + ",\n".join(lines) + "\n]"


@pytest.mark.parametrize("rate", ["9600bit", "95600bit", "1mbit", "100mbit", "1gbit", "10gbit"])
def test_a_lone_packet_takes_its_bytes_over_the_rate(experiment: Experiment, rate: str) -> None:
    """RTT = Σ delay + 2 · 8 · bytes / rate: 43.07 ms for 1400 B at 1 Mbit/s and 20 ms."""
    record = experiment(f"""
        duration = "20s"
        topology.preset = "dumbbell"
        topology.rate = "{rate}"
        topology.rtt = "20ms"
        topology.jitter = "0us"
        flow = [{{ name = "echo", kind = "ping", packet = "1400B", interval = "4s" }}]
    """)
    flow = record.context.flows[0]
    assert flow.bottleneck_bps is not None
    rows = record.table("ping")
    rtt_ns = (rows["rx_ns"] - rows["tx_ns"])[rows["rx_ns"] >= 0]
    wanted = 20e6 + 2 * bits(1400) * 1e9 / flow.bottleneck_bps
    assert len(rtt_ns) >= 4
    assert rtt_ns == pytest.approx(wanted, abs=8 * HOP_NS)
    assert flow.base_rtt_ns == pytest.approx(wanted, abs=2)


@pytest.mark.parametrize("shaper", ["tbf", "htb"])
@pytest.mark.parametrize(("rate", "length"), [(95_600, 40), (1_000_000, 4), (10**8, 0.05), (10**10, 0.002)])
def test_packets_of_mixed_sizes_leave_one_after_the_other(
    experiment: Experiment, shaper: str, rate: int, length: float
) -> None:
    """Each datagram comes when the recursion says, whichever shaper keeps the rate."""
    record = experiment(f"""
        duration = "{length}s"
        topology.preset = "dumbbell"
        topology.rate = "{rate}bit"
        topology.rtt = "2ms"
        topology.jitter = "0us"
        topology.buffer = "1MB"
        topology.shaper = "{shaper}"
        {flows(rate)}
    """)
    tx, size, rx = datagrams(record)
    late = rx - (sent(tx, size, rate) + 1e6)
    assert np.abs(late).max() < 4 * HOP_NS
    # No window holds more than the rate carries in it and the packet that it begins with.
    carried = np.cumsum(size)[9:] - np.concatenate([[0], np.cumsum(size)[:-10]])
    span = rx[9:] - np.concatenate([[rx[0] - size[0] * 10**9 // rate], rx[:-10]])
    assert np.all(carried <= rate * (span + 4 * HOP_NS) / 1e9)


def test_a_slow_access_line_is_passed_before_the_bottleneck(experiment: Experiment) -> None:
    """Two links in a row: what the first has sent comes to the second, which stores it and sends it on."""
    record = experiment(f"""
        duration = "4s"
        topology.preset = "dumbbell"
        topology.rate = "1mbit"
        topology.access_rate = "2mbit"
        topology.rtt = "2ms"
        topology.jitter = "0us"
        topology.buffer = "1MB"
        {flows(1e6)}
    """)
    tx, size, rx = datagrams(record)
    late = rx - (sent(sent(tx, size, 2e6).astype(np.int64), size, 1e6) + 1e6)
    assert np.abs(late).max() < 6 * HOP_NS


STEPS = ((0.0, 1e6), (1.0, 4e6), (2.0, 0.0), (2.5, 5e5), (4.0, 2e6))


def over_time(
    came: NDArray[np.int64], sizes: NDArray[np.int64], steps: Sequence[tuple[float, float]]
) -> NDArray[np.float64]:
    """As `sent`, at a rate that changes: a packet keeps that at which it begins; none begins in an outage."""
    free, found = 0.0, []
    for at, size in zip(came, sizes, strict=True):
        begin = max(float(at), free)
        for (start, rate), (end, _) in pairwise([*steps, (1e9, 0.0)]):
            if start * 1e9 <= begin < end * 1e9:
                begin, now = (begin, rate) if rate else (end * 1e9, 0.0)
                if now:
                    break
        free = begin + size * 1e9 / now
        found.append(free)
    return np.array(found)


def test_a_rate_that_changes_is_that_of_the_packets_that_begin(experiment: Experiment) -> None:
    """Steps up and down and an outage: within the frame that the shaper had let go before the step."""
    course = ", ".join(f'["{t}s", "{rate:.0f}bit"]' for t, rate in STEPS)
    record = experiment(f"""
        duration = "6s"
        topology.preset = "dumbbell"
        topology.rate = "1mbit"
        topology.rtt = "2ms"
        topology.jitter = "0us"
        topology.buffer = "1MB"
        pattern = [{{ key = "rate", direction = "forward", steps = [{course}] }}]
        {flows(5e5)}
    """)
    tx, size, rx = datagrams(record)
    late = rx - (over_time(tx, size, STEPS) + 1e6)
    assert np.median(np.abs(late)) < 4 * HOP_NS
    assert np.abs(late).max() < bits(1400) * 1e9 / 5e5


def test_without_serialisation_an_idle_link_passes_a_packet_at_once(experiment: Experiment) -> None:
    """`serialise = false`: RTT = Σ delay, as the shaper's bucket holds a frame."""
    record = experiment("""
        duration = "2s"
        topology.preset = "dumbbell"
        topology.rate = "1mbit"
        topology.rtt = "20ms"
        topology.jitter = "0us"
        topology.serialise = false
        flow = [{ name = "echo", kind = "ping", packet = "1400B", interval = "500ms" }]
    """)
    rows = record.table("ping")
    assert rows["rx_ns"] - rows["tx_ns"] == pytest.approx(20e6, abs=8 * HOP_NS)
    assert record.context.flows[0].base_rtt_ns == 20_000_000


FREE = """
    duration = "2s"
    [[link]]
    between = ["a", "m"]
    rate = "1mbit"
    {first}
    [[link]]
    between = ["m", "b"]
    rate = "2mbit"
    {second}
    [[flow]]
    name = "echo"
    kind = "ping"
    from = "a"
    to = "b"
    packet = "958B"
    interval = "500ms"
"""


@pytest.mark.parametrize(
    ("first", "second", "sent_ms"),
    [
        ("", "", 8 + 4),
        ("serialise = false", "", 4),
        ('delay = "1ms"\njitter = "0us"', 'shaper = "htb"\nqueue = "fq_codel"', 8 + 4 + 1),
        ('netem = "delay 1ms"', "serialise = false", 8 + 1),
        ("reverse = { serialise = false }", "", 4 + 4),
        ('shape_at = "sender"', "bond = { links = 2 }", 8 + 4),
    ],
)
def test_every_kind_of_link_stores_and_forwards(
    experiment: Experiment, first: str, second: str, sent_ms: float
) -> None:
    """1000 bytes take 8 ms at 1 Mbit/s and 4 ms at 2 Mbit/s, in each direction that serialises."""
    record = experiment(FREE.format(first=first, second=second))
    rows = record.table("ping")
    there_and_back = 2e6 * sent_ms if "reverse" not in first else (8 + 4 + 4) * 1e6
    assert rows["rx_ns"] - rows["tx_ns"] == pytest.approx(there_and_back, abs=16 * HOP_NS)
    assert record.context.flows[0].base_rtt_ns == pytest.approx(there_and_back, abs=4)


@pytest.mark.parametrize("shaper", ["tbf", "htb"])
def test_an_experiment_begins_on_an_idle_network(experiment: Experiment, shaper: str) -> None:
    """A transfer takes as long when it starts at time 0 as later: calibration left no debt in any bucket."""

    def took(start: str) -> float:
        record = experiment(f"""
            duration = "4s"
            topology.preset = "dumbbell"
            topology.rate = "100kbit"
            topology.rtt = "20ms"
            topology.jitter = "0us"
            topology.shaper = "{shaper}"
            flow = [{{ name = "one", bytes = "200B", start = "{start}" }}]
        """)
        return metric(record, "flow_completion_time_s", "flow:one") * 1e6

    times = [took(start) for start in ("0s", "20ms", "100ms", "500ms")]
    # SYN and SYN-ACK of 74 bytes, their ACK of 66, 200 bytes of data with 66 of headers, and three ways.
    least = 3 * 10_000 + 8e6 * (74 + 74 + 66 + 266) / 1e5
    assert times == pytest.approx([least] * 4, abs=50)


def test_a_transfer_is_never_faster_than_its_ideal(experiment: Experiment) -> None:
    """Slowdown ≥ 1 at any size, and near 1 where slow start has nothing to wait for."""
    record = experiment("""
        duration = "60s"
        topology.preset = "dumbbell"
        topology.rate = "1mbit"
        topology.access_rate = "10mbit"
        topology.rtt = "20ms"
        [[flow]]
        name = "a"
        bytes = "1kB"
        count = 3
        [[flow]]
        name = "b"
        bytes = "20kB"
        start = "1s"
        count = 2
    """)
    for group in ("a", "b"):
        assert 1 <= metric(record, "slowdown_p50", f"group:{group}") < 4
