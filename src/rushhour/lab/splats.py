"""What a kernel says of itself when something in it is wrong: its splats.

Takes the console of a run, gives each complaint with its instant and its lines. Warnings of every kernel, and
what sanitizers find (`rushhour kernel build … --with kasan`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import GuestError
from rushhour.plain import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST_BYTES = 4_000_000
_MOST_LINES = 80
_MOST_READ = 400
_LINE = re.compile(r"^\[ *(?P<at>\d+\.\d+)\] (?P<said>.*)$")
# How complaints begin, in the words of lib/bug.c and kernel/panic.c, mm/kasan/report.c, lib/ubsan.c,
# mm/slub.c, kernel/locking/lockdep.c, kernel/sched/core.c, mm/kmemleak.c, lib/ref_tracker.c, net/core/dev.c.
_TITLE = re.compile(
    r"BUG: |\[ BUG: |BUG [\w-]+ \(|WARNING: |UBSAN: |INFO: suspicious RCU usage|refcount_t: "
    r"|INFO: trying to register non-static key"
    r"|kmemleak: (?:unreferenced object|\d+ new suspected)"
    r"|list_(?:add|del) corruption|ref_tracker: .*(?:leaked|has \d+/\d+ users)"
    r"|unregister_netdevice: waiting for "
)
# Frames that only line up the two; and what ends a complaint.
_RULE = re.compile(r"=+$|-+\[ cut here \]-+$|-+$")
_END = re.compile(r"---\[ end trace|={20,}$")
# A warning of the kernel's own. In User-Mode Linux its reason, where it has one, is the next line; elsewhere
# the one before.
_WARNED = re.compile(r"WARNING: (?:CPU: \d+ PID: \d+ at \S+ |\S+:\d+ at )")
_NO_REASON = re.compile(r"CPU: |Modules linked in:")
# Where our copy of the source lies: what UBSAN calls a file.
_PLACE = re.compile(r"/\S*/sources/[^/\s]+/")
# The raw stack, and what lies on it without being a return address: none points to a function's beginning.
_STACK = re.compile(r"^\s+\S+\s+\(\s*\d+\): |^\s*[0-9a-f]{8,} [0-9a-f]{8,}|^ ?Stack:$|^.*\+0x0/0x[0-9a-f]+$")
# What lies on the stack and, as the kernel thinks, called nothing: in some complaints it thinks so of all.
_CALL = re.compile(r"^\s*\[<[0-9a-f]+>\] ")
_DOUBTED = re.compile(r"^\s*\[<[0-9a-f]+>\] \? ")


@dataclass(frozen=True)
class Splat:
    """One complaint: its first line, when (seconds since the kernel's start), and its lines."""

    title: str
    at_s: float
    lines: tuple[str, ...]


def splats(console: Path) -> list[Splat]:
    """The complaints on a console, in their order; none where there is no console."""
    try:
        with console.open("rb") as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return []
    return [*_found(text)] if _TITLE.search(text) else []


def check(console: Path, where: str, begun_s: float) -> None:
    """Refuse the run of a kernel that complained.

    Args:
        console: What it said.
        where: The run.
        begun_s: When the experiment began, in seconds since the kernel's start; infinity: there was none.

    Raises:
        GuestError: it did, with the first complaint in its own words.
    """
    found = splats(console)
    if not found:
        return
    first = found[0]
    title = first.title.removesuffix(":")
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    lines = "\n".join(f"    {line}" for line in first.lines)
    begun = first.at_s >= begun_s
    when = (
        f"{first.at_s - begun_s:.6f} s after the experiment began" if begun else "before the experiment began"
    )
    raise GuestError(
        f"the kernel complains, {when}: {title}{more}\n{lines}",
        where=where,
        hint="the same cell, kernel and seed show it each time; if the kernel is yours, this is its bug",
    )


def _found(text: str) -> Iterator[Splat]:
    title, at, lines = "", 0.0, list[str]()
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        said = _PLACE.sub("", harmless(match["said"]).rstrip())
        begins = _TITLE.match(said) is not None
        # A warning has its reason before or behind it (refcount_t: …): that is one complaint.
        if begins and not (title and _follows(title, said, len(lines))):
            if title:
                yield Splat(title, at, _told(lines))
            title, at, lines = said, float(match["at"]), []
        if not title:
            continue
        if len(lines) == 1 and _WARNED.match(title) and said and not _NO_REASON.match(said):
            title = f"{title}: {said}"
        if lines and _END.match(said):
            yield Splat(title, at, _told(lines))
            title = ""
        elif said and not _RULE.match(said) and not _STACK.match(said) and len(lines) < _MOST_READ:
            lines.append(said)
    if title:
        yield Splat(title, at, _told(lines))


def _told(lines: list[str]) -> tuple[str, ...]:
    """The lines that fit, without doubted calls if others are sure: who freed it stands at the end."""
    sure = any(_CALL.match(line) and not _DOUBTED.match(line) for line in lines)
    return tuple(line for line in lines if not (sure and _DOUBTED.match(line)))[:_MOST_LINES]


def _follows(title: str, said: str, lines: int) -> bool:
    if lines == 1 and _WARNED.match(title):
        return True
    if said.startswith("kmemleak: ") and title.startswith("kmemleak: "):
        return "new suspected" in said  # how many there were
    return said.startswith("WARNING: ") and not title.startswith(("WARNING: ", "BUG: ", "UBSAN: "))
