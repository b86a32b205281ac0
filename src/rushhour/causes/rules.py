"""The rules that hold for every TCP flow, of a record or between two hosts.

They tell what its ends hold back, and where its losses come from.
A rule takes the evidence and the share of the time in which its limit held; it is listed under that limit.
Of the rules of one limit the first that knows the flow speaks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import (
    DELAY_BASED,
    OPTION_SACK,
    OPTION_WSCALE,
    Cure,
    Evidence,
    Named,
    Setting,
    Shown,
)
from rushhour.causes.table import CAUSES
from rushhour.causes.thresholds import (
    BBR_LOSS,
    BELOW_POLICER,
    DAMAGED,
    LEAST_EXTENT,
    LEAST_RMEM,
    LEAST_WMEM,
    MARGIN,
    STANDING_S,
    STANDING_TRIPS,
    UNSCALED,
)
from rushhour.quantities.short import percent, rate, rounded_up, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Rule = Callable[[Evidence, float], Named | None]


def said(key: str, where: str, cure: Cure | None = None, **words: str) -> Named:
    """What is said of a cause: its sentence of the table, with these words."""
    return Named(key, where, sentence(key, **words), cure)


def sentence(key: str, **words: str) -> str:
    """A cause's sentence, with these words."""
    return CAUSES[key].says.format(**words)


def held(share: float) -> str:
    """For how much of the time a limit held."""
    return f"for {percent(share)} of the time"


def stands(wait_s: float, idle_s: float) -> bool:
    """Whether a queue stands (bufferbloat): its median wait, beside the idle round trip."""
    return wait_s >= max(STANDING_S, STANDING_TRIPS * idle_s)


def window_scaling(e: Evidence, _: float) -> Named | None:
    """The receiver's window cannot pass 65535 bytes, because scaling was not agreed on."""
    agreed = e.options is None or e.options & OPTION_WSCALE
    if agreed or (e.window or 0) > UNSCALED or (e.bdp or 0) < UNSCALED:
        return None
    proof = f", and the path holds {size(e.bdp or 0)}"
    return _switched_off(e, "window-scaling-off", "window scaling", "net.ipv4.tcp_window_scaling", proof)


def _switched_off(e: Evidence, key: str, what: str, name: str, proof: str) -> Named:
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
    """The receive buffer makes a window below what the path holds."""
    window, path, key = e.window or e.inflight, e.bdp or 0.0, "receive-buffer-too-small"
    if not window:
        return None
    # Which part of a receive buffer becomes window differs by kernel and by packet; it is taken as seen.
    needed = MARGIN * path * (e.rcvbuf or 2 * window) / window
    if e.rcvbuf and needed <= e.rcvbuf:  # the round trip is longer than that of the path
        says = f"The receiver's window of {size(window)} was full {held(share)}; the path holds {size(path)}."
        return Named(key, e.receiver, says)
    full = f"{held(share)} its window of {size(window)} was full, and the path holds {size(path)}"
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
    if "sndbuf" in e.asked:
        cure = _larger_option(e, "sndbuf", e.sender, needed)
    else:
        most = max(rounded_up(needed), int(LEAST_WMEM))
        raised = Setting(e.sender, "net.ipv4.tcp_wmem", triple(e, e.sender, "net.ipv4.tcp_wmem", most))
        cure = Cure(f"Raise the greatest send buffer on {host} to {size(most)}.", (raised,))
    full = f"{held(share)} it was full with {size(e.inflight)} in flight, and the path holds {size(path)}"
    return said("send-buffer-too-small", e.sender, cure, host=host, proof=full)


def slow_reader(e: Evidence, share: float) -> Named:
    """The receiving application is slower than the network."""
    cure = Cure("Make the receiving application read faster.")
    return said("slow-reader", e.receiver, cure, program=e.program(e.receiver), held=held(share))


def slow_writer(e: Evidence, share: float) -> Named:
    """The sending application gives too little."""
    cure = Cure("Make the sending application write faster.")
    return said("slow-writer", e.sender, cure, program=e.program(e.sender), held=held(share))


def pacing(e: Evidence, share: float) -> Named:
    """The socket's own pacing rate."""
    most = e.asked.get("pacing_bps")
    cure = Cure("Raise SO_MAX_PACING_RATE, or leave it out.")
    at = f" at {rate(most)}" if most else ""
    return said("pacing", e.sender, cure, host=e.called(e.sender), at=at, held=held(share))


def marked(e: Evidence, share: float) -> Named:
    """Marks keep the window low."""
    counted = f": {e.marked} segments were marked" if e.marked else ""
    return said("marked", e.sender, held=held(share), counted=counted)


def small_window(e: Evidence, share: float) -> Named:
    """The algorithm itself stays small: it follows delay, or paces."""
    cure, why = None, ""
    if e.cc in DELAY_BASED:
        why = ": it takes the path's delay for congestion"
        cure = Cure(
            f"Compare with another algorithm (cubic): {e.cc} takes the path's delay for congestion.",
            socket={"cc": "cubic"},
        )
    return said("small-window", e.sender, cure, cc=e.cc, host=e.called(e.sender), held=held(share), why=why)


def corruption(e: Evidence, _: float) -> Named | None:
    """Packets arrive damaged, and are dropped by their checksum."""
    if e.damaged <= max(2, DAMAGED * e.retransmits):
        return None
    cure = Cure("Repair the link: what damages packets is a cable, a card or a device on the way.")
    came = f"{e.damaged} packets came with a wrong checksum"
    says = sentence("corruption", host=e.called(e.receiver), proof=came)
    return Named("corruption", e.receiver, says, cure, came)


