"""Datagrams in fragments and sockets that fill, live: counted by the kernel, held to the law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

from rushhour.models.fragments import datagram_loss, fragments

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

SCENARIO = """
duration = "1100ms"
[sysctl]
net.ipv4.ipfrag_high_thresh = {memory}
[topology]
preset = "dumbbell"
rate = "1gbit"
rtt = "1ms"
loss = "{loss}"
[[flow]]
name = "datagrams"
kind = "udp"
packet = "{packet}B"
rate = "{rate}"
duration = "1s"
{more}
[readings]
qdisc = false
"""


def test_a_datagram_is_lost_with_any_of_its_fragments(experiment: Experiment) -> None:
    record = experiment(SCENARIO.format(loss="1%", packet=30_000, rate="200mbit", more="", memory=10**9))
    sent, loss = metric(record, "messages_sent", "total"), metric(record, "loss", "flow:datagrams")
    count = fragments(30_000, 1500)
    law = datagram_loss(0.01, count)
    assert count == 21
    assert abs(loss - law) < 4 * (law * (1 - law) / sent) ** 0.5


def test_incomplete_datagrams_fill_the_memory_for_reassembly(experiment: Experiment) -> None:
    """What is never whole stays for 30 s (ipfrag_time): 4 MB are soon full of it, then none gets through."""
    record = experiment(SCENARIO.format(loss="1%", packet=30_000, rate="400mbit", more="", memory=4_194_304))
    assert metric(record, "loss", "flow:datagrams") > 2 * datagram_loss(0.01, fragments(30_000, 1500))


def test_what_a_full_socket_refuses_is_what_did_not_arrive(experiment: Experiment) -> None:
    """The reader comes every 20 ms: 256 KiB hold some hundred of the 208 datagrams that come meanwhile."""
    more = 'rcvbuf = "128KiB"\nread_interval = "20ms"'
    record = experiment(SCENARIO.format(loss="0%", packet=1200, rate="100mbit", more=more, memory=4_194_304))
    sent = metric(record, "messages_sent", "total")
    arrived = metric(record, "messages_received", "total")
    refused = metric(record, "receive_buffer_drops", "total")
    assert refused > 0.3 * sent
    assert refused == sent - arrived


def test_a_slow_reader_takes_what_its_rate_allows(experiment: Experiment) -> None:
    more = 'rcvbuf = "16KiB"\nread_rate = "60mbit"'
    record = experiment(SCENARIO.format(loss="0%", packet=1200, rate="100mbit", more=more, memory=4_194_304))
    assert metric(record, "loss", "flow:datagrams") == pytest.approx(0.4, abs=0.01)
