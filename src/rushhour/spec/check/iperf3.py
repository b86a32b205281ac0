"""Checks of flows that iperf3 generates: what its command line has no words for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow

_SECOND = 10**9
# Limits of iperf3's options (iperf.h of 3.12): MAX_BLOCKSIZE, MIN_UDP_BLOCKSIZE, MAX_MSS, MAX_TCP_BUFFER.
_LARGEST_WRITE = 1 << 20
_LEAST_DATAGRAM = 16
_LARGEST_MSS = 9 * 1024
_LARGEST_BUFFER = 512 << 20
_OWN = 'leave it out, or let the agent generate the flow: generator = "agent"'


def check_iperf3(scenario: Scenario, flow: Flow, here: Path) -> Iterator[Problem]:
    """Give what iperf3 cannot do for this flow."""
    for key in (
        "receiver_cc",
        "read_rate",
        "read_interval",
        "read_class",
        "on",
        "off",
        "burst",
        "gso",
        "last_packet",
        "gro",
        "keepalive",
        "keepalive_time",
        "keepalive_interval",
        "keepalive_probes",
        "user_timeout",
        "fastopen",
        "zerocopy",
        "verify",
        "open",
        "close",
        "receiver_leaves",
    ):
        if getattr(flow, key) is not None:
            yield Problem((*here, key), f"iperf3 has no {key}", _OWN)
    if flow.sndbuf != flow.rcvbuf:
        key = "sndbuf" if flow.sndbuf is not None else "rcvbuf"
        yield Problem(
            (*here, key), "iperf3 sets sndbuf and rcvbuf to one size", "give both the same, or neither"
        )
    yield from _check_sizes(flow, here)
    yield from _check_end(scenario, flow, here)


def _check_sizes(flow: Flow, here: Path) -> Iterator[Problem]:
    most = {"message": _LARGEST_WRITE, "mss": _LARGEST_MSS, "sndbuf": _LARGEST_BUFFER}
    for key, limit in most.items():
        size = getattr(flow, key)
        if size is not None and size.bytes > limit:
            yield Problem((*here, key), f'"{size}" is more than iperf3 takes', f'at most "{limit}B"')
    if flow.kind in kinds.UDP_STREAMS and flow.packet is not None and flow.packet.bytes < _LEAST_DATAGRAM:
        message = f'"{flow.packet}" is less than iperf3 takes'
        yield Problem((*here, "packet"), message, f'at least "{_LEAST_DATAGRAM}B"')


def _check_end(scenario: Scenario, flow: Flow, here: Path) -> Iterator[Problem]:
    """It ends by time or by amount, not by whichever comes first, and counts time in whole seconds."""
    amount = next((key for key in ("bytes", "datagrams") if getattr(flow, key) is not None), None)
    if amount is not None:
        if flow.duration is not None:
            yield Problem((*here, "duration"), f"iperf3 ends by {amount} or by time", "leave out one of them")
        return
    length = flow.duration.ns if flow.duration is not None else scenario.span.ns - flow.start.ns
    if length <= 0:
        return  # said elsewhere
    if length % _SECOND:
        key = "duration" if flow.duration is not None else "generator"
        yield Problem(
            (*here, key),
            f"iperf3 sends for whole seconds, not for {length / _SECOND:g}",
            'give the flow for example duration = "10s"',
        )