def reordering(e: Evidence, share: float) -> Named | None:
    """Packets are overtaken, and TCP takes them for lost."""
    advice = "Keep a flow's packets on one path (balance per flow, not per packet)."
    return _origin(e, "reordering", share, lambda shown: Cure(advice, _patience(e, shown.extent)))


def _patience(e: Evidence, extent: int | None) -> tuple[Setting, ...]:
    """How many places a packet may be late before TCP takes it for lost."""
    if extent is None:
        return ()
    places, most = max(extent + 1, int(LEAST_EXTENT)), e.setting(e.sender, "net.ipv4.tcp_max_reordering")
    wanted = (Setting(e.sender, "net.ipv4.tcp_reordering", str(places)),)
    if not isinstance(most, int) or most >= places:
        return wanted
    return (Setting(e.sender, "net.ipv4.tcp_max_reordering", str(2 * places)), *wanted)


def outages(e: Evidence, share: float) -> Named | None:
    """The way is dead for a while, and comes back."""
    return _origin(
        e, "outages", share, lambda _: Cure("Find the link that flaps, or the route that changes.")
    )


def policer(e: Evidence, share: float) -> Named | None:
    """Packets above a rate are dropped, not queued (Flach et al., SIGCOMM 2016)."""
    return _origin(e, "policer", share, _below_the_policer)


def _below_the_policer(shown: Shown) -> Cure:
    # The bucket is one for all: who is paced beside others that are not has their drops.
    wanted = int(max(0.0, BELOW_POLICER * shown.rate_bps - shown.taken_bps) / shown.flows)
    each = f" each of the {shown.flows} flows" if shown.flows > 1 else ""
    if not wanted:
        return Cure(f"Send{each} below the policed rate, paced or shaped.")
    shaped = f"tbf rate {rounded_up(wanted / 1000)}kbit burst 16kb latency 50ms"
    advice = f"Send{each} below the policed rate, paced or shaped to {rate(wanted)}."
    return Cure(advice, socket={"pacing": f"{wanted}bit"}, queue=shaped)


def no_sack(e: Evidence, share: float) -> Named | None:
    """Without selective acknowledgements of several losses in a window one is repaired a round trip."""
    if e.options is None or e.options & OPTION_SACK or not e.retransmits or e.shown("sack-off") is None:
        return None
    proof = f"; {e.retransmits} segments were sent again, and {held(share)} the window was small"
    name = "net.ipv4.tcp_sack"
    one = _switched_off(e, "sack-off", "selective acknowledgements", name, proof)
    return replace(one, law="one a round trip without SACK")


def random_loss(e: Evidence, share: float) -> Named | None:
    """Losses on the way, not in a queue: the algorithm takes them for congestion."""
    return _origin(e, "random-loss", share, lambda shown: _repaired(e, shown.lost))


def _answers(e: Evidence) -> str:
    """What the sender's algorithm does with a loss of a single packet."""
    if e.cc.startswith("bbr"):
        return "has to send them again, although it takes no single one for congestion"
    return "takes each for congestion"


def _repaired(e: Evidence, lost: float) -> Cure:
    known = e.setting(e.sender, "net.ipv4.tcp_available_congestion_control")
    if e.cc.startswith("bbr") or lost > BBR_LOSS:
        return Cure("Repair the link: no algorithm likes this loss.")
    if known is not None and "bbr" not in str(known).split():
        return Cure("Repair the link.")
    host = e.called(e.sender)
    advice = f"Repair the link; or send with an algorithm that does not answer single losses (bbr on {host})."
    return Cure(advice, socket={"cc": "bbr"})


def impatient_queue(e: Evidence, share: float) -> Named | None:
    """CoDel takes a queue for a standing one that a sender has not even heard of."""
    return _origin(e, "impatient-queue", share)


def shallow_queue(e: Evidence, share: float) -> Named | None:
    """The queue at the bottleneck is so short that it runs empty after each reduction."""
    return _origin(e, "shallow-queue", share, lambda _: longer_queue(e))


def longer_queue(e: Evidence) -> Cure:
    """A queue of one BDP, or a sender that needs none."""
    host, wanted = e.called(e.sender), size(rounded_up(e.bdp or 0))
    return Cure(f"Give that queue {wanted}, one BDP; or send with pacing (bbr, or fq on {host}).", queue="fq")


def any_loss(e: Evidence, share: float) -> Named | None:
    """Losses, of which no more is known."""
    return _origin(e, "losses", share)


def _origin(e: Evidence, key: str, share: float, cure: Callable[[Shown], Cure] | None = None) -> Named | None:
    """An origin of losses, where something shows it."""
    shown = e.shown(key)
    if shown is None:
        return None
    says = sentence(key, **{"held": held(share), "answers": _answers(e), **shown.words})
    return Named(key, e.sender, says, None if cure is None else cure(shown), shown.law)


RULES: Mapping[str, tuple[Rule, ...]] = {
    "receiver": (window_scaling, receive_buffer),
    "reader": (slow_reader,),
    "sndbuf": (send_buffer,),
    "application": (slow_writer,),
    "pacing": (pacing,),
    "window": (small_window,),
    "marks": (marked,),
    # Damaged packets count as missing, late ones as lost: what is certain comes first.
    "losses": (
        corruption,
        reordering,
        outages,
        policer,
        no_sack,
        random_loss,
        impatient_queue,
        shallow_queue,
        any_loss,
    ),
}
"""Limit → its rules, in order."""


def named(e: Evidence, limit: str, share: float) -> Named | None:
    """What the first rule of a limit says that knows the flow."""
    return next((one for rule in RULES.get(limit, ()) if (one := rule(e, share)) is not None), None)
