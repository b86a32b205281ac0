"""Outcomes in the formats of other programs, and as one document."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rushhour.export.case import Case, Report, plain
from rushhour.export.formats import FORMATS
from rushhour.files import finished as files
from rushhour.packetdrill.comparing import WORDS, verdict
from rushhour.packetdrill.outcome import CLASSES
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.export.case import Status
    from rushhour.lab.base import Tested
    from rushhour.packetdrill.comparing import Change, Divergence, Word
    from rushhour.packetdrill.outcome import Outcome

FORMAT = "rushhour-packetdrill/1"
COMPARED_FORMAT = "rushhour-packetdrill-compared/1"
COMPARED = "packetdrill.json"
"""The document of a comparison, in its folder."""
# Reasons of skipped scripts that are shown; the JSON document has all.
_REASONS = 5
# As for verdicts (docs/verdict.md): exit code, and what a case is to other systems.
_EXITS: dict[Word, int] = {"worse": 1, "departs": 1, "better": 0, "same": 0, "invalid": 4, "skipped": 4}
_STATES: dict[Word, Status] = {
    "worse": "fail",
    "departs": "fail",
    "better": "pass",
    "same": "pass",
    "invalid": "error",
    "skipped": "skip",
}


def place(outcome: Outcome) -> str:
    """Where it failed: `fast_retransmit/fr-4pkt.pkt:27 (ipv4)`."""
    line = f":{outcome.line}" if outcome.line else ""
    return f"{outcome.script.path}{line} ({outcome.variant})"


def details(outcome: Outcome) -> list[str]:
    """The lines below a failure: what failed, and both packets where it is about one."""
    packets = (("expected", outcome.expected), ("actual", outcome.actual))
    return [
        f"{place(outcome)}: {outcome.reason}",
        *(f"{word:8}  {packet}" for word, packet in packets if packet),
    ]


def headline(outcomes: Sequence[Outcome]) -> str:
    """The outcome in a few words."""
    failed = [one for one in outcomes if one.status != "pass"]
    if not failed:
        return {1: "it passed", 2: "both passed"}.get(len(outcomes), f"all {len(outcomes)} passed")
    kinds = Counter(one.kind for one in failed)
    words = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    return f"{len(outcomes) - len(failed)} of {len(outcomes)} passed; failed: {words}"


def report(outcomes: Sequence[Outcome], kernel: Tested, binary: Mapping[str, str], seconds: float) -> Report:
    """What TAP and JUnit are made of: a case for each script and kind of addresses.

    Args:
        outcomes: in the order in which they are told.
        kernel: under test.
        binary: packetdrill's identity.
        seconds: of this machine's time, all in all.
    """
    cases = [
        Case(
            one.script.path,
            one.variant,
            one.status,
            one.reason,
            details=() if one.status == "pass" else (*details(one), CLASSES[one.kind]),
        )
        for one in outcomes
    ]
    properties = {f"packetdrill.{key}": value for key, value in binary.items()}
    return Report(
        "packetdrill",
        headline(outcomes),
        cases,
        kernel=kernel.identity,
        seconds=seconds,
        properties=properties,
    )


def document(outcomes: Sequence[Outcome], kernel: Tested, binary: Mapping[str, str]) -> dict[str, Any]:
    """All of it as a JSON document: the same for the same scripts, kernel and binary."""
    return {
        "format": FORMAT,
        "kernel": {key: kernel.identity.get(key) for key in ("name", "release", "image_sha256")},
        "packetdrill": dict(binary),
        "headline": headline(outcomes),
        "scripts": [
            {
                "script": one.script.path,
                "addresses": one.variant,
                "status": one.status,
                "class": one.kind or None,
                "line": one.line or None,
                "reason": one.reason or None,
                "expected": one.expected or None,
                "actual": one.actual or None,
                "took_s": one.took_s,
                "output": one.output,
            }
            for one in outcomes
        ],
    }


def changed(change: Change) -> list[str]:
    """The lines about a script that is not the same on both kernels; none about one that is."""
    if change.word in ("same", "skipped"):
        return []
    head = f"{change.word.upper()} {change.base.name}: {change.reason}"
    if change.divergence is None:
        return [head, *(f"{one.reason}" for one in (change.base, change.candidate) if one.reason)]
    lines = [head, *_parted("first", change.divergence)]
    return lines + (_parted("then", change.later) if change.later else [])


def _parted(word: str, one: Divergence) -> list[str]:
    where = f"line {one.line}" if one.line else "a packet of no line"
    return [
        f"{word} at {where}: {one.what}",
        f"base       {one.base or 'nothing'}",
        f"candidate  {one.candidate or 'nothing'}",
    ]


def left_out(changes: Sequence[Change]) -> list[str]:
    """Why scripts were skipped, in packetdrill's words: a line for each reason, the commonest first."""
    skipped = [change for change in changes if change.word == "skipped"]
    which: dict[str, list[str]] = {}
    for change in skipped:
        side = next((one for one in (change.base, change.candidate) if one.reason), change.base)
        # Its words begin with the script's name, which would tell all of them apart.
        said = side.reason.removeprefix(f"{side.script.path.rpartition('/')[2]}: ") or change.reason
        which.setdefault(said, []).append(change.base.name)
    first = sorted(which.items(), key=lambda item: -len(item[1]))
    return [f"{len(names)} skipped, {names[0]} first: {said}" for said, names in first[:_REASONS]]


