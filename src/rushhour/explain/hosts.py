"""Causes at the two ends: buffers, windows, applications, pacing, and a transfer too short to speed up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.explain.caps import UNSCALED
from rushhour.explain.evidence import DELAY_BASED, OPTION_WSCALE
from rushhour.explain.finding import Finding, Remedy
from rushhour.explain.words import part, reached, sysctl
from rushhour.quantities.short import rate, rounded_up, size, time

if TYPE_CHECKING:
    from rushhour.explain.evidence import Evidence

MARGIN = 1.5
"""A buffer is proposed this much above what the path holds: auto-tuning and packet overhead vary."""
LEAST_RMEM, LEAST_WMEM = 131072, 65536
"""No greatest buffer below these is proposed: tcp_rmem's own default, and room for a few super-packets."""


def window_scaling(e: Evidence) -> Finding | None:
    """The receiver's window cannot pass 65535 bytes, because scaling was not agreed on."""
    if e.options & OPTION_WSCALE or (e.bdp or 0) < UNSCALED:
        return None
    says = (
        f"{reached(e)}: {part(e, 'receiver')} a window of at most 64 KiB was in flight, on a path that holds "
        f"{size(e.bdp or 0)}. Window scaling was not agreed on."
    )
    advice = f"Switch window scaling on at both ends, {e.sender} and {e.receiver}."
    remedy = sysctl(e, advice, e.sender, "net.ipv4.tcp_window_scaling", "1")
    there = sysctl(e, advice, e.receiver, "net.ipv4.tcp_window_scaling", "1")
    remedy = replace(remedy, overrides={**remedy.overrides, **there.overrides})
    return Finding("window_scaling", e.shares.get("receiver", 0.0), says, remedy)


def receive_buffer(e: Evidence) -> Finding | None:
    """The receive buffer makes a window below what the path holds."""
    if not e.window or not e.rcvbuf:
        return None
    says = (
        f"{reached(e)}: {part(e, 'receiver')} the receiver's window ({size(e.window)} at most) was full, and "
        f"the path holds {size(e.bdp or 0)}."
    )
    # Which part of a receive buffer becomes window differs by kernel and by packet; it is taken as seen.
    needed = MARGIN * (e.bdp or 0) * e.rcvbuf / e.window
    if (
        needed <= e.rcvbuf
    ):  # the window holds more than the path: the round trip is longer than that of the path
        return (
            None
            if e.acks_wait is not None
            else Finding("receive_buffer", e.shares.get("receiver", 0.0), says)
        )
    return Finding("receive_buffer", e.shares.get("receiver", 0.0), says, _larger_receive_buffer(e, needed))


def _larger_receive_buffer(e: Evidence, needed: float) -> Remedy | None:
    if "rcvbuf" in e.asked:
        asked = rounded_up(needed / 2)  # the kernel doubles what SO_RCVBUF asks for
        if asked <= e.asked["rcvbuf"]:
            return None
        advice = (
            f"The application on {e.receiver} sets SO_RCVBUF to {size(e.asked['rcvbuf'])}: let it set "
            f"{size(asked)}, or nothing, so that the kernel tunes the buffer."
        )
        return Remedy(advice, "", {f"{e.flow_key}.rcvbuf": f"{asked}B"})
    if e.sysctls.get(e.receiver, {}).get("net.ipv4.tcp_moderate_rcvbuf") == "0":
        advice = f"Let the kernel tune receive buffers on {e.receiver}."
        return sysctl(e, advice, e.receiver, "net.ipv4.tcp_moderate_rcvbuf", "1")
    most = max(rounded_up(needed), LEAST_RMEM)
    advice = f"Raise the greatest receive buffer on {e.receiver} to {size(most)}."
    return sysctl(e, advice, e.receiver, "net.ipv4.tcp_rmem", f"4096 131072 {most}")


def send_buffer(e: Evidence) -> Finding | None:
    """The send buffer holds less than the path."""
    share = e.shares.get("sndbuf", 0.0)
    says = f"{reached(e)}: {part(e, 'sndbuf')} the send buffer on {e.sender} was full"
    if not e.sndbuf or not e.inflight:
        return Finding("send_buffer", share, f"{says}.")
    says += f", with {size(e.inflight)} in flight at most, on a path that holds {size(e.bdp or 0)}."
    needed = MARGIN * max(e.bdp or 0, e.inflight) * e.sndbuf / e.inflight
    if "sndbuf" in e.asked:
        asked = rounded_up(needed / 2)
        advice = (
            f"The application on {e.sender} sets SO_SNDBUF to {size(e.asked['sndbuf'])}: let it set "
            f"{size(asked)}, or nothing, so that the kernel tunes the buffer."
        )
        remedy = Remedy(advice, "", {f"{e.flow_key}.sndbuf": f"{asked}B"})
    else:
        most = max(rounded_up(needed), LEAST_WMEM)
        advice = f"Raise the greatest send buffer on {e.sender} to {size(most)}."
        remedy = sysctl(e, advice, e.sender, "net.ipv4.tcp_wmem", f"4096 16384 {most}")
    return Finding("send_buffer", share, says, remedy)


