"""Known changes of the kernel: which commit explains what a verdict between releases found.

    explain   a verdict's document → the same with `known` beside its cells, and the changes counted
    table     every change that users can see, with the cells that measure it, as Markdown (docs/releases.md)

A change is data (`changes.toml`). It never alters a verdict: what is worse stays worse, and people read why.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from rushhour.record.document import write
from rushhour.record.verdict_file import KnownChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Shows:
    """Where a change is seen: every pattern that is given must fit, and every factor's value.

    `unless`: not in these scenarios.
    """

    scenarios: Sequence[str] = ()
    metrics: Sequence[str] = ()
    parts: Sequence[str] = ()
    unless: Sequence[str] = ()
    factors: Mapping[str, object] = field(default_factory=dict)

    def fits(self, cell: Mapping[str, Any]) -> bool:
        """Whether a cell of a verdict's document shows it."""
        deciding = [one["metric"] for one in cell.get("metrics") or [] if one["verdict"] != "same"]
        return (
            _any(self.scenarios, [cell["scenario"]])
            and _any(self.metrics, deciding)
            and _any(self.parts, _parts(cell.get("divergence")))
            and all((cell.get("factors") or {}).get(name) == value for name, value in self.factors.items())
            and not (self.unless and _any(self.unless, [cell["scenario"]]))
        )


@dataclass(frozen=True)
class Change:
    """One change of the kernel: the commit upstream, the first release with it, what it does to users.

    `sees` is what a user sees, `cells` the suite's scenarios that measure it; where there are none, `lacks`
    is what it would take. `text` is a file and words that only kernels with the change have (`gone`: only
    those without it). `stable`: older series that have it, or their first release with it; `until`: the
    first release that has it no more.
    """

    commit: str
    subject: str
    since: str
    why: str
    proof: str
    area: str
    sees: str
    cells: Sequence[str]
    shows: Sequence[Shows] = ()
    also: Sequence[str] = ()
    text: Sequence[str] = ()
    stable: Sequence[str] = ()
    until: str = ""
    gone: bool = False
    lacks: str = ""

    def between(self, one: str, other: str) -> bool:
        """Whether exactly one of two releases has it, as far as their versions tell."""
        return self.there(one) != self.there(other)

    def there(self, release: str) -> bool:
        """Whether a release has it, as far as its version tells."""
        version = _version(release)
        if self.until and version >= _version(self.until):
            return False
        stable = map(_version, self.stable)
        begun = any(one[:2] == version[:2] and one <= version for one in stable)
        return begun or version >= _version(self.since)

    def begun(self, *releases: str) -> str:
        """The release that brought it to the kernel that has it, and the one that took it from the other."""
        (having,), lacking = (
            [one for one in releases if self.there(one) == there] for there in (True, False)
        )
        own = (one for one in self.stable if _version(one)[:2] == _version(having)[:2])
        begun = next((one if one.count(".") > 1 else f"{one} stable" for one in own), self.since)
        over = self.until and any(_version(one) >= _version(self.until) for one in lacking)
        return f"{begun}, until {self.until}" if over else begun

    def document(self, *releases: str) -> KnownChange:
        """As it stands in the `verdict.json` of two releases of which one has it."""
        return write(
            KnownChange,
            commit=self.commit,
            subject=self.subject,
            since=self.begun(*releases),
            why=self.why,
            proof=self.proof,
            also=list(self.also),
        )


@cache
def changes() -> tuple[Change, ...]:
    """The changes that are known, as `changes.toml` has them."""
    text = resources.files(__name__).joinpath("changes.toml").read_text(encoding="utf-8")
    return tuple(
        Change(**{**entry, "shows": tuple(Shows(**shows) for shows in entry.get("shows", []))})
        for entry in tomllib.loads(text)["change"]
    )


def table() -> str:
    """Every change as a row of Markdown, the oldest first; `docs/releases.md` has it."""
    lines = ["| since | area | what a user sees | commit | measured by |", "|---|---|---|---|---|"]
    for change in sorted(changes(), key=lambda one: _version(one.since)):
        cells = ", ".join(f"`{name}`" for name in change.cells) or f"none: it takes {change.lacks}"
        also = "".join(f", `{one.split()[0]}`" for one in change.also)
        since = change.since + "".join(f", {series} stable" for series in change.stable)
        since += f", until {change.until}" if change.until else ""
        commit = f"`{change.commit[:12]}` {change.subject.rstrip('.')}{also}"
        lines.append(f"| {since} | {change.area} | {change.sees} | {commit} | {cells} |")
    measured = sum(bool(change.cells) for change in changes())
    return "\n".join([f"{measured} of {len(changes())} are measured by the suite.", "", *lines]) + "\n"


def explain(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with `known` in each cell that changed (`Change.document`), and which changes were seen.

    `known` of the whole has `changes` (commit, subject, since, cells), that of most cells first, and how many
    of the cells that are worse or better are `explained` and `unexplained`. Without two releases to compare
    both are left out.
    """
    releases = [
        str((document[side].get("kernel") or {}).get("release") or "") for side in ("base", "candidate")
    ]
    if not all(map(_RELEASE.match, releases)):
        return dict(document)
    possible = [change for change in changes() if change.between(*releases)]
    if not possible and _version(releases[0])[:2] == _version(releases[1])[:2]:
        return dict(document)
    cells = [{**cell, "known": list(_of(cell, possible, releases))} for cell in document["cells"]]
    changed = [cell for cell in cells if cell["verdict"] in ("worse", "better")]
    seen = Counter(one["subject"] for cell in cells for one in cell["known"])
    explained = sum(bool(cell["known"]) for cell in changed)
    return {
        **document,
        "cells": cells,
        "known": {
            "changes": [
                {
                    "commit": one.commit,
                    "subject": one.subject,
                    "since": one.begun(*releases),
                    "cells": seen[one.subject],
                }
                for one in sorted(possible, key=lambda one: -seen[one.subject])
                if seen[one.subject]
            ],
            "explained": explained,
            "unexplained": len(changed) - explained,
        },
    }


def _of(
    cell: Mapping[str, Any], possible: Sequence[Change], releases: Sequence[str]
) -> Iterator[KnownChange]:
    if cell["verdict"] in ("worse", "better", "inconclusive"):
        shown = (one for one in possible if any(shows.fits(cell) for shows in one.shows))
        yield from (one.document(*releases) for one in shown)


def _parts(divergence: Mapping[str, Any] | None) -> list[str]:
    """The columns in which two runs part, from the first event that was not a mere shift in time on."""
    if divergence is None:
        return []
    events = [*(divergence.get("earlier") or []), divergence]
    return [name for event in events if event.get("kind") != "time" for name in event.get("differs") or []]


def _any(patterns: Sequence[str], names: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _version(release: str) -> tuple[int, int, int]:
    found = _RELEASE.match(release)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)
