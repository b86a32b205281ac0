"""Rules on what the ends of a TCP flow hold back: its windows and buffers, its programs, their processors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import DELAY_BASED, OPTION_WSCALE, Cure, Named, Setting
from rushhour.causes.path_rules import in_slots
from rushhour.causes.telling import by_shown, held, said, told
from rushhour.causes.thresholds import LEAST_RMEM, LEAST_WMEM, MARGIN, SYN_S, UNSCALED, USUAL_INITCWND
from rushhour.quantities.short import rate, rounded_up, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.evidence import Evidence, Shown
    from rushhour.causes.telling import Rule


def window_scaling(e: Evidence, _: float) -> Named | None:
    """The receiver's window cannot pass 65535 bytes, because scaling was not agreed on."""
    agreed = e.options is None or e.options & OPTION_WSCALE
    if agreed or (e.window or 0) > UNSCALED or (e.bdp or 0) < UNSCALED:
        return None
    proof = f", and the path holds {size(e.bdp or 0)}"
    return switched_off(e, "window-scaling-off", "window scaling", "net.ipv4.tcp_window_scaling", proof)


def switched_off(e: Evidence, key: str, what: str, name: str, proof: str) -> Named:
    """An option of TCP that was not agreed on, because a host has its sysctl off."""
    hosts = off(e, name)
    where = hosts[0] if len(hosts) == 1 else e.receiver
    return said(key, where, switched_on(e, what, name, hosts), hosts=_and(e, hosts), proof=proof)


def off(e: Evidence, name: str) -> list[str]:
    """The ends that have an option off; both where none is known to."""
    both = [e.sender, e.receiver]
    return [host for host in both if str(e.setting(host, name)) == "0"] or both


def _and(e: Evidence, hosts: list[str]) -> str:
    return " and ".join(e.called(host) for host in hosts)


def switched_on(e: Evidence, what: str, name: str, hosts: list[str]) -> Cure:
    """The cure that switches an option of TCP on at these hosts."""
    where = "at both ends, " if len(hosts) > 1 else "on "
    return Cure(
        f"Switch {what} on {where}{_and(e, hosts)}.", tuple(Setting(host, name, "1") for host in hosts)
    )


def receive_buffer(e: Evidence, share: float) -> Named | None:
    """The receive buffer makes a window below what the path holds.

    One that holds the idle path is full where the round trip is longer because ACKs wait: then these are the
    cause.
    """
    one = _small_receive_buffer(e, share)
    return None if one is not None and one.cure is None and e.acks_waited else one


def growing_window(e: Evidence, share: float) -> Named | None:
    """The receiver's window is that of a young connection; the route may have made it smaller still."""

    def cure(shown: Shown) -> Cure:
        if not shown.host:
            return Cure("Keep connections open and use them again: their windows have grown.")
        return Cure(
            f"Take initrwnd from the route of {e.called(shown.host)}, or make it larger (ip route change … "
            "initrwnd 45): a SYN-ACK offers up to 65535 bytes."
        )

    return by_shown(e, "receive-window-growing", share, cure)


def _small_receive_buffer(e: Evidence, share: float) -> Named | None:
    window, path, key = e.window or e.inflight, e.bdp or 0.0, "receive-buffer-too-small"
    if not window:
        return None
    # Which part of a receive buffer becomes window differs by kernel and by packet; it is taken as seen.
    needed = MARGIN * path * (e.rcvbuf or 2 * window) / window
    if e.rcvbuf and needed <= e.rcvbuf:  # the round trip is longer than that of the path
        says = f"The receiver's window of {size(window)} was full {held(share)}; the path holds {size(path)}."
        return Named(key, e.receiver, says)
    full = f"{held(share)} its window of {size(window)} was full, and the path holds {size(path)}"
    if one := _not_grown(e, e.receiver, f"windows do not grow; {full}"):
        return one
    return said(key, e.receiver, _larger_receive_buffer(e, needed), host=e.called(e.receiver), proof=full)


def _larger_receive_buffer(e: Evidence, needed: float) -> Cure | None:
    host = e.called(e.receiver)
    if "rcvbuf" in e.asked:
        return _larger_option(e, "rcvbuf", e.receiver, needed)
    if str(e.setting(e.receiver, "net.ipv4.tcp_moderate_rcvbuf")) == "0":
        tuned = Setting(e.receiver, "net.ipv4.tcp_moderate_rcvbuf", "1")
        return Cure(f"Let the kernel tune receive buffers on {host}.", (tuned,))
    most = max(rounded_up(needed), int(LEAST_RMEM))
    raised = Setting(e.receiver, "net.ipv4.tcp_rmem", triple(e, e.receiver, "net.ipv4.tcp_rmem", most))
    return Cure(f"Raise the greatest receive buffer on {host} to {size(most)}.", (raised,))