def slow_reader(e: Evidence) -> Finding | None:
    """The receiving application is slower than the network."""
    says = (
        f"{reached(e)}: {part(e, 'reader')} the data lay unread on {e.receiver}. The receiving application "
        "is the limit, not the network."
    )
    remedy = _faster(e, "Make the receiving application read faster.", "read_bps", "read_rate")
    return Finding("slow_reader", e.shares.get("reader", 0.0), says, remedy)


def slow_writer(e: Evidence) -> Finding | None:
    """The sending application gives too little."""
    says = (
        f"{reached(e)}: {part(e, 'application')} the application on {e.sender} had given the kernel nothing "
        "to send. The network had room."
    )
    remedy = _faster(e, "Make the sending application write faster.", "rate_bps", "rate")
    return Finding("slow_writer", e.shares.get("application", 0.0), says, remedy)


def pacing(e: Evidence) -> Finding | None:
    """The socket's own pacing rate."""
    most = e.asked.get("pacing_bps")
    at = f" of {rate(most)}" if most else ""
    says = f"{reached(e)}: {part(e, 'pacing')} it sent at its socket's pacing rate{at}."
    remedy = _faster(e, "Raise SO_MAX_PACING_RATE, or leave it out.", "pacing_bps", "pacing")
    return Finding("pacing", e.shares.get("pacing", 0.0), says, remedy)


def _faster(e: Evidence, advice: str, asked: str, key: str) -> Remedy:
    """A rate that the scenario sets, raised to twice what the path carries, so that it limits no more."""
    if asked not in e.asked or not e.possible_bps:
        return Remedy(advice)
    return Remedy(advice, "", {f"{e.flow_key}.{key}": f"{rounded_up(2 * e.possible_bps)}bit"})


def handshake(e: Evidence) -> Finding | None:
    """Opening the connection took a good part of the time."""
    if not e.handshake_s:
        return None
    says = (
        f"{e.name} took {time(e.handshake_s)} of {time(e.handshake_s + e.length_s)} in all to open its "
        "connection"
    )
    if e.syns:
        times = "once, after a wait" if e.syns == 1 else f"{e.syns} times, each after a wait"
        says += f": its SYN was sent again {times} of 1 s or more."
        advice = (
            "Repair the link; a SYN has nothing to measure its timeout by. Keep connections open and use "
            "them again."
        )
    else:
        says += ": one round trip before the first byte."
        advice = "Keep connections open and use them again, or send data with the SYN (TCP Fast Open)."
    return Finding("handshake", e.shares.get("handshake", 0.0), says, Remedy(advice))


def slow_start(e: Evidence) -> Finding | None:
    """The transfer was over before the window had grown."""
    trip = f" of {time(e.base_rtt_s)}" if e.base_rtt_s else ""
    says = (
        f"{reached(e)}: {part(e, 'slow_start')} ({time(e.length_s)} in all) it was in slow start, its window "
        f"not yet grown to what the path holds. Each doubling takes a round trip{trip}."
    )
    if e.syns:
        says += (
            " A lost SYN sets the slow-start threshold as lost data would: the window is past it from the "
            "start, and grows by a segment a round trip."
        )
    advice = (
        "Keep connections open and use them again, or give the route a larger initial window "
        "(ip route change … initcwnd 20)."
    )
    return Finding("slow_start", e.shares["slow_start"], says, Remedy(advice))


def small_window(e: Evidence) -> Finding | None:
    """The algorithm itself stays small: it follows delay, or paces."""
    says = (
        f"{reached(e)}: {part(e, 'window')} {e.cc} kept its window below what the path holds, without losses "
        "or marks."
    )
    if not e.shares.get("window"):
        says = f"{e.cc} takes the path's delay for congestion, and gives way to what fills the queue."
    remedy = None
    if e.cc in DELAY_BASED:
        advice = f"Compare with another algorithm (cubic): {e.cc} takes the path's delay for congestion."
        remedy = Remedy(advice, "", {f"{e.flow_key}.cc": "cubic"})
    return Finding("window", e.shares.get("window", 0.0), says, remedy)
