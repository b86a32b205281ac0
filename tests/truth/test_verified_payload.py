"""What arrives is what was sent, on real kernels; and looking at it changes nothing of the traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric
from test_several_paths import text as two_ways

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

WAY = """
duration = "2s"
[[link]]
between = ["a", "b"]
rate = "20mbit"
delay = "5ms"
buffer = "100kB"
{link}
[[flow]]
name = "one"
from = "a"
to = "b"
verify = {verify}
{flow}
"""

PAYLOADS = {
    "writes as large as they can be": "",
    "messages": 'message = "700B"',
    "a paced writer": 'rate = "2mbit"\nmessage = "333B"',
    "a paced reader": 'read_rate = "4mbit"\nrcvbuf = "16kB"',
    "a known length": 'bytes = "1234567B"',
    "without a copy": 'zerocopy = true\nmessage = "10kB"',
    "datagrams": 'kind = "udp"\nrate = "5mbit"',
    "datagrams in fragments": 'kind = "udp"\nrate = "5mbit"\npacket = "20kB"',
    "bundles": 'kind = "udp"\nrate = "5mbit"\npacket = "1000B"\nburst = 8\ngso = true\ngro = true',
    "datagrams read by a clock": 'kind = "udp"\nrate = "5mbit"\nread_interval = "7ms"',
}


@pytest.mark.parametrize("flow", PAYLOADS.values(), ids=PAYLOADS.keys())
@pytest.mark.parametrize(
    "link", ['netem = "loss 2% duplicate 3%"\njitter = "2ms"\nreorder = true', "offload = true"]
)
def test_every_byte_is_what_was_sent(experiment: Experiment, flow: str, link: str) -> None:
    record = experiment(WAY.format(link=link, flow=flow, verify="true"))
    outcome = record.flows()[0].outcome
    assert outcome.error is None
    assert (outcome.bytes_received or 0) > 100_000
    assert metric(record, "corrupted_bytes", "flow:one") == 0
    assert outcome.first_corrupted is None


@pytest.mark.parametrize("flow", ['bytes = "2MB"', 'kind = "udp"\nrate = "5mbit"'])
def test_looking_does_not_change_what_arrives(experiment: Experiment, flow: str) -> None:
    seen, unseen = (
        experiment(WAY.format(link='netem = "loss 1%"', flow=flow, verify=verify)).flows()[0].outcome
        for verify in ("true", "false")
    )
    assert (seen.bytes_received, seen.bytes_sent) == (unseen.bytes_received, unseen.bytes_sent)
    assert (seen.corrupted_bytes, unseen.corrupted_bytes) == (0, None)


LOSSES = '[[pattern]]\nlink = "wifi"\nkey = "loss"\nsteps = [["0s", "2%"]]\n'


def test_a_stream_over_two_ways_is_put_together_as_it_was(experiment: Experiment) -> None:
    record = experiment(two_ways(LOSSES, "verify = true"))
    assert metric(record, "subflows_used", "flow:bulk") == 2
    assert metric(record, "corrupted_bytes", "flow:bulk") == 0
