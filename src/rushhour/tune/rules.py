"""What should be set at an end: functions of an `End`, each for one thing. What is fine is not mentioned.

Each is the remedy of a cause of the table, set before that costs anything: `diagnose` finds a buffer that
limits a path, here one is raised that is smaller than what would mend it. Formulas, thresholds and sources
are those of the causes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes import buffers
from rushhour.causes.thresholds import (
    BACKLOG_S,
    BURSTY_BPS,
    FAST_BPS,
    RECOVERY_S,
    SHARERS,
    VERY_FAST_BPS,
    WINDOWS,
)
from rushhour.diagnosis.rules import device, host, socket
from rushhour.diagnosis.rules.switches import SWITCHES
from rushhour.diagnosis.rules.tcp import recovery_time_s
from rushhour.quantities.short import binary, duration, rate
from rushhour.tc.kinds import DEVICE_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.diagnosis.facts import Number, Sizes, Text
    from rushhour.tune.advice import Advice, End

USUAL_MTU, JUMBO_MTU = 1500, 9000


def receive_buffer(end: End) -> Iterator[Advice]:
    """The receiver's window must hold the path twice."""
    if end.in_bps:
        needed, formula = buffers.receive(end.bdp(end.in_bps), *socket.kernel(end.facts))
        key, least = "receive-buffer-too-small", buffers.LEAST_RECEIVE
        yield from _buffer(
            end, socket.RMEM, end.in_bps, cause=key, needed=needed, least=least, formula=formula
        )


def send_buffer(end: End) -> Iterator[Advice]:
    """The sender must keep what is in flight, and what comes next."""
    if end.out_bps:
        needed, formula = buffers.send(end.bdp(end.out_bps))
        key, least = "send-buffer-too-small", buffers.LEAST_SEND
        yield from _buffer(
            end, socket.WMEM, end.out_bps, cause=key, needed=needed, least=least, formula=formula
        )


def _buffer(
    end: End, name: Sizes, flow_bps: float, *, cause: str, needed: int, least: int, formula: str
) -> Iterator[Advice]:
    """The greatest of three sizes, raised to what the path needs."""
    values = end.facts.sizes(name)
    wanted, capped = _within(end, max(least, buffers.rounded(needed)))
    if values is not None and values[2] < min(needed, wanted):
        held = f"{binary(end.bdp(flow_bps))} ({rate(flow_bps)} for {duration(end.rtt_ns)})"
        yield end.set_sysctl(cause, name, [*values[:2], wanted], f"the path holds {held}; {formula}{capped}")