def _larger_option(e: Evidence, name: str, host: str, needed: float) -> Cure | None:
    option = {"rcvbuf": "SO_RCVBUF", "sndbuf": "SO_SNDBUF"}[name]
    asked = rounded_up(needed / 2)  # the kernel doubles what is asked for
    if asked <= e.asked[name]:
        return None
    advice = (
        f"The application on {e.called(host)} sets {option} to {size(e.asked[name])}: let it set "
        f"{size(asked)}, or nothing, so that the kernel tunes the buffer."
    )
    return Cure(advice, socket={name: f"{asked}B"})


def triple(e: Evidence, host: str, name: str, most: int) -> str:
    """Least, usual and greatest buffer, the greatest raised to `most`."""
    known = e.setting(host, name)
    known = known.split() if isinstance(known, str) else known
    usual = {"net.ipv4.tcp_rmem": (4096, 131072), "net.ipv4.tcp_wmem": (4096, 16384)}[name]
    least, middle = known[:2] if isinstance(known, list) and len(known) == 3 else usual
    return f"{least} {max(int(middle), usual[1])} {most}"


def send_buffer(e: Evidence, share: float) -> Named | None:
    """The send buffer holds less than the path."""
    host = e.called(e.sender)
    if not e.sndbuf or not e.inflight:
        return Named("send-buffer-too-small", e.sender, f"The send buffer of {host} was full {held(share)}.")
    path = e.bdp or 0.0
    needed = MARGIN * max(path, e.inflight) * e.sndbuf / e.inflight
    full = f"{held(share)} it was full with {size(e.inflight)} in flight, and the path holds {size(path)}"
    if "sndbuf" in e.asked:
        cure = _larger_option(e, "sndbuf", e.sender, needed)
    elif one := _not_grown(e, e.sender, f"the send buffer does not grow; {full}"):
        return one
    else:
        most = max(rounded_up(needed), int(LEAST_WMEM))
        raised = Setting(e.sender, "net.ipv4.tcp_wmem", triple(e, e.sender, "net.ipv4.tcp_wmem", most))
        cure = Cure(f"Raise the greatest send buffer on {host} to {size(most)}.", (raised,))
    return said("send-buffer-too-small", e.sender, cure, host=host, proof=full)


def _not_grown(e: Evidence, host: str, proof: str) -> Named | None:
    """A buffer is small because all sockets together have too much: a higher limit changes nothing."""
    if not e.pressures(host):
        return None
    called = e.called(host)
    cure = Cure(
        f"Let TCP have more memory on {called} (net.ipv4.tcp_mem), or let programs read what lies there."
    )
    return said("tcp-memory-pressure", host, cure, host=called, proof=proof)


PROGRAM = "top -H -b -n 1 | head -20"
"""What shows why a program is slow."""
QUOTA_AWAY = "systemctl set-property --runtime UNIT CPUQuota=   # of the unit or container it runs in"
"""What takes a quota away."""


def _quota(e: Evidence, host: str, share: float) -> Named | None:
    """A quota stops the program at a host."""
    shown = e.shown("cpu-quota", host)
    if shown is None:
        return None
    words = {"proof": f": {held(share)} the network waited for them", **shown.words}
    cure = Cure("Raise the quota, or take it away.", look=QUOTA_AWAY)
    return told(e, "cpu-quota", replace(shown, words=words), share, cure)


def _busy(e: Evidence, host: str, share: float) -> Named | None:
    """The program at a host has no processor time left."""
    cure = Cure("Leave it a processor.", look="ps -eo pid,psr,pcpu,comm --sort=-pcpu | head")
    return by_shown(e, "cpu-busy", share, cure, host)


def reader_stopped(e: Evidence, share: float) -> Named | None:
    """A quota stops the receiving program."""
    return _quota(e, e.receiver, share)


def reader_busy(e: Evidence, share: float) -> Named | None:
    """The receiving program has no processor time left."""
    return _busy(e, e.receiver, share)


def writer_stopped(e: Evidence, share: float) -> Named | None:
    """A quota stops the sending program."""
    return _quota(e, e.sender, share)


def writer_busy(e: Evidence, share: float) -> Named | None:
    """The sending program has no processor time left."""
    return _busy(e, e.sender, share)


def slow_reader(e: Evidence, share: float) -> Named:
    """The receiving application is slower than the network."""
    cure = Cure("Make the receiving application read faster.", look=PROGRAM)
    return said("slow-reader", e.receiver, cure, program=e.program(e.receiver), held=held(share))


def slow_writer(e: Evidence, share: float) -> Named:
    """The sending application gives too little."""
    cure = Cure("Make the sending application write faster.", look=PROGRAM)
    return said("slow-writer", e.sender, cure, program=e.program(e.sender), held=held(share))


OPTMEM = "131072"
"""net.core.optmem_max since Linux 6.8, in bytes."""


def no_room(e: Evidence, share: float) -> Named | None:
    """Sends without a copy find no room for the messages about them; the program writes as fast as it may."""
    raised = Setting(e.sender, "net.core.optmem_max", OPTMEM)
    advice = (
        f"Raise net.core.optmem_max on {e.called(e.sender)} to {size(float(OPTMEM))}, or write more at once."
    )
    return by_shown(e, "no-room-for-messages", share, Cure(advice, (raised,)))


