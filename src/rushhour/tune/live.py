"""Tuning carried out: the path measured or told, both ends asked, settings applied, verified, reverted."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.diagnosis.case import DIRECTIONS, ENDS, Case, other
from rushhour.diagnosis.case import Path as Way
from rushhour.diagnosis.gather import gather
from rushhour.diagnosis.live import Asked, carry_out
from rushhour.diagnosis.rules import common
from rushhour.errors import HostError
from rushhour.files import rooms
from rushhour.lab import clock
from rushhour.lab.host import settings
from rushhour.lab.host.session import Session
from rushhour.lab.hosts import HostsLab
from rushhour.record.seal import write_json
from rushhour.tune.plan import Plan, advise, judged, of_profile
from rushhour.tune.verify import compared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rushhour.lab.host.answers import Undone
    from rushhour.lab.profile import Found

RESULTS = rooms.RESULTS / "tune"
DOCUMENT = "tune.json"


@dataclass(frozen=True)
class Wanted:
    """What a tuning is asked for; see `rushhour tune --help`."""

    ends: Asked
    rtt_ns: float | None = None
    rate_bps: float | None = None
    memory: int | None = None
    profile: Found | None = None
    optional: bool = False
    apply: bool = False
    verify: bool = False


def tune(wanted: Wanted, tell: Callable[[str], None] = lambda _: None) -> tuple[Plan, Path]:
    """Make the plan, and do with it what is wanted; the plan is kept in a folder.

    Raises:
        UsageError: the words make no sense.
        HostError: an end cannot be reached, or refuses a change; then everything is put back at both.
    """
    folder = wanted.ends.out or _folder(wanted.ends)
    with ExitStack() as stack:
        case = _case(wanted, folder, tell)
        tell("asking both ends")
        sessions: dict[str, Session] = {end: stack.enter_context(_open(wanted.ends, end)) for end in ENDS}
        plan = _plan(wanted, case, sessions)
        # Whoever has no room for what comes of it learns so before anything is changed.
        rooms.open_results(folder)
        if wanted.apply or wanted.verify:
            tell("applying at both ends")
            done = _applied(wanted, plan, sessions, folder)
            plan = replace(plan, applied={end: one.document() for end, one in done.items()})
            if wanted.verify and any(one.applied for one in done.values()):
                after = carry_out(replace(wanted.ends, quick=True, out=folder / "after"), tell)
                plan = replace(plan, verified=compared(case, after.case))
    write_json(folder / DOCUMENT, plan.document())
    return plan, folder


def revert(ends: Asked) -> dict[str, list[Undone]]:
    """Put back what was kept at both ends, and what was left behind there; by end.

    Raises:
        HostError: an end cannot be reached.
    """
    told: dict[str, list[Undone]] = {}
    for end in ENDS:
        with _open(ends, end) as session:
            told[end] = settings.revert(session, kept=True)
    return told


def _open(ends: Asked, end: str) -> Session:
    place = ends.a if end == "a" else ends.b
    return Session.open(place, ssh_config=ends.ssh_config, sudo=ends.sudo)


def _case(wanted: Wanted, folder: Path, tell: Callable[[str], None]) -> Case:
    """Both ends and the path between them, measured as far as it was not told."""
    whole = wanted.profile is not None or (wanted.rtt_ns is not None and wanted.rate_bps is not None)
    if whole and not wanted.verify:
        case = _gathered(wanted.ends)
    else:
        made = carry_out(replace(wanted.ends, quick=True, out=folder / "before"), tell)
        case = made.case
    rates: Mapping[str, float] = case.path.rate_bps
    if wanted.rate_bps is not None:
        rates = dict.fromkeys(DIRECTIONS, wanted.rate_bps)
    rtt = int(wanted.rtt_ns) if wanted.rtt_ns is not None else case.path.rtt_ns
    return replace(case, path=Way(rtt, rates, case.path.mtu))


def _gathered(ends: Asked) -> Case:
    """Both ends as they are; nothing is measured."""
    inventory = ends.inventory()
    with HostsLab(inventory, ssh_config=ends.ssh_config) as lab:
        seats = lab.company.seats([("a", "b")])
        facts = lab.company.each(lambda end, session: gather(session, seats[other(end)].address), ENDS)
    return Case(facts["a"], facts["b"])


def _plan(wanted: Wanted, case: Case, sessions: Mapping[str, Session]) -> Plan:
    rates = {way: common.rate_bps(case, way) for way in DIRECTIONS}
    rtt, found = common.rtt_ns(case), []
    if wanted.profile is None:
        advice = advise(case, memory=wanted.memory)
    else:
        devices = {end: str(case.facts(end).link.dev or "") for end in ENDS}
        found_at = (of_profile(wanted.profile, end, devices[end], optional=wanted.optional) for end in ENDS)
        advice = [one for mine in found_at for one in mine]
    for end in ENDS:
        mine = [one for one in advice if one.end == end]
        rows = settings.check(sessions[end], [dict(one.change) for one in mine if one.change is not None])
        found += judged(mine, rows)
    given = [name for name, value in (("rtt", wanted.rtt_ns), ("rate", wanted.rate_bps)) if value is not None]
    notes = [] if wanted.profile or (rtt and any(rates.values())) else [_UNKNOWN]
    return Plan(
        clock.stamped(),
        {"a": wanted.ends.a, "b": wanted.ends.b},
        rtt,
        rates,
        tuple(found),
        given=tuple(given),
        profile=wanted.profile.name if wanted.profile is not None else None,
        notes=tuple(notes),
    )


_UNKNOWN = "the path could not be measured, so nothing is said of buffers: give --rtt and --rate"


def _applied(
    wanted: Wanted, plan: Plan, sessions: Mapping[str, Session], folder: Path
) -> dict[str, settings.Applied]:
    """Apply the plan at both ends, for good or for as long as the sessions last.

    Where one refuses, nothing is left of it: no change, and no empty folder.
    """
    who = f"tune {wanted.ends.a} {wanted.ends.b}"
    done: dict[str, settings.Applied] = {}
    try:
        for end in ENDS:
            done[end] = settings.apply(sessions[end], plan.changes(end), who=who, keep=wanted.apply)
    except HostError:
        if wanted.apply and "a" in done and done["a"].applied:
            settings.revert(sessions["a"], kept=True)
        with suppress(OSError):
            folder.rmdir()
        raise
    return done


def _folder(ends: Asked) -> Path:
    names = [place.replace("netns:", "").strip("/").replace("/", "-") for place in (ends.a, ends.b)]
    return RESULTS / "..".join(names) / clock.now().strftime("%Y%m%d-%H%M%S-%f")
