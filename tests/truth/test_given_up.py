"""Clients that give up, and routers that have no route for a time: what arrives, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

from rushhour.series.readings import CA_LOSS

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.lab.kernel import Kernel

pytestmark = pytest.mark.virtual

CALLS = """
duration = "3s"
[[link]]
between = ["a", "b"]
rate = "1mbit"
delay = "10ms"
jitter = "0us"
[[pattern]]
key = "loss"
direction = "reverse"
steps = [["0s", "{lost}"], ["1s", "0%"]]
[[flow]]
name = "calls"
kind = "crr"
from = "a"
to = "b"
interval = "500ms"
patience = "{patience}"
response = "{response}"
"""

ROUTE = """
duration = "3s"
family = "{family}"
[[link]]
between = ["s", "m"]
rate = "10mbit"
delay = "1ms"
jitter = "0us"
[[link]]
between = ["m", "n"]
jitter = "0us"
[link.forward]
withdrawn = [["1s", "2s"]]
[[link]]
between = ["n", "r"]
jitter = "0us"
[[flow]]
name = "datagrams"
kind = "udp"
from = "s"
to = "r"
rate = "80kbit"
packet = "1000B"
"""


PEER = """
duration = "8s"
[[link]]
between = ["a", "b"]
rate = "10mbit"
delay = "10ms"
jitter = "0us"
buffer = "1MB"
[[pattern]]
key = "loss"
direction = "forward"
steps = [["0s", "{at_first}"], ["300ms", "{then}"]]
[sysctl]
"net.ipv4.tcp_keepalive_time" = 1
"net.ipv4.tcp_keepalive_intvl" = 1
"net.ipv4.tcp_keepalive_probes" = 3
"net.ipv4.tcp_syn_retries" = 1
[[flow]]
name = "long"
from = "a"
to = "b"
start = "100ms"
{more}
"""

# A timer of 512 jiffies or more is kept in steps of 64 (kernel/time/timer.c); the guest's are of 1 ms.
STEP_MS = 64


@pytest.mark.parametrize(
    ("lost", "patience", "response", "answered"),
    [
        ("0%", "100ms", "1kB", [0, 1, 2, 3, 4, 5]),
        # No connection before 1 s: the calls that were given up keep their place in the schedule.
        ("100%", "100ms", "1kB", [2, 3, 4, 5]),
        # 30 kB take 0.26 s at 1 Mbit/s.
        ("0%", "200ms", "30kB", []),
        ("0%", "400ms", "30kB", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_client_waits_as_long_as_its_patience(
    experiment: Experiment, lost: str, patience: str, response: str, answered: list[int]
) -> None:
    record = experiment(CALLS.format(lost=lost, patience=patience, response=response))
    assert record.table("transaction")["seq"].tolist() == answered


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_router_without_a_route_says_so_and_has_it_again(experiment: Experiment, family: str) -> None:
    record = experiment(ROUTE.format(family=family))
    arrived = record.table("udp")["tx_ns"][record.table("udp")["rx_ns"] > 0]
    # Ten in a second; those of 1 s to 2 s find no route, give or take the one that leaves just then.
    sent = [sum((arrived >= second * 10**9) & (arrived < (second + 1) * 10**9)) for second in range(3)]
    assert sent[1] == 0
    assert min(sent[0], sent[2]) >= 9
    assert metric(record, "icmp_errors_received") > 0


def test_a_user_timeout_counts_from_the_first_retransmission_timeout(experiment: Experiment) -> None:
    """The last timer is moved up to the end of the time (tcp_clamp_rto_to_user_timeout)."""
    record = experiment(PEER.format(at_first="0%", then="100%", more='user_timeout = "2s"'))
    states = record.table("tcp_cong_state_set")
    expired_ns = int(states["t_ns"][states["cong_state"] == CA_LOSS][0])
    waited = 100 + metric(record, "gave_up_ms", "flow:long") - expired_ns / 1e6
    # Stamps are whole milliseconds.
    assert 1999 <= waited < 2001 + STEP_MS


@pytest.mark.parametrize("more", ["", 'rate = "100mbit"\nmessage = "1kB"'])
def test_the_sender_says_why_its_connection_was_given_up(experiment: Experiment, more: str) -> None:
    """The kernel says so once, to the first call after it (sk_stream_error); to others EPIPE."""
    record = experiment(PEER.format(at_first="0%", then="100%", more=f'user_timeout = "2s"\n{more}'))
    (end,) = record.result.flows
    assert end.error == "send: Connection timed out (os error 110)"
    assert end.sender_done_ns is not None
    told = 100 + metric(record, "gave_up_ms", "flow:long")
    assert end.sender_done_ns / 1e6 == pytest.approx(told, abs=1)


def test_a_user_timeout_ends_probes_of_a_closed_window(experiment: Experiment) -> None:
    """tcp_probe_timer counts from the first probe, of which the peer answers each; RFC 9293 would keep it."""
    record = experiment(
        PEER.format(at_first="0%", then="0%", more='user_timeout = "2s"\nread_rate = "1kbit"')
    )
    assert metric(record, "gave_up_ms", "flow:long") > 2000
    kept = experiment(PEER.format(at_first="0%", then="0%", more='read_rate = "1kbit"'))
    assert not any(value.metric == "gave_up_ms" for value in kept.metrics())


def test_a_syn_is_given_up_after_the_timeouts_of_its_tries(experiment: Experiment, kernel: Kernel) -> None:
    """One retry: 1 s, then 2 s (RFC 6298, sections 2.1 and 5.5)."""
    # Kernels from 6.5 on begin with four tries a second apart, unless they are told.
    linear = "" if kernel.name == "debian-6.1" else '"net.ipv4.tcp_syn_linear_timeouts" = 0\n'
    text = PEER.replace("[[flow]]", linear + "[[flow]]")
    record = experiment(text.format(at_first="100%", then="100%", more=""))
    assert 3000 <= metric(record, "gave_up_ms", "flow:long") < 3000 + 2 * STEP_MS


def test_a_silent_peer_is_given_up_an_interval_after_the_last_probe(experiment: Experiment) -> None:
    """Idle for a second, then three probes a second apart, and a second for the last."""
    more = 'keepalive = true\nmessage = "1kB"\nrate = "1kbit"'
    record = experiment(PEER.format(at_first="0%", then="100%", more=more))
    # Handshake and message take three times the way of 20 ms, and 1 kB at 10 Mbit/s less than 1 ms.
    assert 4000 <= metric(record, "gave_up_ms", "flow:long") < 4061 + 4 * STEP_MS


@pytest.mark.parametrize("kind", ["tcp", "rr"])
def test_a_connections_own_questions_count_and_not_those_of_its_host(
    experiment: Experiment, kind: str
) -> None:
    """Idle for 2 s, a question, another one 2 s later, and 2 s for its answer (RFC 9293, section 3.8.4)."""
    own = 'keepalive = true\nkeepalive_time = "2s"\nkeepalive_interval = "2s"\nkeepalive_probes = 2\n'
    says = {"tcp": 'message = "1kB"\nrate = "1kbit"', "rr": 'kind = "rr"\ninterval = "100s"'}
    record = experiment(PEER.format(at_first="0%", then="100%", more=own + says[kind]))
    assert 6000 <= metric(record, "gave_up_ms", "flow:long") < 6061 + 4 * STEP_MS


def test_who_closes_by_a_reset_has_given_nothing_up(experiment: Experiment) -> None:
    record = experiment(PEER.format(at_first="0%", then="0%", more='bytes = "10kB"\nclose = "reset"'))
    assert metric(record, "resets_sent") > 0
    assert not any(value.metric == "gave_up_ms" for value in record.metrics())


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize(("more", "given_up"), [("", 0), ('user_timeout = "2s"', 1)])
def test_each_timeout_chooses_a_path_anew_but_for_the_last(
    experiment: Experiment, family: str, more: str, given_up: int
) -> None:
    """A new hash for each expiry but that at which the connection is given up (tcp_write_timeout)."""
    text = PEER.replace("[[link]]", f'family = "{family}"\n[[link]]', 1)
    record = experiment(text.format(at_first="0%", then="100%", more=more))
    expiries = metric(record, "timer_expirations")
    assert expiries > 2
    assert metric(record, "rehashes") == expiries - given_up
