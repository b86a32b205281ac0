"""Odd graphs, extreme links, every algorithm: a run is true and its counts agree, on both kernels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rushhour.errors import AgentError

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record


pytestmark = pytest.mark.virtual


def flows(record: Record) -> list[Any]:
    found: list[Any] = record.result["flows"]
    return found


def assert_counts_agree(record: Record) -> None:
    """Nothing arrives that was not sent, and no faster than the bottleneck carries."""
    arrived: dict[int, int] = {}
    for flow in flows(record):
        assert (flow["bytes_received"] or 0) <= (flow["bytes_sent"] or 0)
        about = record.context.flows[flow["id"]]
        if about.bottleneck_end is not None:
            end = about.bottleneck_end
            arrived[end] = arrived.get(end, 0) + (flow["bytes_received"] or 0)
    for end, received in arrived.items():
        rate = record.context.ends[end].rate_bps
        assert rate is not None
        assert 8e9 * received / record.context.duration_ns <= 1.0005 * rate


def dumbbell(keys: str, flow: str = "[[flow]]", top: str = "") -> str:
    return f'{top}\n[topology]\npreset = "dumbbell"\n{keys}\n{flow}\n'


def graph(links: list[str], flow: str, top: str = "") -> str:
    return "\n".join([top, *(f"[[link]]\n{link}" for link in links), flow])


def line(hops: int) -> list[str]:
    names = [f"n{number}" for number in range(hops + 1)]
    return [f'between = ["{a}", "{b}"]\nrate = "10mbit"\ndelay = "1ms"' for a, b in pairwise(names)]


CORNERS = ("a", "b", "c")
TRIANGLE = graph(
    [
        f'between = ["{a}", "{b}"]\nrate = "10mbit"\ndelay = "5ms"\nloss = 0.001'
        for a, b in pairwise((*CORNERS, "a"))
    ],
    "\n".join(f'[[flow]]\nfrom = "{a}"\nto = "{b}"' for a, b in pairwise((*CORNERS, "a"))),
    'duration = "2s"\n' + "\n".join(f'[[node]]\nname = "{name}"\nrole = "host"' for name in CORNERS),
)
PARALLEL = graph(
    [
        'between = ["a", "r"]',
        'between = ["r", "q"]\nname = "one"\nrate = "10mbit"\ndelay = "1ms"',
        'between = ["r", "q"]\nname = "two"\nrate = "10mbit"\ndelay = "1ms"',
        'between = ["q", "b"]\nmtu = "9000B"',
    ],
    '[[flow]]\nfrom = "a"\nto = "b"\ncount = 4',
    'duration = "1s"',
)
UDP = '[[flow]]\nkind = "udp"\nrate = "500kbit"'
TEN = 'rate = "10mbit"\nrtt = "20ms"'

TRUE = {
    "triangle": TRIANGLE,
    "triangle, IPv6": 'family = "ipv6"\n' + TRIANGLE,
    "parallel links": PARALLEL,
    "1 kbit/s": dumbbell('rate = "1kbit"\nrtt = "1ms"', top='duration = "60s"'),
    "100 Gbit/s": dumbbell('rate = "100gbit"\nrtt = "1ms"', top='duration = "5ms"'),
    "1 ms": dumbbell(TEN, top='duration = "1ms"'),
    "idle for an hour": dumbbell(TEN, '[[flow]]\nbytes = "1MB"', 'duration = "1h"'),
    "90 % loss": dumbbell(
        f'{TEN}\nloss = "90%"\nreverse_loss = "90%"', f"[[flow]]\n{UDP}", 'duration = "2s"'
    ),
    "one packet of buffer": dumbbell(f'{TEN}\nbuffer = "1p"', top='duration = "2s"'),
    "1 GB of buffer": dumbbell(f'{TEN}\nbuffer = "1GB"', top='duration = "1s"'),
    "jitter beyond the delay": dumbbell(
        f'{TEN}\njitter = "50ms"\nreorder = true', f"[[flow]]\n{UDP}", 'duration = "2s"'
    ),
    "a closed reader": dumbbell(TEN, '[[flow]]\nread_rate = "1kbit"\nrcvbuf = "10kB"', 'duration = "5s"'),
    "netem's slots": dumbbell(f'{TEN}\nnetem = "slot 800us 1ms"', UDP, 'duration = "1s"'),
    "netem's bursts of loss": dumbbell(
        f'{TEN}\nnetem = "loss gemodel 1% 10% 70% 0.1%"', UDP, 'duration = "1s"'
    ),
    "transactions": dumbbell(
        f'{TEN}\nloss = "2%"', '[[flow]]\nkind = "crr"\ncount = 5\n[[flow]]\nkind = "rr"', 'duration = "2s"'
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_link_is_valid_and_counts_agree(experiment: Experiment, name: str) -> None:
    assert_counts_agree(experiment(TRUE[name]))


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_every_congestion_control_of_the_kernel_is_used(experiment: Experiment, family: str) -> None:
    """The kernel is asked what it has; each of them then carries a flow of its own."""
    top = f'duration = "1s"\nfamily = "{family}"'
    names = experiment(dumbbell(TEN, top=top)).result["kernel"]["congestion_controls"]
    assert {"reno", "cubic", "bbr", "dctcp"} <= set(names)
    each = "\n".join(f'[[flow]]\ncc = "{name}"\nreceiver_cc = "{name}"' for name in names)
    # A fair queue, lest the gentle ones starve.
    keys = f'rate = "100mbit"\nrtt = "10ms"\nqueue = "fq_codel"\npairs = {len(names)}'
    record = experiment(dumbbell(keys, each, top))
    assert_counts_agree(record)
    assert all(flow["bytes_received"] > 10_000 for flow in flows(record))
    sockets = record.table("tcp_info")
    used = {int(row["flow"]): row["cc"].decode() for row in sockets[sockets["side"] == 0]}
    assert used == dict(enumerate(names))


def test_dctcp_keeps_the_queue_at_the_mark(experiment: Experiment) -> None:
    """With ECN and marks at K = 30 kB (RFC 8257): full rate, no loss, and a queue far below its limit."""
    red = "red min 30000 max 30001 limit 400000 avpkt 1000 burst 31 probability 1 ecn"
    record = experiment(
        dumbbell(
            f'rate = "100mbit"\nrtt = "1ms"\nbuffer = "400kB"\nqueue = "{red}"',
            '[[flow]]\ncc = "dctcp"\nreceiver_cc = "dctcp"',
            'duration = "2s"\necn = true',
        )
    )
    queue = record.root_qdisc(2)
    # While the flow starts, red's average lags behind.
    assert 0 < queue["backlog"][queue["t_ns"] > 500_000_000].max() < 100_000
    assert len(record.table("tcp_retransmit_skb")) == 0
    assert flows(record)[0]["bytes_received"] * 8 / 2e8 > 0.93


def test_a_discipline_with_a_memory_starts_fresh(experiment: Experiment) -> None:
    """Under a shaper red never notices that it is idle, so the calibration would linger in its average."""
    record = experiment(dumbbell(f'{TEN}\nqueue = "red"', top='duration = "1s"'))
    assert flows(record)[0]["connected_ns"] < 50_000_000
    assert record.root_qdisc(2)["drops"][0] == 0


def test_calibration_takes_none_of_the_numbers_to_drop(experiment: Experiment) -> None:
    """The first three packets of the experiment vanish, those before it pass."""
    keys = 'rate = "10mbit"\nrtt = "20ms"\ndrop = [0, 1, 2]'
    record = experiment(dumbbell(keys, UDP, 'duration = "1s"'))
    assert np.array_equal(record.table("udp")["seq"][:4], [3, 4, 5, 6])
    assert all(rtt > 0 for rtt in record.result["calibration"]["pings"][0]["rtt_ns"])


def test_a_very_long_path_is_waited_for(experiment: Experiment) -> None:
    """A round trip of 40 s, far beyond any that a kernel expects."""
    record = experiment(dumbbell('rate = "1mbit"\ndelay = "20s"\njitter = "0us"', UDP, 'duration = "60s"'))
    assert len(record.table("udp")) > 1000


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_packets_survive_more_than_64_hops(experiment: Experiment, family: str) -> None:
    flow = '[[flow]]\nkind = "ping"\nfrom = "n0"\nto = "n40"'
    record = experiment(graph(line(40), flow, f'duration = "1s"\nfamily = "{family}"'))
    assert len(record.context.flows[0].ends) > 64
    assert flows(record)[0]["packets_received"] > 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (dumbbell(TEN, '[[flow]]\ncc = "cubik"', 'duration = "1s"'), "this kernel has: .*cubic"),
        (dumbbell(f'{TEN}\nqueue = "red limitt 5"', top='duration = "1s"'), "limitt"),
        (dumbbell(TEN, top='duration = "1s"\nsysctl = { "net.ipv4.tcp_sak" = 1 }'), "tcp_sa"),
    ],
)
def test_what_the_kernel_does_not_know_is_said(experiment: Experiment, text: str, says: str) -> None:
    with pytest.raises(AgentError, match=says):
        experiment(text)


def test_an_algorithm_that_the_kernel_replaced_is_a_warning(experiment: Experiment) -> None:
    """Without a receiver that echoes marks the kernel runs dctcp-reno under the name dctcp."""
    record = experiment(dumbbell(TEN, '[[flow]]\ncc = "dctcp"', 'duration = "500ms"'))
    assert [warning for warning in record.manifest["warnings"] if "dctcp-reno" in warning]
