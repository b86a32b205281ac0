"""The index as a file, `coverage.json.xz` (docs/coverage.md): small enough for a repository.

The same index gives the same bytes. Whoever reads one trusts nothing: numbers are checked against what they
point at.
"""

from __future__ import annotations

import json
import lzma
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.coverage.decoded import Function
from rushhour.coverage.index import CellRef, FileIndex, Index
from rushhour.errors import RecordError
from rushhour.files.finished import put

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

FORMAT = "rushhour-coverage/1"
FILE = "coverage.json.xz"
_MOST = 1 << 28
_AGAIN = "make it again: rushhour coverage RESULTS"


def write(index: Index, path: Path) -> None:
    """Write an index, whole or not at all.

    Raises:
        ReportError: it cannot be written.
    """
    text = json.dumps(_document(index), separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    put(lzma.compress(text.encode(), preset=9, check=lzma.CHECK_CRC64), path)


def read(path: Path) -> Index:
    """Read an index: the file, or the folder in which it lies.

    Raises:
        RecordError: there is none, it is damaged, or of a newer format.
    """
    place = path / FILE if path.is_dir() else path
    try:
        with lzma.open(place) as file:
            document = json.loads(file.read(_MOST))
    except FileNotFoundError:
        raise RecordError("there is no index of coverage here", where=str(place), hint=_AGAIN) from None
    except (OSError, EOFError, lzma.LZMAError, ValueError) as fault:
        raise RecordError(
            f"the index of coverage is damaged: {fault}", where=str(place), hint=_AGAIN
        ) from fault
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise RecordError(
            f"the index has the format {str(found)[:60]!r}; this program reads {FORMAT!r}",
            where=str(place),
            hint=_AGAIN,
        )
    try:
        return _index(document)
    except (KeyError, TypeError, ValueError, IndexError) as fault:
        raise RecordError(
            f"the index of coverage is damaged: {type(fault).__name__}: {fault}",
            where=str(place),
            hint=_AGAIN,
        ) from fault


def _document(index: Index) -> dict[str, Any]:
    cells = [
        {"scenario": cell.scenario, "cell": cell.cell, "factors": dict(cell.factors), "calls": cell.calls}
        for cell in index.cells
    ]
    sets = [np.packbits(row, bitorder="little").tobytes().hex() for row in index.sets]
    files = {name: _file(one) for name, one in sorted(index.files.items())}
    return {
        "format": FORMAT, "kernel": dict(index.kernel), "cells": cells, "files": files, "sets": sets,
    }  # fmt: skip


def _file(one: FileIndex) -> dict[str, Any]:
    return {
        "sha256": one.sha256,
        "lines": _steps(one.lines),
        "line_sets": one.line_sets.tolist(),
        "branches": _steps(one.branches),
        "branch_sets": one.branch_sets.tolist(),
        "functions": [[function.name, function.first, function.last] for function in one.functions],
        "function_sets": one.function_sets.tolist(),
    }


def _steps(numbers: NDArray[np.int64]) -> list[int]:
    """Ascending numbers as the differences between them: small ones, which compress well."""
    return [after - before for before, after in pairwise([0, *numbers.tolist()])]


def _index(document: Mapping[str, Any]) -> Index:
    cells = tuple(
        CellRef(str(cell["scenario"]), int(cell["cell"]), dict(cell["factors"]), int(cell["calls"]))
        for cell in document["cells"]
    )
    packed = [np.frombuffer(bytes.fromhex(text), dtype=np.uint8) for text in document["sets"]]
    if any(len(row) != (len(cells) + 7) // 8 for row in packed):
        raise ValueError("a set is not of these cells")
    rows = [np.unpackbits(row, bitorder="little", count=len(cells)) for row in packed]
    sets = np.asarray(rows, dtype=np.bool_).reshape(len(rows), len(cells))
    files = {str(name): _read_file(str(name), one, len(sets)) for name, one in document["files"].items()}
    return Index(dict(document["kernel"]), cells, files, sets)


def _read_file(name: str, one: Mapping[str, Any], most: int) -> FileIndex:
    def sets(key: str, size: int) -> NDArray[np.int64]:
        numbers = np.asarray(one[key], dtype=np.int64)
        if numbers.shape != (size,) or (size and not 0 <= numbers.min() <= numbers.max() < most):
            raise ValueError(f"{name}: {key} are not sets of its items")
        return numbers

    lines, branches = (
        np.asarray(list(accumulate(int(step) for step in one[key])), dtype=np.int64)
        for key in ("lines", "branches")
    )
    functions = tuple(Function(str(text), int(first), int(last)) for text, first, last in one["functions"])
    return FileIndex(
        name=name, sha256=str(one["sha256"]), lines=lines, line_sets=sets("line_sets", len(lines)),
        branches=branches, branch_sets=sets("branch_sets", len(branches)),
        functions=functions, function_sets=sets("function_sets", len(functions)),
    )  # fmt: skip
