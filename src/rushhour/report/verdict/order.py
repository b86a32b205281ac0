"""In which order cells are told: what needs a person first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def ordered(cells: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The cells of a verdict's document, what needs a person first.

    By verdict; then runs that died and laws that broke, metrics with a better side, mere departures; then by
    how many times the least that matters was exceeded.
    """
    return sorted(cells, key=_key)


def _key(cell: Mapping[str, Any]) -> tuple[int, int, float]:
    deciding = [one for one in cell.get("metrics") or [] if one["verdict"] == cell["verdict"]]
    size = max(map(_size, deciding), default=0.0)
    return ORDER.index(cell["verdict"]), _group(cell, deciding), -size


def _group(cell: Mapping[str, Any], deciding: list[Mapping[str, Any]]) -> int:
    died = any(run.get("error") for run in (cell.get("runs") or {}).get("candidate") or [])
    broken = any(one.get("base") and one.get("candidate") is False for one in cell.get("expectations") or [])
    if died or broken:
        return 0
    return 1 if any(one.get("better") in ("higher", "lower") for one in deciding) else 2


def _size(metric: Mapping[str, Any]) -> float:
    least, difference = metric.get("least"), metric.get("difference")
    if difference is None:
        return 0.0
    return abs(difference) / least if least else math.inf
