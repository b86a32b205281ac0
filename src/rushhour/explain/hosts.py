"""Causes at the two ends: buffers, windows, applications, pacing, and a transfer too short to speed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.explain.evidence import OPTION_WSCALE
from rushhour.explain.finding import Finding, Remedy
from rushhour.explain.words import part, rate, reached, rounded_up, size, sysctl, time

if TYPE_CHECKING:
    from rushhour.explain.evidence import Evidence

MARGIN = 1.5
"""A buffer is proposed this much above what the path holds: auto-tuning and packet overhead vary."""
UNSCALED = 65535
"""The greatest window without scaling (RFC 7323)."""
LEAST_RMEM, LEAST_WMEM = 131072, 65536
"""No greatest buffer below these is proposed: tcp_rmem's own default, and room for a few super-packets."""
DELAY_BASED = frozenset({"vegas", "nv", "lp", "cdg", "westwood", "yeah", "veno", "illinois"})
"""Algorithms that slow down, or give way, on delay (net/ipv4/tcp_*.c)."""


def window_scaling(e: Evidence) -> Finding | None:
    """The receiver's window cannot pass 65535 bytes, because scaling was not agreed on."""
    if e.options & OPTION_WSCALE or (e.bdp or 0) < UNSCALED:
        return None
    says = (
        f"{reached(e)}: {part(e, 'receiver')} a window of at most 64 KiB was in flight, on a path that holds "
        f"{size(e.bdp or 0)}. Window scaling was not agreed on."
    )
    advice = f"Switch window scaling on at both ends, {e.sender} and {e.receiver}."
    remedy = sysctl(advice, "net.ipv4.tcp_window_scaling", "1", e.fair_bps)
    return Finding("window_scaling", e.shares["receiver"], says, remedy)


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
    return Finding("receive_buffer", e.shares["receiver"], says, _larger_receive_buffer(e, needed))


def _larger_receive_buffer(e: Evidence, needed: float) -> Remedy:
    if "rcvbuf" in e.asked:
        asked = rounded_up(needed / 2)  # the kernel doubles what SO_RCVBUF asks for
        advice = (
            f"The application on {e.receiver} sets SO_RCVBUF to {size(e.asked['rcvbuf'])}: let it set "
            f"{size(asked)}, or nothing, so that the kernel tunes the buffer."
        )
        return Remedy(advice, "", {f"flow.{e.name}.rcvbuf": f"{asked}B"}, e.fair_bps)
    if e.sysctls.get(e.receiver, {}).get("net.ipv4.tcp_moderate_rcvbuf") == "0":
        advice = f"Let the kernel tune receive buffers on {e.receiver}."
        return sysctl(advice, "net.ipv4.tcp_moderate_rcvbuf", "1", e.fair_bps)
    most = max(rounded_up(needed), LEAST_RMEM)
    advice = f"Raise the greatest receive buffer on {e.receiver} to {size(most)}."
    return sysctl(advice, "net.ipv4.tcp_rmem", f"4096 131072 {most}", e.fair_bps)


def send_buffer(e: Evidence) -> Finding | None:
    """The send buffer holds less than the path."""
    share = e.shares["sndbuf"]
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
        remedy = Remedy(advice, "", {f"flow.{e.name}.sndbuf": f"{asked}B"}, e.fair_bps)
    else:
        most = max(rounded_up(needed), LEAST_WMEM)
        advice = f"Raise the greatest send buffer on {e.sender} to {size(most)}."
        remedy = sysctl(advice, "net.ipv4.tcp_wmem", f"4096 16384 {most}", e.fair_bps)
    return Finding("send_buffer", share, says, remedy)


def slow_reader(e: Evidence) -> Finding | None:
    """The receiving application is slower than the network."""
    says = (
        f"{reached(e)}: {part(e, 'reader')} the data lay unread on {e.receiver}. The receiving application "
        "is the limit, not the network."
    )
    remedy = _faster(e, "Make the receiving application read faster.", "read_bps", "read_rate")
    return Finding("slow_reader", e.shares["reader"], says, remedy)


def slow_writer(e: Evidence) -> Finding | None:
    """The sending application gives too little."""
    says = (
        f"{reached(e)}: {part(e, 'application')} the application on {e.sender} had given the kernel nothing "
        "to send. The network had room."
    )
    remedy = _faster(e, "Make the sending application write faster.", "rate_bps", "rate")
    return Finding("slow_writer", e.shares["application"], says, remedy)


def pacing(e: Evidence) -> Finding | None:
    """The socket's own pacing rate."""
    most = e.asked.get("pacing_bps")
    at = f" of {rate(most)}" if most else ""
    says = f"{reached(e)}: {part(e, 'pacing')} it sent at its socket's pacing rate{at}."
    remedy = _faster(e, "Raise SO_MAX_PACING_RATE, or leave it out.", "pacing_bps", "pacing")
    return Finding("pacing", e.shares["pacing"], says, remedy)


def _faster(e: Evidence, advice: str, asked: str, key: str) -> Remedy:
    """A rate that the scenario sets, raised to twice what the path carries, so that it limits no more."""
    if asked not in e.asked or not e.possible_bps:
        return Remedy(advice)
    return Remedy(advice, "", {f"flow.{e.name}.{key}": f"{rounded_up(2 * e.possible_bps)}bit"}, e.fair_bps)


def slow_start(e: Evidence) -> Finding | None:
    """The transfer was over before the window had grown."""
    trip = f" of {time(e.base_rtt_s)}" if e.base_rtt_s else ""
    says = (
        f"{reached(e)}: {part(e, 'slow_start')} ({time(e.length_s)} in all) it was in slow start, its window "
        f"not yet grown to what the path holds. Each doubling takes a round trip{trip}."
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
    remedy = None
    if e.cc in DELAY_BASED:
        advice = f"Compare with another algorithm (cubic): {e.cc} takes the path's delay for congestion."
        remedy = Remedy(advice, "", {f"flow.{e.name}.cc": "cubic"}, e.fair_bps)
    return Finding("window", e.shares["window"], says, remedy)
