"""What is said of flows whose receivers compare each byte: whether all that arrived is what was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.integrity import CORRUPTED
from rushhour.quantities.words import every, joined, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.record.set_file import SetFile
    from rushhour.report.model import RunView

MOST_NAMED = 4
"""Flows that are each named."""


def verified(runs: Sequence[RunView]) -> tuple[str, bool]:
    """The sentence, and whether nothing was corrupted; empty where no flow was verified."""
    found = [
        (run, value.scope.partition(":")[2], int(value.value))
        for run in runs
        for value in run.metrics
        if value.metric == CORRUPTED and value.value is not None and value.scope.startswith("flow:")
    ]
    if not found:
        return "", True
    wrong = [one for one in found if one[2]]
    if wrong:
        return _wrong(wrong, runs), False
    names = list(dict.fromkeys(name for _, name, _ in found))
    whose = joined(names) if len(names) <= MOST_NAMED else f"all {len(names)} flows that were verified"
    among = f", in {every(len(runs), 'run')}" if len(runs) > 1 else ""
    return f"Every byte of {whose} that arrived is what was sent{among}.", True


def _wrong(wrong: Sequence[tuple[RunView, str, int]], runs: Sequence[RunView]) -> str:
    """How much of what arrived nobody sent, and where most of it."""
    run, name, most = max(wrong, key=lambda one: one[2])
    among = f" in {len({id(run) for run, _, _ in wrong})} of {len(runs)} runs" if len(runs) > 1 else ""
    where = f" ({run.label})" if len(runs) > 1 else ""
    count = sum(count for _, _, count in wrong)
    said = f"{plural(count, 'byte')} that arrived {'is' if count == 1 else 'are'} not what was sent"
    part = "" if len(wrong) == 1 else f", most of them, {most},"
    return f"{said}{among}{part} of {name}{where}."


def is_asked(about: SetFile, runs: Sequence[RunView]) -> bool:
    """Whether the scenario asks for just this: it judges it, or expects it."""
    expected = {verdict.metric for run in runs for verdict in run.verdicts}
    return CORRUPTED in expected | {one.get("metric") for one in about.scenario.resolved.judge}
