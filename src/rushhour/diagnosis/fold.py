"""Many findings to few: one for each cause, its consequences named as such, what limits most first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.diagnosis import case
from rushhour.diagnosis.finding import SEVERITIES, Evidence, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

EXPLAINS: Mapping[str, tuple[str, ...]] = {
    "receive-buffer-too-small": ("small-window",),
    "route-window": ("receive-buffer-too-small", "small-window"),
    "tcp-notsent-lowat-small": ("small-window", "slow-writer"),
    "tcp-limit-output-bytes-small": ("small-window", "pacing"),
    "tcp-pacing-ca-ratio-small": ("small-window", "pacing"),
    "window-scaling-off": ("receive-buffer-too-small",),
    "receive-autotuning-off": ("receive-buffer-too-small",),
    "shaper-on-the-sender": ("path-rate", "asymmetric-path", "bufferbloat", "shallow-queue", "losses"),
    "packet-filter-drops": (
        "policer",
        "random-loss",
        "losses",
        "datagram-loss",
        "shallow-queue",
        "large-packets-lost",
    ),
    "packets-live-too-short": ("unreachable", "no-answers", "port-blocked"),
    "next-hop-silent": ("unreachable", "no-answers"),
    "next-hop-set-by-hand": ("unreachable", "no-answers"),
    "offloads-off": ("cpu-busy", "cpu-limited"),
    "few-segments-at-once": ("cpu-busy", "cpu-limited"),
    "packet-filter-closed": ("port-blocked", "unreachable"),
    "policer-on-the-device": ("policer", "losses", "asymmetric-path", "datagram-loss"),
    "netem-on-the-device": (
        "random-loss",
        "reordering",
        "duplicates",
        "corruption",
        "datagram-loss",
        "losses",
    ),
    "queue-too-long": ("bufferbloat",),
    "drops-in-the-own-queue": ("shallow-queue", "losses", "random-loss", "datagram-loss", "policer"),
    "transmit-queue-too-short": ("shallow-queue", "losses", "drops-in-the-own-queue"),
    "mtu-mismatch": ("large-packets-lost", "mtu-probing-off"),
    "large-packets-lost": ("mtu-probing-off", "losses", "random-loss", "segments-clamped"),
    "mtu-black-hole": ("large-packets-lost", "mtu-probing-off", "datagram-loss"),
    "damaged-frames": ("corruption", "random-loss", "datagram-loss"),
    "corruption": ("random-loss", "datagram-loss", "losses"),
    "random-loss": ("datagram-loss", "losses", "echo-loss"),
    "outages": ("random-loss", "losses", "policer", "datagram-loss", "echo-loss", "shallow-queue"),
    "jitter": ("small-window", "losses"),
    "policer": ("asymmetric-path", "datagram-loss"),
    "half-duplex": ("collisions", "random-loss"),
    "receive-ring-overflow": ("random-loss", "losses", "datagram-loss"),
    "link-below-its-speed": ("speeds-differ", "asymmetric-path"),
    "speeds-differ": ("asymmetric-path",),
    "segments-clamped": ("losses", "cpu-busy", "cpu-limited"),
    "route-mtu": ("losses", "segments-clamped", "cpu-busy", "cpu-limited"),
    "cpu-quota": ("cpu-busy", "slow-reader", "slow-writer"),
    "odd-congestion-control": ("small-window",),
    "reno-on-a-long-path": ("losses", "small-window"),
    "tcp-memory-pressure": ("receive-buffer-too-small", "slow-reader"),
    "unreachable": ("port-blocked", "no-answers"),
}
"""A cause → what follows from it, at the same end or on the way from or to it."""


MEASURING = frozenset(("slow-reader", "slow-writer", "cpu-busy", "cpu-limited"))
"""What held our own sender or reader back: it says how far to trust a number, not what is broken."""


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each cause and place, the gravest and longest first; consequences become notes."""
    merged: list[Finding] = []
    # Ends first: what was measured both ways may be the fault of one of them.
    for finding in sorted(findings, key=lambda one: len(one.where)):
        place = next((n for n, one in enumerate(merged) if _same(one, finding)), None)
        if place is None:
            merged.append(finding)
        else:
            merged[place] = _merge(merged[place], finding)
    return in_order([_demoted(finding, merged) for finding in merged])


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first; of equals what limited longest, what was measured before what was only read.

    What our own programs held back comes before its equals: it says how far their numbers can be trusted.
    """
    return sorted(findings, key=_rank)


def _rank(one: Finding) -> tuple[int, bool, float]:
    return SEVERITIES.index(one.severity), one.key not in MEASURING, -(one.limited or 0.0)


def _same(one: Finding, other: Finding) -> bool:
    return one.key == other.key and (one.where == other.where or _near(one.where, other.where))


def _near(one: str, other: str) -> bool:
    """Whether one place is an end of the other, a direction."""
    ends, way = sorted((one, other), key=len)
    return len(ends) == 1 < len(way) and ends in (case.sender(way), case.receiver(way))


def _merge(one: Finding, other: Finding) -> Finding:
    """What was measured gives share and gain; what was read gives the exact place and the command."""
    measured, read = sorted((one, other), key=lambda found: found.limited is None)
    exact = read if len(read.where) == 1 else measured
    graver = min(one.severity, other.severity, key=SEVERITIES.index)
    evidence = dict.fromkeys((*measured.evidence, *read.evidence))
    return replace(
        measured,
        severity=graver,
        where=exact.where,
        layer=exact.layer,
        evidence=tuple(evidence),
        gain=measured.gain or read.gain,
        fix=read.fix or measured.fix,
        source="; ".join(dict.fromkeys(source for source in (read.source, measured.source) if source)),
    )


def _demoted(finding: Finding, every: Sequence[Finding]) -> Finding:
    for cause in every:
        touching = cause.where == finding.where or _near(cause.where, finding.where) or _alike(cause, finding)
        told = SEVERITIES.index(cause.severity) < SEVERITIES.index("note")
        if finding.key in EXPLAINS.get(cause.key, ()) and touching and told:
            because = Evidence(cause.where, "follows from", cause.key)
            return replace(finding, severity="note", evidence=(because, *finding.evidence))
    return finding


def _alike(one: Finding, other: Finding) -> bool:
    """Two ends are on one path; what is lost one way is not answered the other way."""
    return len(one.where) == 1 == len(other.where) or one.key in {"unreachable", "outages"}
