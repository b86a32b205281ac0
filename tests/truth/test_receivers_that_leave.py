"""Receivers that leave while data still comes: what their kernels answer, and what the senders are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record
    from rushhour.record.result_file import FlowResult

pytestmark = pytest.mark.virtual

PAIR = """
duration = "2s"
family = "{family}"
[[link]]
between = ["a", "b"]
rate = "10mbit"
delay = "10ms"
jitter = "0us"
[[flow]]
name = "one"
from = "a"
to = "b"
{flow}
"""
UNLIMITED = """
[[node]]
name = "b"
[node.sysctl]
"net.ipv4.icmp_ratelimit" = 0
"net.ipv6.icmp.ratelimit" = 0
"""
DATAGRAMS = 'kind = "udp"\nrate = "1mbit"\npacket = "1250B"\n'
FAMILIES = pytest.mark.parametrize("family", ["ipv4", "ipv6"])
SENT = 200
"""Datagrams of the schedule: one each 10 ms."""
UNDER_WAY = 3
"""Sends within a round trip of 21 ms."""


def the_flow(record: Record) -> FlowResult:
    (end,) = record.result.flows
    return end


@FAMILIES
def test_each_datagram_for_a_closed_port_refuses_one_send(experiment: Experiment, family: str) -> None:
    text = PAIR.format(family=family, flow=DATAGRAMS + 'receiver_leaves = "1s"') + UNLIMITED
    record = experiment(text)
    end = the_flow(record)
    refused = metric(record, "refused_sends", "flow:one")
    assert end.error == "send: Connection refused (os error 111)"
    assert end.packets_sent == SENT - refused
    # Those that came before it left: sent until 11 ms before.
    assert end.packets_received == 99
    assert 0 <= end.packets_sent - end.packets_received - refused <= UNDER_WAY
    # As many again are sent as are refused, or two more.
    assert refused == pytest.approx((SENT - 99) / 2, abs=UNDER_WAY)


@FAMILIES
@pytest.mark.parametrize("burst", [1, 4, 8, 20])
def test_a_refusal_takes_one_datagram_of_a_burst(experiment: Experiment, family: str, burst: int) -> None:
    """A socket keeps one error until the next send: so many refusals as bursts, after the first to nobody."""
    flow = f'{DATAGRAMS}burst = {burst}\nreceiver_leaves = "1s"'
    end = the_flow(experiment(PAIR.format(family=family, flow=flow) + UNLIMITED))
    every_s = 0.01 * burst
    begun = [every_s * number for number in range(SENT // burst)]
    # The last of a burst that comes in time has waited for the others, 1 ms each, and is 11 ms under way.
    came = [at for at in begun if at + 0.001 * burst + 0.0105 < 1]
    assert end.packets_received == len(came) * burst
    assert end.sends_refused is not None
    assert end.packets_sent == SENT - end.sends_refused
    to_nobody = len(begun) - len(came)
    if burst > 2:  # the answers to one burst come before the next
        assert end.sends_refused == to_nobody - 1
    else:
        assert end.sends_refused == pytest.approx(to_nobody / 2, abs=UNDER_WAY)
    assert end.error == "send: Connection refused (os error 111)"


def test_a_kernel_says_so_six_times_and_then_once_a_second(experiment: Experiment) -> None:
    """Six tokens at once, one more after each second (icmp_ratelimit; inet_peer_xrlim_allow)."""
    text = PAIR.format(family="ipv4", flow=DATAGRAMS + 'receiver_leaves = "500ms"')
    assert metric(experiment(text), "refused_sends", "flow:one") == 6 + 1


@FAMILIES
def test_a_reader_to_the_end_refuses_nothing(experiment: Experiment, family: str) -> None:
    record = experiment(PAIR.format(family=family, flow=DATAGRAMS))
    assert the_flow(record).packets_sent == SENT
    assert the_flow(record).sends_refused is None
    assert not any(value.metric == "refused_sends" for value in record.metrics())


@FAMILIES
@pytest.mark.parametrize("more", ["", 'bytes = "50MB"', 'rate = "5mbit"', 'read_rate = "1mbit"'])
def test_a_stream_to_one_that_left_is_reset(experiment: Experiment, family: str, more: str) -> None:
    """What it has not read, or what was under way, is answered by a reset."""
    record = experiment(PAIR.format(family=family, flow=f'receiver_leaves = "1s"\n{more}'))
    end = the_flow(record)
    assert metric(record, "gave_up_ms", "flow:one") >= 1010
    assert metric(record, "resets_sent") >= 1
    assert end.sender_done_ns is not None
    # What is unread is told by a reset at once (RFC 2525, section 2.17), else the end, and then a reset.
    unread = "read_rate" in more
    assert end.error == (
        "send: Connection reset by peer (os error 104)" if unread else "send: Broken pipe (os error 32)"
    )
    if unread:
        assert metric(record, "gave_up_ms", "flow:one") <= 1012


@FAMILIES
def test_a_connection_to_one_that_has_left_is_refused_at_once(experiment: Experiment, family: str) -> None:
    record = experiment(PAIR.format(family=family, flow='start = "1s"\nreceiver_leaves = "500ms"'))
    assert 20 <= metric(record, "gave_up_ms", "flow:one") <= 22
    assert "Connection refused" in str(the_flow(record).error)
    assert record.manifest.valid
    assert not [one for one in record.manifest.warnings if "arrived" in one]
