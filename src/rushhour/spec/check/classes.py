"""Checks of classes and policers: who is in which class, and rates that add up."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.control import BANDED, MAX_BANDS, MAX_CLASSES, SCHEDULERS_OF_KEY, SHAPING
from rushhour.spec.keys import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.quantities.units import Rate, Size
    from rushhour.spec.control import Class, Police, Scheduler
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.topology import Direction


_LONGEST_BUCKET_S = 274  # 2^32 · 64 ns


def check_control(scenario: Scenario, direction: Direction, frame: int, here: Path) -> Iterator[Problem]:
    """Check the classes and the policer of a direction whose full frames have so many bytes."""
    if direction.impair_at is not None and direction.netem is None:
        hint = 'write for example netem = "loss 1%"'
        yield Problem((*here, "impair_at"), "there are no impairments to place", hint)
    if direction.police is not None:
        yield from _check_police(direction.police, frame, (*here, "police"))
    if direction.classes:
        yield from _check_classes(scenario, direction, direction.classes, here)
    elif direction.scheduler is not None and direction.classes is None:
        hint = "give [[…class]] tables, or leave it out"
        yield Problem((*here, "scheduler"), "there are no classes to divide the rate among", hint)


def _check_police(police: Police, frame: int, here: Path) -> Iterator[Problem]:
    """Its rate and bucket are both of bytes, or both of packets."""
    of_bytes = {"rate": police.rate, "burst": police.burst}
    of_packets = {"packets": police.packets, "packet_burst": police.packet_burst}
    given = of_packets if police.packets or police.packet_burst else of_bytes
    other = of_bytes if given is of_packets else of_packets
    for key, value in given.items():
        if value is None:
            yield Problem((*here, key), "is missing", f"a policer has {' and '.join(given)}")
    for key, value in other.items():
        if value is not None:
            yield Problem((*here, key), "a policer counts bytes or packets, not both", "leave one out")
    yield from _check_packets(police, here)
    yield from _check_peak(police, here)
    if police.rate is not None and police.rate.bps < 8:
        yield Problem((*here, "rate"), f'"{police.rate}" carries nothing', 'at least "8bit"')
    if police.burst is not None and police.burst.bytes < frame:
        message = f'"{police.burst}" is less than one frame of {frame} bytes'
        yield Problem((*here, "burst"), message, "nothing would pass")
    yield from _check_bucket(police.burst, police.rate, (*here, "burst"))


def _check_peak(police: Police, here: Path) -> Iterator[Problem]:
    """A peak is a rate of bytes above the policer's own."""
    if police.peak is None:
        return
    if police.packets is not None:
        yield Problem((*here, "peak"), "a policer counts bytes or packets, not both", "leave one out")
    elif police.rate is not None and police.peak.bps <= police.rate.bps:
        message = f'"{police.peak}" is not more than the rate of "{police.rate}"'
        yield Problem((*here, "peak"), message, "the bucket would never be used")


def _check_packets(police: Police, here: Path) -> Iterator[Problem]:
    """Of one that counts packets: that some pass, and that its bucket is one that the kernel can keep."""
    if police.packets is None:
        return
    if police.packets.per_s < 1:
        yield Problem((*here, "packets"), f'"{police.packets}" lets nothing pass', 'at least "1/s"')
    longest = int(police.packets.per_s * _LONGEST_BUCKET_S)
    if police.packet_burst is not None and police.packet_burst > longest:
        message = f"{police.packet_burst} packets take more than {_LONGEST_BUCKET_S} s to fill it"
        yield Problem((*here, "packet_burst"), message, f"at most {longest}")


def _check_classes(
    scenario: Scenario, direction: Direction, classes: Sequence[Class], here: Path
) -> Iterator[Problem]:
    scheduler = direction.scheduler or "htb"
    most = MAX_BANDS - 1 if scheduler in BANDED else MAX_CLASSES
    if len(classes) > most:
        yield Problem(
            (*here, "class"),
            f"{len(classes)} classes are more than {most}",
            f"the most that {scheduler} takes",
        )
        return
    if direction.rate is None:
        hint = 'write for example rate = "100mbit"'
        yield Problem((*here, "rate"), "there is no rate for the classes to divide", hint)
    names = Counter(entry.name for entry in classes)
    for index, entry in enumerate(classes):
        path = (*here, "class", index)
        if names[entry.name] > 1 and entry.name in {before.name for before in classes[:index]}:
            yield Problem((*path, "name"), f'"{entry.name}" is already the name of a class', "classes differ")
        yield from _check_keys(entry, scheduler, path)
        yield from _check_parent(entry, classes, path)
        yield from _check_then(scenario, entry, scheduler, inner={one.parent for one in classes}, path=path)
    yield from _check_flows(scenario, classes, here)
    if scheduler in SHAPING and direction.rate is not None:
        yield from _check_rates(classes, direction.rate, here)
        if any(entry.then for entry in classes):
            yield from _check_rates([entry.later for entry in classes], direction.rate, here)


