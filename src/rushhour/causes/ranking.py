"""Many findings to few: one for each cause, its consequences named as such, what limits most first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.cause import SEVERITIES
from rushhour.causes.finding import Finding, Proof, Remedy
from rushhour.causes.table import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def follows(key: str, cause: str) -> bool:
    """Whether the first of two causes follows from the second."""
    return key in CAUSES[cause].leads_to


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """The gravest first; of equals in the order in which they came."""
    return sorted(findings, key=lambda one: SEVERITIES.index(one.severity))


def _most_telling_first(findings: Iterable[Finding]) -> list[Finding]:
    """What limited longest first, what was measured before what was only read.

    Before all that stands what our own programs held back: it says how far their numbers can be trusted.
    """
    return sorted(findings, key=lambda one: (not CAUSES[one.key].ours, -one.share))


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
    return gravest_first(_most_telling_first(_demoted(finding, merged) for finding in merged))


def _same(one: Finding, other: Finding) -> bool:
    return one.key == other.key and (one.where == other.where or _near(one.where, other.where))


def _near(one: str, other: str) -> bool:
    """Whether one place is an end of the other, a direction."""
    end, way = sorted((one, other), key=len)
    return len(end) == 1 < len(way) and end in (way[0], way[-1])


def _merge(one: Finding, other: Finding) -> Finding:
    """What was measured gives share and gain; what was read gives the exact place and the command."""
    measured, read = sorted((one, other), key=lambda found: found.limited is None)
    exact = read if len(read.where) == 1 else measured
    gain, fix = measured.gain or read.gain, read.fix or measured.fix
    return replace(
        measured,
        severity=min(one.severity, other.severity, key=SEVERITIES.index),
        where=exact.where,
        layer=exact.layer,
        evidence=tuple(dict.fromkeys((*measured.evidence, *read.evidence))),
        remedy=Remedy(commands=fix, gain=gain) if fix or gain is not None else None,
        source="; ".join(dict.fromkeys(source for source in (read.source, measured.source) if source)),
    )


def _demoted(finding: Finding, every: Sequence[Finding]) -> Finding:
    for cause in every:
        touching = cause.where == finding.where or _near(cause.where, finding.where) or _alike(cause, finding)
        if cause.severity != "note" and follows(finding.key, cause.key) and touching:
            because = Proof(cause.where, "follows from", cause.key)
            return replace(finding, severity="note", evidence=(because, *finding.evidence))
    return finding


def _alike(one: Finding, other: Finding) -> bool:
    """Two ends are on one path; what is lost one way is not answered the other way."""
    return len(one.where) == 1 == len(other.where) or one.key in {"unreachable", "outages"}