def compared_headline(changes: Sequence[Change]) -> str:
    """How many scripts have which word, the worst first."""
    counts = Counter(change.word for change in changes)
    words = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
    return f"{plural(len(changes), 'script')}: {words}"


def compared_report(
    changes: Sequence[Change], kernels: Sequence[Tested], binary: Mapping[str, str], seconds: float
) -> Report:
    """What TAP, JUnit and the other formats are made of; arguments as for `report`."""
    cases = [
        Case(
            change.base.script.path,
            change.base.variant,
            _STATES[change.word],
            "" if change.word == "same" else f"{change.word}: {change.reason}",
            details=() if _STATES[change.word] == "pass" else changed(change),
        )
        for change in changes
    ]
    sides = {
        word: str(kernel.identity.get("name"))
        for word, kernel in zip(("base", "candidate"), kernels, strict=True)
    }
    known = {f"packetdrill.{key}": value for key, value in binary.items()}
    return Report(
        f"{sides['base']}..{sides['candidate']}",
        compared_headline(changes),
        cases,
        kernel=kernels[1].identity,
        seconds=seconds,
        properties={**sides, **known},
    )


def compared(
    changes: Sequence[Change], kernels: Sequence[Tested], binary: Mapping[str, str], least_ns: int
) -> dict[str, Any]:
    """A comparison as a JSON document: the same for the same scripts, kernels and binary."""
    word, counts = verdict(changes), Counter(change.word for change in changes)
    base, candidate = (
        {key: kernel.identity.get(key) for key in ("name", "release", "image_sha256")} for kernel in kernels
    )
    return {
        "format": COMPARED_FORMAT,
        "verdict": word,
        "exit": _EXITS[word],
        "headline": compared_headline(changes),
        "base": base,
        "candidate": candidate,
        "packetdrill": dict(binary),
        "minimum_ns": least_ns,
        "counts": {word: counts[word] for word in WORDS},
        "scripts": [
            {
                "script": change.base.script.path,
                "addresses": change.base.variant,
                "verdict": change.word,
                "reason": change.reason or None,
                "base": _side(change.base),
                "candidate": _side(change.candidate),
                "divergence": asdict(change.divergence) if change.divergence else None,
                "later": asdict(change.later) if change.later else None,
            }
            for change in changes
        ],
    }


def _side(outcome: Outcome) -> dict[str, Any]:
    return {
        "status": outcome.status,
        "class": outcome.kind or None,
        "line": outcome.line or None,
        "reason": outcome.reason or None,
    }


def keep(
    folder: Path,
    document: Mapping[str, Any],
    report: Report,
    changes: Sequence[Change],
    forms: Sequence[str],
) -> None:
    """Write a comparison's folder: the document, the formats asked for, the captures of what changed.

    Raises:
        ReportError: a file cannot be written.
    """
    files.put(json.dumps(document, indent=1) + "\n", folder / COMPARED)
    for form in dict.fromkeys(forms):
        files.put(FORMATS[form].write(report), folder / FORMATS[form].file)
    for change in changes:
        if change.word in ("same", "skipped"):
            continue
        name = plain(f"{change.base.script.path}-{change.base.variant}")
        for side, outcome in (("base", change.base), ("candidate", change.candidate)):
            if outcome.capture:
                (folder / side).mkdir(exist_ok=True)
                files.put(outcome.capture, folder / side / f"{name}.pcap")
