"""Departures: cells in which only metrics without a better side changed, which harms nobody.

In a document, in a database and for exit codes such a cell is `worse`; this is the word for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPARTS = "departs"


def departs(cell: Mapping[str, Any]) -> bool:
    """Whether a cell of a verdict's document departs; a broken expectation or a failed run is worse."""
    deciding = [one for one in cell.get("metrics") or [] if one.get("verdict") == "worse"]
    broken = any(one.get("base") and one.get("candidate") is False for one in cell.get("expectations") or [])
    runs = cell.get("runs") or {}
    failed = any(run.get("error") for side in ("base", "candidate") for run in runs.get(side) or [])
    mere = bool(deciding) and all(one.get("better") == "none" for one in deciding)
    return cell.get("verdict") == "worse" and mere and not broken and not failed


def word(cell: Mapping[str, Any]) -> str:
    """The verdict of a cell as people are told it."""
    return DEPARTS if departs(cell) else str(cell["verdict"])