def pacing(e: Evidence, share: float) -> Named:
    """The socket's own pacing rate."""
    most = e.asked.get("pacing_bps")
    cure = Cure("Raise SO_MAX_PACING_RATE, or leave it out.", look="tc -s qdisc show dev {dev}")
    at = f" at {rate(most)}" if most else ""
    return said("pacing", e.sender, cure, host=e.called(e.sender), at=at, held=held(share))


def small_window(e: Evidence, share: float) -> Named:
    """The algorithm itself stays small: it follows delay, or paces."""
    cure, why = None, ""
    if e.cc in DELAY_BASED:
        why = ": it takes the path's delay for congestion"
        cure = Cure(
            f"Compare with another algorithm (cubic): {e.cc} takes the path's delay for congestion.",
            socket={"cc": "cubic"},
        )
    one = said("small-window", e.sender, cure, cc=e.cc, host=e.called(e.sender), held=held(share), why=why)
    if share:
        return one
    return replace(
        one, says=f"{e.cc} takes the path's delay for congestion, and gives way to what fills the queue."
    )


KEEPS_THRESHOLD = "net.ipv4.tcp_no_ssthresh_metrics_save"
"""What keeps the threshold of a connection for the next one, where it is 0."""


def remembered(e: Evidence, share: float) -> Named | None:
    """A threshold from before the connection ends its slow start."""
    given = e.setting(e.sender, KEEPS_THRESHOLD)
    asked = given == "0"
    forget = "forget what is kept (ip tcp_metrics flush), and take ssthresh from the route"
    advice = (
        f"Set {KEEPS_THRESHOLD} to 1 on {e.called(e.sender)}; {forget}."
        if asked
        else f"{forget.capitalize()}."
    )
    cure = Cure(advice, (Setting(e.sender, KEEPS_THRESHOLD, "1"),) if asked else ())
    return by_shown(e, "remembered-threshold", share, cure)


SS_RATIO, CA_RATIO = "net.ipv4.tcp_pacing_ss_ratio", "net.ipv4.tcp_pacing_ca_ratio"
RATIOS = {SS_RATIO: "200", CA_RATIO: "120"}
"""By which the kernel paces in slow start and after, in per cent."""


def pacing_ratio(e: Evidence, share: float) -> Named | None:
    """The kernel's pacing leaves room in the window."""
    given = {name: e.setting(e.sender, name) for name in RATIOS}
    raised = [Setting(e.sender, name, usual) for name, usual in RATIOS.items() if given[name] is not None]
    advice = f"Leave the ratios of pacing on {e.called(e.sender)} as they are, or at 100 % at least."
    return by_shown(e, "pacing-ratio", share, Cure(advice, tuple(raised)))


def handshake(e: Evidence, share: float) -> Named | None:
    """Opening the connection took a good part of the time."""
    kept = "Keep connections open and use them again"

    def cure(shown: Shown) -> Cure:
        if e.syns and not in_vain(e.syns, shown.idle_s):
            return Cure(f"Repair the link; a SYN has nothing to measure its timeout by. {kept}.")
        return Cure(f"{kept}, or send data with the SYN (TCP Fast Open).")

    return by_shown(e, "handshake", share, cure)


def in_vain(syns: int, trip_s: float | None) -> bool:
    """Whether SYNs were sent again, at most one a second, only because the way is that long."""
    return 0 < syns <= (trip_s or 0) / SYN_S


def initial_window(e: Evidence, share: float) -> Named | None:
    """The route lets connections begin with fewer segments than the kernel would."""

    def cure(shown: Shown) -> Cure:
        key = "initcwnd" if shown.host == e.sender else "initrwnd"
        route = f"the route of {e.called(shown.host)}"
        larger = f"make it larger (ip route change … {key} {USUAL_INITCWND:g})"
        return Cure(f"Take {key} from {route}, or {larger}; keep connections open and use them again.")

    return by_shown(e, "initial-window-small", share, cure)


def slow_start(e: Evidence, share: float) -> Named | None:
    """The transfer was over before the window had grown."""
    advice = (
        "Keep connections open and use them again, or give the route a larger initial window "
        "(ip route change … initcwnd 20)."
    )
    return by_shown(e, "slow-start", share, Cure(advice))


RULES: Mapping[str, tuple[Rule, ...]] = {
    "handshake": (handshake,),
    "slow_start": (initial_window, pacing_ratio, slow_start),
    "receiver": (window_scaling, growing_window, receive_buffer),
    "reader": (reader_stopped, reader_busy, slow_reader),
    "sndbuf": (send_buffer,),
    "application": (no_room, writer_stopped, writer_busy, slow_writer),
    "pacing": (pacing,),
    "window": (in_slots, pacing_ratio, remembered, small_window),
}
"""Limit → its rules, in order."""
