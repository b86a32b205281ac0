"""What should be set at an end: functions of an `End`, each for one thing. What is fine is not mentioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.thresholds import FAST_BPS
from rushhour.quantities.short import binary, duration, rate
from rushhour.tune import buffers
from rushhour.tune.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.tune.advice import End

_IP = "Documentation/networking/ip-sysctl.rst"
_NET = "Documentation/admin-guide/sysctl/net.rst"
_OFFLOADS = "Documentation/networking/segmentation-offloads.rst"

VERY_FAST_BPS = 10e9
USUAL_MTU, JUMBO_MTU = 1500, 9000
LOSSY, FAR_NS = 1e-3, 10e6
BACKLOG_S = 0.01
"""A CPU's backlog holds what arrives while it is busy otherwise: 10 ms, some slices of the scheduler."""


def receive_buffer(end: End) -> Iterator[Advice]:
    """The receiver's window must hold the path twice."""
    if not end.in_bps or not isinstance(values := end.sysctl("net.ipv4.tcp_rmem"), list):
        return
    held = end.bdp(end.in_bps)
    release = str(end.facts.get("host", "kernel") or "")
    scale = end.sysctl("net.ipv4.tcp_adv_win_scale")
    needed, formula = buffers.receive_space(
        buffers.WINDOWS * held, release, scale if isinstance(scale, int) else 1
    )
    wanted, capped = _within(end, buffers.rounded(needed))
    if values[2] < needed and values[2] < wanted:
        reason = (
            f"the path holds {binary(held)} ({rate(end.in_bps)} for {duration(end.rtt_ns)}); "
            f"{formula}{capped}"
        )
        yield end.set_sysctl(
            "net.ipv4.tcp_rmem", [*values[:2], wanted], reason, f"{_IP}, tcp_rmem; RFC 7323, 2"
        )


def send_buffer(end: End) -> Iterator[Advice]:
    """The sender must keep what is in flight, and what comes next."""
    if not end.out_bps or not isinstance(values := end.sysctl("net.ipv4.tcp_wmem"), list):
        return
    held = end.bdp(end.out_bps)
    needed, formula = buffers.send_space(buffers.WINDOWS * held)
    wanted, capped = _within(end, buffers.rounded(needed))
    if values[2] < needed and values[2] < wanted:
        reason = (
            f"the path holds {binary(held)} ({rate(end.out_bps)} for {duration(end.rtt_ns)}); "
            f"{formula}{capped}"
        )
        yield end.set_sysctl("net.ipv4.tcp_wmem", [*values[:2], wanted], reason, f"{_IP}, tcp_wmem")


