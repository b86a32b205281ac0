"""Sizes of packets: what the path takes, how that is learnt, and who changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import SMALL_SEGMENTS, TUNNELS
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules import measured_words as words
from rushhour.diagnosis.rules.common import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts, Number

OPTIONS = 12
"""What timestamps take of a segment (RFC 7323, appendix A)."""


def probing(case: Case) -> Iterator[Finding]:
    """Larger packets vanish, or the path is narrower than the devices, and nothing but ICMP would tell."""
    for direction, from_, facts, _, _ in common.directions(case):
        measured = case.measured.get(direction)
        lost = measured.sizes.vanished if measured is not None else None
        narrow = case.path.mtu or (measured.path_mtu if measured is not None else None)
        mtu = facts.link.mtu
        blocked = lost is not None and mtu is not None and lost <= mtu
        below = narrow is not None and mtu is not None and narrow < mtu
        if facts.number("net.ipv4.tcp_mtu_probing") != 0 or not (blocked or below):
            continue
        hole = (
            f"packets of {lost} bytes vanish without a word"
            if blocked
            else f"the path's MTU is {narrow}, the device's {mtu}"
        )
        yield finding(
            "mtu-probing-off",
            "warning" if blocked else "note",
            sentence("mtu-probing-off", host=common.name(case, from_), proof=hole),
            from_,
            evidence=(
                told(from_, "net.ipv4.tcp_mtu_probing", 0),
                told(from_, "MTU of the device", mtu),
                Proof(direction, "MTU of the path", str(narrow)),
            ),
            gain="connections survive a router that drops in silence",
            fix=(common.sysctl(from_, "net.ipv4.tcp_mtu_probing", 1),),
        )


def discovery(case: Case) -> Iterator[Finding]:
    """Path MTU discovery is off: packets are cut to pieces on the way."""
    for direction, from_, facts, _, _ in common.directions(case):
        name: Number = "net.ipv4.ip_no_pmtu_disc"
        if facts.number(name) not in {1, 2}:
            continue
        measured = case.measured.get(direction)
        narrow, mtu = measured.path_mtu if measured is not None else None, facts.link.mtu
        cut = narrow is not None and mtu is not None and narrow < mtu
        yield finding(
            "path-mtu-discovery-off",
            "warning" if cut else "note",
            sentence("path-mtu-discovery-off", host=common.name(case, from_)),
            from_,
            evidence=(told(from_, name, facts.number(name)),),
            gain="no fragments; a lost fragment costs the whole packet",
            fix=(common.sysctl(from_, name, 0),),
        )


def _sizes(facts: Facts) -> list[int]:
    """Every size of packets that an end knows: of its device, its route, and what it has learnt."""
    known = (facts.link.mtu, facts.route.entry.mtu, facts.route.found.mtu)
    return [size for size in known if size]


def clamped(case: Case) -> Iterator[Finding]:
    """Segments smaller than anything at the ends explains: a router changes the MSS of connections."""
    for direction, from_, facts, _, receiving in common.directions(case):
        measured = case.measured.get(direction)
        single = measured.single if measured is not None else None
        sizes = [size for end in (facts, receiving) for size in _sizes(end)]
        sizes += [single.pmtu] if single is not None and single.pmtu else []
        asked = [end.route.entry.advmss for end in (facts, receiving)]
        if single is None or not single.mss or not sizes or any(asked):
            continue
        fits = min(sizes) - common.HEADERS - OPTIONS
        if single.mss >= fits - TUNNELS:
            continue
        yield finding(
            "segments-clamped",
            "warning" if single.mss < SMALL_SEGMENTS * fits else "note",
            sentence("segments-clamped", way=direction, size=f"{single.mss}", fits=f"{fits}"),
            direction,
            evidence=(
                Proof(direction, "payload of a segment", f"{single.mss} B"),
                Proof(direction, "smallest MTU known", f"{min(sizes)} B"),
            ),
            gain=f"{fits / single.mss:.1f} times fewer packets",
            fix=(
                common.shell(
                    from_,
                    f"tracepath -n {words.address(case, from_)}   # then look for TCPMSS or maxseg rules "
                    "on these routers",
                ),
            ),
        )


RULES = (probing, discovery, clamped)
