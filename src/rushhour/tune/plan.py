"""The plan: everything advised for both ends of a path, as one document (`rushhour-tune/1`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.case import ENDS, outgoing
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.measured_losses import chance
from rushhour.diagnosis.shown import plain
from rushhour.lab.host import settings
from rushhour.tune.advice import Advice, End
from rushhour.tune.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.diagnosis.case import Case
    from rushhour.lab.host.settings import Row
    from rushhour.lab.profile import Found

FORMAT = "rushhour-tune/1"
_OF_A_HOST = frozenset({"sysctl"})


@dataclass(frozen=True)
class Plan:
    """What is advised, for which path; `applied` and `verified` are what became of it."""

    made: str
    places: Mapping[str, str]
    rtt_ns: float | None
    rate_bps: Mapping[str, float | None]
    advice: tuple[Advice, ...]
    given: tuple[str, ...] = ()
    """What of the path was told instead of measured."""
    profile: str | None = None
    applied: Mapping[str, Any] | None = None
    verified: Mapping[str, object] | None = None
    notes: tuple[str, ...] = field(default=())

    def changes(self, end: str) -> list[dict[str, Any]]:
        """What the agent is to do at an end."""
        return [dict(one.change) for one in self.advice
                if one.end == end and one.change is not None and one.cannot is None]  # fmt: skip

    def document(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "format": FORMAT,
            "made": self.made,
            **{end: {"place": self.places[end]} for end in ENDS},
            "path": {"rtt_ns": self.rtt_ns, "rate_bps": dict(self.rate_bps), "given": list(self.given)},
            "profile": self.profile,
            "advice": [one.document() for one in self.advice],
            "applied": self.applied,
            "verified": self.verified,
            "notes": list(self.notes),
        }


def ends(case: Case, *, memory: int | None) -> Iterator[End]:
    """The two ends of a case as the rules want them; none where the round trip is not known."""
    rtt = common.rtt_ns(case)
    for name, facts in common.ends(case):
        if rtt is None:
            return
        out, back = outgoing(name), outgoing("b" if name == "a" else "a")
        measured = case.measured.get(out)
        yield End(
            name,
            facts,
            common.rate_bps(case, out),
            common.rate_bps(case, back),
            rtt,
            path_mtu=case.path.mtu,
            by_chance=None if measured is None else chance(case, measured),
            memory=memory,
        )


def advise(case: Case, *, memory: int | None = None) -> list[Advice]:
    """Everything that should be set at both ends; `memory` bounds what buffers may take at each, in bytes."""
    return [advice for end in ends(case, memory=memory) for rule in RULES for advice in rule(end)]


def of_profile(found: Found, end: str, device: str, *, optional: bool) -> list[Advice]:
    """A profile's changes at an end as advice; `now` is told by `judged`."""
    wanted = [change for change in found.profile.change if optional or not change.optional]
    told = [(change, change.words_for_agent(device)) for change in wanted]
    return [
        Advice(end, words, settings.about(words), "", settings.wanted(words), change.reason, change.source)
        for change, words in told
    ]


def judged(advice: Sequence[Advice], rows: Sequence[Row]) -> list[Advice]:
    """Advice for an end beside what its agent says of the changes: what is so already is left out."""
    by_key = {settings.about(row.change): row for row in rows}
    kept = []
    for one in advice:
        row = by_key.get(settings.about(one.change)) if one.change is not None else None
        if row is None:
            kept.append(one)
        elif not row.same:
            kept.append(replace(one, now=one.now or row.before, cannot=row.error))
    return kept


def persistent(plan: Plan, end: str) -> str:
    """What keeps the settings of an end over a restart, as text for a person."""
    mine = [one for one in plan.advice if one.end == end and one.change is not None and one.cannot is None]
    sysctls = [f"{one.change['name']} = {plain(one.change['value'])}" for one in mine
               if one.change is not None and one.change["kind"] in _OF_A_HOST]  # fmt: skip
    others = [f"# {one.setting}: {one.wanted}" for one in mine
              if one.change is not None and one.change["kind"] not in _OF_A_HOST]  # fmt: skip
    place = plan.places[end]
    if not mine:
        return f"# {place}: nothing to change\n# What --apply keeps counts as set: --revert it first."
    where = f"# {place}: /etc/sysctl.d/90-rushhour.conf, read at start or by `sysctl --system`"
    lines = [where, *sysctls] if sysctls else []
    if others:
        whose = "its" if sysctls else f"{place}'s"
        lines += [f"# For {whose} network manager, ethtool, tc or a unit that runs before the network:"]
        lines += others
    return "\n".join(lines)