def _within(end: End, wanted: int) -> tuple[int, str]:
    """A buffer that the memory for TCP allows: no more than a quarter of it for one socket."""
    if end.memory is None or wanted <= end.memory // 4:
        return wanted, ""
    allowed = max(buffers.MIB, end.memory // 4 // buffers.MIB * buffers.MIB)
    return allowed, f"; {binary(wanted)} would be needed, a quarter of {binary(end.memory)} is allowed"


def own_buffers(end: End) -> Iterator[Advice]:
    """Programs that set their buffers may ask for a window; the kernel doubles what they ask for."""
    for name, flow in (("rmem", end.in_bps), ("wmem", end.out_bps)):
        most = end.sysctl(f"net.core.{name}_max")
        if not flow or not isinstance(most, int):
            continue
        wanted, capped = _within(end, buffers.rounded(buffers.WINDOWS * end.bdp(flow)))
        if most < wanted:
            option = "SO_RCVBUF" if name == "rmem" else "SO_SNDBUF"
            reason = f"programs that set {option} are bounded by it, and their buffers do not grow{capped}"
            yield end.set_sysctl(f"net.core.{name}_max", wanted, reason, f"{_NET}, {name}_max; socket(7)")


def all_buffers(end: End) -> Iterator[Advice]:
    """From the second number of tcp_mem on the kernel stops buffers from growing."""
    values, total = end.sysctl("net.ipv4.tcp_mem"), end.facts.get("memory", "total")
    if not isinstance(values, list) or not total:
        return
    needed = sum(4 * buffers.WINDOWS * end.bdp(flow) for flow in (end.in_bps, end.out_bps) if flow)
    most = end.memory if end.memory is not None else total // 4
    pressure = buffers.pages(min(needed, most))
    if values[1] < pressure:
        wanted = [pressure * 3 // 4, pressure, pressure * 3 // 2]
        held = binary(values[1] * 4096)
        reason = f"two transfers each way need {binary(needed)}; from {held} on all buffers are held back"
        yield end.set_sysctl("net.ipv4.tcp_mem", wanted, reason, f"{_IP}, tcp_mem")


def switches(end: End) -> Iterator[Advice]:
    """What every modern TCP has on."""
    told = {
        "tcp_moderate_rcvbuf": (
            "the receive buffer grows with what the path carries",
            f"{_IP}, tcp_moderate_rcvbuf",
        ),
        "tcp_window_scaling": ("without it no window is larger than 64 kB", "RFC 7323, 2"),
        "tcp_sack": ("without it one round trip repairs one loss", "RFC 2018"),
        "tcp_dsack": ("without it a sender does not learn that it sent in vain", "RFC 2883"),
    }
    for name, (reason, source) in told.items():
        if end.sysctl(f"net.ipv4.{name}") == 0:
            yield end.set_sysctl(f"net.ipv4.{name}", 1, reason, source)
    if end.sysctl("net.ipv4.tcp_timestamps") == 0:
        reason = "round trips are measured once a window, and numbers that wrap around are not recognised"
        yield end.set_sysctl("net.ipv4.tcp_timestamps", 1, reason, "RFC 7323, 3 and 5")


def mtu_probing(end: End) -> Iterator[Advice]:
    """Where packets larger than the path's may vanish, TCP should search for the size."""
    mtu = end.facts.get("link", "mtu")
    if end.sysctl("net.ipv4.tcp_mtu_probing") != 0 or not mtu:
        return
    narrow = end.path_mtu is not None and end.path_mtu < mtu
    if narrow or mtu > USUAL_MTU:
        why = (
            f"the path carries {end.path_mtu} bytes, the device {mtu}"
            if narrow
            else f"the device's MTU is {mtu}"
        )
        reason = f"{why}: where ICMP is filtered, large packets vanish without a word"
        yield end.set_sysctl("net.ipv4.tcp_mtu_probing", 1, reason, f"{_IP}, tcp_mtu_probing; RFC 4821")


def congestion_control(end: End) -> Iterator[Advice]:
    """An algorithm that fills a long path again after a loss."""
    name = "net.ipv4.tcp_congestion_control"
    now, known = end.sysctl(name), str(end.sysctl("net.ipv4.tcp_available_congestion_control") or "").split()
    if end.facts.get("route", "found", "congctl") is not None:
        return  # the route says which; a default would change nothing
    held = end.bdp(end.out_bps or 0.0) / USUAL_MTU
    if end.loss is not None and end.loss > LOSSY and end.rtt_ns > FAR_NS and now != "bbr" and "bbr" in known:
        seen = f"{end.loss:.2%} were sent again over {duration(end.rtt_ns)}"
        reason = f"{seen}: {now} takes every loss for a full queue"
        yield end.set_sysctl(name, "bbr", reason, "draft-ietf-ccwg-bbr, 1; Mathis et al. 1997")
    elif now == "reno" and held > 100 and "cubic" in known:
        reason = f"{held:.0f} packets are in flight: after a loss reno takes {held / 2:.0f} round trips back"
        yield end.set_sysctl(name, "cubic", reason, "RFC 9438, 1")


def pacing(end: End) -> Iterator[Advice]:
    """A queue that paces as TCP asks it to, and keeps flows apart."""
    dev = end.dev
    root = [one for one in end.facts.get("qdisc", dev, "qdiscs") or [] if one.get("parent") == "root"]
    default = end.sysctl("net.core.default_qdisc")
    source = "tc-fq(8); net/sched/sch_fq.c"
    reason = "packets leave at TCP's pace instead of in bursts, and flows do not wait for each other"
    kind = root[0].get("kind") if root else None
    if kind == "pfifo_fast":
        yield Advice(
            end.name, {"kind": "qdisc", "dev": dev, "words": "fq"}, f"qdisc {dev}", kind, "fq", reason, source
        )
    if kind in {"mq", "pfifo_fast"} and default == "pfifo_fast":
        reason += "; for devices that come up from now on"
        yield end.set_sysctl("net.core.default_qdisc", "fq", reason, f"{_NET}, default_qdisc")


def backlog(end: End) -> Iterator[Advice]:
    """The queues between a card and the stack."""
    mtu = end.facts.get("link", "mtu") or USUAL_MTU
    packets = (end.in_bps or 0.0) / 8 / mtu
    most = end.sysctl("net.core.netdev_max_backlog")
    needed = _thousands(packets * BACKLOG_S)
    if isinstance(most, int) and most < needed:
        reason = f"{packets:.0f} packets arrive in a second: {needed} wait while a CPU is busy for 10 ms"
        yield end.set_sysctl("net.core.netdev_max_backlog", needed, reason, f"{_NET}, netdev_max_backlog")
    budget, spent = end.sysctl("net.core.netdev_budget"), end.sysctl("net.core.netdev_budget_usecs")
    if isinstance(budget, int) and isinstance(spent, int) and end.fastest_bps >= VERY_FAST_BPS:
        wanted = -(-int(packets * spent / 1e6) // 100) * 100
        if budget < wanted:
            reason = f"so that a turn ends by its time ({spent} µs), not by its number of packets"
            yield end.set_sysctl("net.core.netdev_budget", wanted, reason, f"{_NET}, netdev_budget")


def _thousands(number: float) -> int:
    return -(-int(number) // 1000) * 1000


def options(end: End) -> Iterator[Advice]:
    """Memory for control messages: sending without copies needs a note for each piece."""
    now = end.sysctl("net.core.optmem_max")
    if isinstance(now, int) and now < buffers.MIB and end.fastest_bps >= VERY_FAST_BPS:
        reason = "programs that send without copying (MSG_ZEROCOPY) are told of each piece by a message"
        source = f"Documentation/networking/msg_zerocopy.rst; {_NET}, optmem_max"
        yield end.set_sysctl("net.core.optmem_max", buffers.MIB, reason, source)


def queue_length(end: End) -> Iterator[Advice]:
    """A transmit queue that somebody shortened."""
    length = end.facts.get("link", "txqlen")
    root = [one for one in end.facts.get("qdisc", end.dev, "qdiscs") or [] if one.get("parent") == "root"]
    waits = bool(root) and str(root[0].get("kind")).startswith(("pfifo", "mq"))
    if isinstance(length, int) and 0 < length < 1000 and waits and end.fastest_bps >= FAST_BPS / 10:
        reason = "shorter than the kernel's default: bursts of several senders are dropped in the host itself"
        change = {"kind": "txqueuelen", "dev": end.dev, "value": 1000}
        source = "DEFAULT_TX_QUEUE_LEN, include/linux/netdevice.h"
        yield Advice(end.name, change, f"txqueuelen {end.dev}", str(length), "1000", reason, source)


def rings(end: End) -> Iterator[Advice]:
    """The card's rings at the driver's maximum."""
    known = end.facts.get("link", "rings") or {}
    wanted = {
        way: known[f"{way}-max"] for way in ("rx", "tx") if 0 < known.get(way, 0) < known.get(f"{way}-max", 0)
    }
    if wanted and end.fastest_bps >= FAST_BPS:
        now = " ".join(f"{way} {known[way]}" for way in wanted)
        words = " ".join(f"{way} {number}" for way, number in wanted.items())
        reason = "a burst that the CPU is late for waits in the card instead of being dropped there"
        change = {"kind": "ring", "dev": end.dev, **wanted}
        yield Advice(end.name, change, f"ring {end.dev}", now, words, reason, "ethtool(8), --set-ring")


def offloads(end: End) -> Iterator[Advice]:
    """Work that a card or the stack does once for many packets."""
    told = {
        "tso": "the card cuts segments",
        "gso": "the stack cuts segments as late as it can",
        "gro": "segments are joined before the stack sees them",
        "sg": "without it there is no segmentation offload",
        "tx": "the card computes checksums",
        "rx": "the card checks checksums",
    }
    virtual = end.facts.get("link", "kind") == "veth"
    for name, reason in told.items():
        state = end.facts.get("link", "offloads", name) or {}
        # A veth joins nothing by itself unless it is asked to (NAPI).
        if state.get("on") is False and state.get("fixed") is False and not (virtual and name == "gro"):
            change = {"kind": "ethtool-feature", "dev": end.dev, "name": name, "value": True}
            yield Advice(end.name, change, f"{name} of {end.dev}", "off", "on", reason, _OFFLOADS)


def governor(end: End) -> Iterator[Advice]:
    """CPUs that are awake when packets come."""
    governors: dict[str, object] = end.facts.get("cpu", "governor") or {}
    slow = [name for name in governors if name in {"powersave", "ondemand", "conservative"}]
    if slow and end.fastest_bps >= FAST_BPS:
        reason = "a CPU that is half asleep is late for bursts"
        source = "Documentation/admin-guide/pm/cpufreq.rst"
        change = {"kind": "governor", "value": "performance"}
        yield Advice(end.name, change, "governor", ", ".join(slow), "performance", reason, source)


def frames(end: End) -> Iterator[Advice]:
    """Larger frames, where the ends share a cable; only people know which devices are on it."""
    mtu, most = end.facts.get("link", "mtu"), end.facts.get("link", "max_mtu")
    routed = end.facts.get("route", "found", "gateway") is not None
    if (
        mtu != USUAL_MTU
        or not isinstance(most, int)
        or most < JUMBO_MTU
        or routed
        or end.fastest_bps < FAST_BPS
    ):
        return
    if end.facts.get("link", "kind") is None:
        reason = (
            "a sixth of the packets; but every device on the way must carry them, which only you can know"
        )
        words = f"ip link set dev {end.dev} mtu {JUMBO_MTU}"
        yield Advice(end.name, None, f"mtu {end.dev}", str(mtu), words, reason, "ip-link(8); RFC 4821, 1")


RULES: tuple[Callable[[End], Iterator[Advice]], ...] = (
    receive_buffer,
    send_buffer,
    own_buffers,
    all_buffers,
    switches,
    congestion_control,
    mtu_probing,
    pacing,
    backlog,
    options,
    queue_length,
    rings,
    offloads,
    governor,
    frames,
)