def _within(end: End, wanted: int) -> tuple[int, str]:
    """A buffer that the memory for TCP allows: no more than a quarter of it for one socket."""
    if end.memory is None or wanted <= end.memory // SHARERS:
        return wanted, ""
    allowed = max(buffers.MIB, int(end.memory // SHARERS) // buffers.MIB * buffers.MIB)
    return allowed, f"; {binary(wanted)} would be needed, a quarter of {binary(end.memory)} is allowed"


def own_buffers(end: End) -> Iterator[Advice]:
    """Programs that set their buffers may ask for a window; the kernel doubles what they ask for."""
    rmem, wmem = end.facts.number("net.core.rmem_max"), end.facts.number("net.core.wmem_max")
    for name, most, flow in (("rmem", rmem, end.in_bps), ("wmem", wmem, end.out_bps)):
        if not flow or most is None:
            continue
        wanted, capped = _within(end, buffers.own(end.bdp(flow)))
        if most < wanted:
            option = "SO_RCVBUF" if name == "rmem" else "SO_SNDBUF"
            reason = f"programs that set {option} are bounded by it, and their buffers do not grow{capped}"
            yield end.set_sysctl(f"{name}-max-small", f"net.core.{name}_max", wanted, reason)


def all_buffers(end: End) -> Iterator[Advice]:
    """From the second number of tcp_mem on the kernel stops buffers from growing."""
    values, total = end.facts.sizes("net.ipv4.tcp_mem"), end.facts.memory.total
    if values is None or not total:
        return
    needed = sum(4 * WINDOWS * end.bdp(flow) for flow in (end.in_bps, end.out_bps) if flow)
    most = end.memory if end.memory is not None else total // 4
    pressure = buffers.pages(min(needed, most))
    if values[1] < pressure:
        wanted = [pressure * 3 // 4, pressure, pressure * 3 // 2]
        held = binary(values[1] * 4096)
        reason = f"two transfers each way need {binary(needed)}; from {held} on all buffers are held back"
        yield end.set_sysctl("tcp-mem-too-small", "net.ipv4.tcp_mem", wanted, reason)


def switches(end: End) -> Iterator[Advice]:
    """What every modern TCP has on."""
    name: Number = "net.ipv4.tcp_moderate_rcvbuf"
    if end.facts.number(name) == 0:
        reason = "the receive buffer does not grow with what the path carries"
        yield end.set_sysctl("receive-autotuning-off", name, 1, reason)
    for switch in SWITCHES:
        if end.facts.number(switch.sysctl) == 0:
            yield end.set_sysctl(switch.key, switch.sysctl, 1)


def mtu_probing(end: End) -> Iterator[Advice]:
    """Where packets larger than the path's may vanish, TCP should search for the size."""
    mtu = end.facts.link.mtu
    if end.facts.number("net.ipv4.tcp_mtu_probing") != 0 or not mtu:
        return
    narrow = end.path_mtu is not None and end.path_mtu < mtu
    if narrow or mtu > USUAL_MTU:
        why = (
            f"the path carries {end.path_mtu} bytes, the device {mtu}"
            if narrow
            else f"the device's MTU is {mtu}"
        )
        reason = f"{why}: where ICMP is filtered, large packets vanish without a word"
        yield end.set_sysctl("mtu-probing-off", "net.ipv4.tcp_mtu_probing", 1, reason)


def congestion_control(end: End) -> Iterator[Advice]:
    """An algorithm that fills a long path again after a loss."""
    name: Text = "net.ipv4.tcp_congestion_control"
    now = end.facts.text(name)
    known = (end.facts.text("net.ipv4.tcp_available_congestion_control") or "").split()
    if end.facts.route.found.congctl is not None:
        return  # the route says which; a default would change nothing
    cure = end.by_chance.cure if end.by_chance is not None else None
    if end.by_chance is not None and cure is not None and cure.socket.get("cc", now) != now:
        yield end.set_sysctl(end.by_chance.key, name, cure.socket["cc"], end.by_chance.says.rstrip("."))
        return
    needs = recovery_time_s(end.out_bps or 0.0, end.rtt_ns)
    if now == "reno" and needs >= RECOVERY_S and "cubic" in known:
        reason = f"after a loss reno needs {needs:.0f} s to fill the path again"
        yield end.set_sysctl("reno-on-a-long-path", name, "cubic", reason)


def pacing(end: End) -> Iterator[Advice]:
    """A queue that paces as TCP asks it to, and keeps flows apart."""
    default = end.facts.text("net.core.default_qdisc")
    reason = "packets leave at TCP's pace instead of in bursts, and flows do not wait for each other"
    kind = _root(end)
    if kind == "pfifo_fast":
        change = {"kind": "qdisc", "dev": end.dev, "words": "fq"}
        yield end.advise("bursts-unpaced", f"qdisc {end.dev}", change, now=kind, wanted="fq", reason=reason)
    if kind in {"mq", "pfifo_fast"} and default == "pfifo_fast":
        reason += "; for devices that come up from now on"
        yield end.set_sysctl("bursts-unpaced", "net.core.default_qdisc", "fq", reason)


def _root(end: End) -> str | None:
    """The kind of the queue at the device's root."""
    own = end.facts.qdisc.get(end.dev)
    found = (one.kind for one in own.qdiscs if one.parent == "root") if own is not None else iter(())
    return next(found, None)


def backlog(end: End) -> Iterator[Advice]:
    """The queues between a card and the stack."""
    mtu = end.facts.link.mtu or USUAL_MTU
    packets = (end.in_bps or 0.0) / 8 / mtu
    most = end.facts.number("net.core.netdev_max_backlog")
    needed = _thousands(packets * BACKLOG_S)
    if most is not None and most < needed:
        waits = duration(BACKLOG_S * 1e9)
        reason = f"{packets:.0f} packets arrive in a second: {needed} wait while a CPU is busy for {waits}"
        yield end.set_sysctl("backlog-overflow", "net.core.netdev_max_backlog", needed, reason)
    budget = end.facts.number("net.core.netdev_budget")
    spent = end.facts.number("net.core.netdev_budget_usecs")
    if budget is not None and spent is not None and end.fastest_bps >= VERY_FAST_BPS:
        wanted = -(-int(packets * spent / 1e6) // 100) * 100
        if budget < wanted:
            reason = f"so that a turn ends by its time ({spent} µs), not by its number of packets"
            yield end.set_sysctl("budget-used-up", "net.core.netdev_budget", wanted, reason)


def _thousands(number: float) -> int:
    return -(-int(number) // 1000) * 1000


def options(end: End) -> Iterator[Advice]:
    """Memory for control messages: sending without copies needs a note for each piece."""
    now = end.facts.number("net.core.optmem_max")
    if now is not None and now < buffers.MIB and end.fastest_bps >= VERY_FAST_BPS:
        reason = "programs that send without copying (MSG_ZEROCOPY) are told of each piece by a message"
        yield end.set_sysctl("control-messages-small", "net.core.optmem_max", buffers.MIB, reason)


def queue_length(end: End) -> Iterator[Advice]:
    """A transmit queue that somebody shortened."""
    length, usual = end.facts.link.txqlen, device.USUAL_QUEUE
    waits = _root(end) in DEVICE_LENGTH
    if length is not None and 0 < length < usual and waits and end.fastest_bps >= BURSTY_BPS:
        reason = "shorter than the kernel's default: bursts of several senders are dropped in the host itself"
        change = {"kind": "txqueuelen", "dev": end.dev, "value": usual}
        setting = f"txqueuelen {end.dev}"
        yield end.advise(
            "transmit-queue-too-short", setting, change, now=str(length), wanted=str(usual), reason=reason
        )


def rings(end: End) -> Iterator[Advice]:
    """The card's rings at the driver's maximum."""
    now_of, rings = {}, end.facts.link.rings
    wanted: dict[str, int] = {}
    for way, held, most in (("rx", rings.rx, rings.rx__max), ("tx", rings.tx, rings.tx__max)):
        if held and most and 0 < held < most:
            now_of[way], wanted[way] = held, most
    if wanted and end.fastest_bps >= FAST_BPS:
        now = " ".join(f"{way} {number}" for way, number in now_of.items())
        words = " ".join(f"{way} {number}" for way, number in wanted.items())
        reason = "a burst that the CPU is late for waits in the card instead of being dropped there"
        change = {"kind": "ring", "dev": end.dev, **wanted}
        yield end.advise(
            "receive-ring-overflow", f"ring {end.dev}", change, now=now, wanted=words, reason=reason
        )


OFFLOADS = {
    "tso": "the card cuts segments",
    "gso": "the stack cuts segments as late as it can",
    "gro": "segments are joined before the stack sees them",
    "sg": "without it there is no segmentation offload",
    "tx": "the card computes checksums",
    "rx": "the card checks checksums",
}


def offloads(end: End) -> Iterator[Advice]:
    """Work that a card or the stack does once for many packets."""
    for name in device.switched_off(end.facts, OFFLOADS):
        change = {"kind": "ethtool-feature", "dev": end.dev, "name": name, "value": True}
        yield end.advise(
            "offloads-off", f"{name} of {end.dev}", change, now="off", wanted="on", reason=OFFLOADS[name]
        )


def governor(end: End) -> Iterator[Advice]:
    """CPUs that are awake when packets come."""
    slow = host.kept_slow(end.facts, host.SLOW | host.WAKING_LATE)
    if slow and end.fastest_bps >= FAST_BPS:
        change = {"kind": "governor", "value": "performance"}
        reason = "a CPU that is half asleep is late for bursts"
        yield end.advise(
            "processor-kept-slow",
            "governor",
            change,
            now=", ".join(slow),
            wanted="performance",
            reason=reason,
        )


def frames(end: End) -> Iterator[Advice]:
    """Larger frames, where the ends share a cable; only people know which devices are on it."""
    mtu, most = end.facts.link.mtu, end.facts.link.max_mtu
    routed = end.facts.route.found.gateway is not None
    small = mtu == USUAL_MTU and most is not None and most >= JUMBO_MTU
    if small and not routed and end.fastest_bps >= FAST_BPS and end.facts.link.kind is None:
        reason = (
            "a sixth of the packets; but every device on the way must carry them, which only you can know"
        )
        words = f"ip link set dev {end.dev} mtu {JUMBO_MTU}"
        yield end.advise("usual-frames", f"mtu {end.dev}", None, now=str(mtu), wanted=words, reason=reason)


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