def _check_keys(entry: Class, scheduler: Scheduler, path: Path) -> Iterator[Problem]:
    for key, schedulers in SCHEDULERS_OF_KEY.items():
        if getattr(entry, key) is not None and scheduler not in schedulers:
            meant = ", ".join(f'"{name}"' for name in schedulers)
            yield Problem((*path, key), f'means nothing to "{scheduler}"', f"it belongs to {meant}")
    if scheduler in SHAPING and entry.rate is None:
        yield Problem((*path, "rate"), "the class has no rate", 'write for example rate = "10mbit"')
    if entry.curves is not None and entry.ceil is not None:
        yield Problem((*path, "ceil"), "the class has curves", "write it among them: ul rate 10mbit")
    for key in ("rate", "ceil"):
        rate = getattr(entry, key)
        if rate is not None and rate.bps < 8:
            yield Problem((*path, key), f'"{rate}" carries nothing', 'at least "8bit"')
    if entry.rate is not None and entry.ceil is not None and entry.ceil.bps < entry.rate.bps:
        message = f'"{entry.ceil}" is less than the class\'s own rate, "{entry.rate}"'
        yield Problem(
            (*path, "ceil"), message, "a ceiling is at least the rate; without one nothing is borrowed"
        )
    yield from _check_bucket(entry.burst, entry.rate, (*path, "burst"))
    if entry.quantum is not None and entry.quantum.bytes == 0:
        yield Problem((*path, "quantum"), "is zero", "the class would never have its turn")


def _check_then(
    scenario: Scenario, entry: Class, scheduler: Scheduler, *, inner: set[str | None], path: Path
) -> Iterator[Problem]:
    """Check what becomes of a class: when, and whether its scheduler can do that."""
    then, here = entry.then, (*path, "then")
    if then is None:
        return
    if not 0 < then.at.ns < scenario.span.ns:
        message = f'"{then.at}" is not while the experiment lasts, "{scenario.span}"'
        yield Problem((*here, "at"), message, "after its start and before its end")
    if then.gone == bool(then.keys):
        said = "is gone, so nothing else becomes of it" if then.gone else "says nothing of the class"
        yield Problem(here, said, "write for example gone = true, or weight = 2")
    elif not then.gone:
        yield from _check_keys(entry.later, scheduler, here)
        if scheduler == "ets" and entry.weight is None and entry.quantum is None:
            yield Problem(here, "a band without a weight stays one", "give it one from the start")
    elif scheduler in BANDED:
        yield Problem((*here, "gone"), f'means nothing to "{scheduler}"', "it keeps its bands to the end")
    elif entry.name in inner or not entry.flows:
        rest = "what no class names goes there"
        said = "other classes are part of this one" if entry.name in inner else rest
        yield Problem((*here, "gone"), said, "a class that names flows can be taken away")


def _check_bucket(burst: Size | None, rate: Rate | None, path: Path) -> Iterator[Problem]:
    # The kernel keeps a bucket as the time that it takes to fill, in 32 bits of 64 ns (psched).
    if burst is None or rate is None or rate.bps < 8 or burst.bytes * 8 <= rate.bps * _LONGEST_BUCKET_S:
        return
    seconds = burst.bytes * 8 / rate.bps
    message = f'"{burst}" takes {seconds:.3g} s to fill at {rate}, more than the kernel can count'
    yield Problem(path, message, f'at most "{rate.bps * _LONGEST_BUCKET_S // 8}B"')


def _check_parent(entry: Class, classes: Sequence[Class], path: Path) -> Iterator[Problem]:
    parents = {other.name: other.parent for other in classes}
    if entry.parent is not None and entry.parent not in parents:
        hint = nearest(entry.parent, parents)
        yield Problem((*path, "parent"), f'no class is named "{entry.parent}"', hint)
        return
    seen, above = [entry.name], entry.parent
    while above is not None and above in parents and above not in seen:
        seen.append(above)
        above = parents[above]
    if above == entry.name:
        yield Problem((*path, "parent"), f'"{entry.name}" would be part of itself', "leave one parent out")


def _check_flows(scenario: Scenario, classes: Sequence[Class], here: Path) -> Iterator[Problem]:
    names = [flow.label for flow in scenario.flow]
    inner = {entry.parent for entry in classes}
    owner: dict[str, str] = {}
    rest: str | None = None
    for index, entry in enumerate(classes):
        path = (*here, "class", index, "flows")
        if entry.name in inner:
            if entry.flows:
                yield Problem(path, "other classes are part of this one", "give its flows to those")
            continue
        if not entry.flows:
            if rest is not None:
                message = f'names no flows, and "{rest}" already takes what no class names'
                yield Problem(path, message, 'write for example flows = ["long"]')
            rest = rest or entry.name
        for flow in entry.flows:
            if flow not in names:
                yield Problem(path, f'no flow is named "{flow}"', nearest(flow, names))
            elif owner.setdefault(flow, entry.name) != entry.name or entry.flows.count(flow) > 1:
                yield Problem(path, f'"{flow}" is already in class "{owner[flow]}"', "a flow has one class")


def _check_rates(classes: Sequence[Class], rate: Rate, here: Path) -> Iterator[Problem]:
    """Rates of one parent's classes add up to its rate at most: htb gives each its own unasked."""
    own = {entry.name: entry for entry in classes}
    for parent in dict.fromkeys(entry.parent for entry in classes):
        above = own[parent].rate if parent in own else rate
        ceiling = (own[parent].ceil or above) if parent in own else rate
        children = [(index, entry) for index, entry in enumerate(classes) if entry.parent == parent]
        total = sum(entry.rate.bps for _, entry in children if entry.rate)
        if above is not None and total > above.bps:
            whose = f'of class "{parent}"' if parent in own else "of the link"
            message = f"the rates add up to {total / 1e6:g} Mbit/s, more than the {above} {whose}"
            hint = "each class may send at its own rate whatever others do: more than that would leave"
            yield Problem((*here, "class", children[-1][0], "rate"), message, hint)
        for index, entry in children:
            if entry.ceil is not None and ceiling is not None and entry.ceil.bps > ceiling.bps:
                message = f'"{entry.ceil}" is more than there is to borrow from, "{ceiling}"'
                yield Problem((*here, "class", index, "ceil"), message, f'at most "{ceiling}"')
