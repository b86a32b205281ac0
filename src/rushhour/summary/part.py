"""A part of a result set: the runs of the cells that have certain levels of factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.plain import one_line
from rushhour.record.record import Record
from rushhour.spec.toml import plain_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.result_set import ResultSet


_BEFORE = {"True": "true", "False": "false"}
"""How levels were told once."""


def chosen(results: ResultSet, factors: Mapping[str, object]) -> frozenset[str]:
    """The names of the runs' folders whose cells have these levels.

    A factor goes by its name (`topology.rtt`) or the last part of it (`rtt`), a level by its text in the name
    of a cell (`true`).

    Raises:
        RecordError: no run has them, or a factor is of no run; the message names what there is.
    """
    wanted = {name: _BEFORE.get(plain_word(level), plain_word(level)) for name, level in factors.items()}
    found: set[str] = set()
    levels: dict[str, dict[str, None]] = {}
    for folder in results.folders():
        mine = _levels(Record.open(folder))
        for name in wanted:
            if name in mine:
                levels.setdefault(name, {})[mine[name]] = None
        if all(mine.get(name) == level for name, level in wanted.items()):
            found.add(folder.name)
    if not found:
        raise _nothing(results, wanted, levels)
    return frozenset(found)


def _levels(record: Record) -> dict[str, str]:
    levels = {name: plain_word(level) for name, level in record.factors.items()}
    short = {name.rpartition(".")[2]: level for name, level in levels.items()}
    return {**short, "kernel": record.manifest.kernel.name, **levels}


def _nothing(
    results: ResultSet, wanted: Mapping[str, str], levels: Mapping[str, Mapping[str, None]]
) -> RecordError:
    unknown = next((name for name in wanted if name not in levels), None)
    if unknown is not None:
        names = ", ".join(Record.open(results.folders()[0]).factors) or "none"
        return RecordError(
            f"no run has a factor {one_line(unknown)!r}", where=str(results.path), hint=f"factors: {names}"
        )
    said = ", ".join(f"{name}={level}" for name, level in wanted.items())
    name = next((name for name, level in wanted.items() if level not in levels[name]), next(iter(wanted)))
    known = [*levels[name]]
    more = f" and {len(known) - 8} more" if len(known) > 8 else ""
    return RecordError(
        f"no run has {one_line(said)}", where=str(results.path), hint=f"{name}: {', '.join(known[:8])}{more}"
    )
