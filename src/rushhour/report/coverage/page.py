"""Coverage as one offline HTML page: folders and files, and each file's source, line by line.

The table stands in the page; of each file text and sets travel packed and are unpacked when it is looked at.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.coverage import totals
from rushhour.coverage.said import sentence
from rushhour.files.zipped import zipped
from rushhour.report.shell import digest, joined, template
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.coverage.index import FileIndex, Index
    from rushhour.coverage.totals import Totals

_SCRIPTS = ("series.js", "coverage.js")
_STYLES = ("report.css", "coverage.css")
_STEPS = 20
"""Of a bar behind a number: `b1` to `b20` in report.css."""


@dataclass(frozen=True)
class Row:
    """A file or a folder in the table; `number` is of the file's packed source."""

    totals: Totals
    number: int | None
    never: int

    @property
    def bars(self) -> list[tuple[str, str, int]]:
        """Of lines, functions and branches: the percentage, the numbers, the length of the bar."""
        parts = (self.totals.lines, self.totals.functions, self.totals.branches)
        return [
            (part.said if part.total else "-", f"{part.executed} of {part.total}",
             max(1, round(_STEPS * part.fraction)) if part.executed else 0)
            for part in parts
        ]  # fmt: skip


def render(index: Index, texts: Mapping[str, str]) -> str:
    """The page as text; the same index and texts give the same text.

    Args:
        index: What was executed.
        texts: The files' texts by name; of a file without one there is no source to look at.
    """
    names = [name for name in index.files if name in texts]
    numbers = {name: number for number, name in enumerate(names)}
    groups = [
        (_row(whole, numbers), [_row(one, numbers) for one in files])
        for whole, files in totals.by_folder(index)
    ]
    script, style = joined(_SCRIPTS), joined(_STYLES)
    return template("coverage.html").render(
        version=__version__,
        answer=sentence(index),
        facts=_facts(index),
        groups=groups,
        names=names,
        sources=[_packed(_source(index.files[name], texts[name])) for name in names],
        common=_packed(_common(index)),
        script=script,
        style=style,
        script_hash=digest(script),
        style_hash=digest(style),
    )


def _row(one: Totals, numbers: Mapping[str, int]) -> Row:
    return Row(one, numbers.get(one.name), one.functions.total - one.functions.executed)


def _facts(index: Index) -> list[tuple[str, str]]:
    kernel, whole = index.kernel, totals.together("", (part for part, _ in totals.by_folder(index)))
    parts = (("Lines", whole.lines), ("Functions", whole.functions), ("Branches", whole.branches))
    return [
        ("Kernel", f"{kernel.get('name', '')} {kernel.get('release', '')}".strip()),
        ("Cells", str(len(index.cells))),
        *((title, f"{part.executed} of {part.total}") for title, part in parts),
    ]


def _common(index: Index) -> dict[str, Any]:
    """Cells, and of each set its cells' numbers."""
    return {
        "cells": [[cell.label, cell.calls] for cell in index.cells],
        "sets": [[int(place) for place in row.nonzero()[0]] for row in index.sets],
    }


def _source(one: FileIndex, text: str) -> dict[str, Any]:
    functions = zip(one.functions, one.function_sets.tolist(), strict=True)
    return {
        "text": text,
        "lines": [*zip(one.lines.tolist(), one.line_sets.tolist(), strict=True)],
        "branches": [*zip(one.branches.tolist(), one.branch_sets.tolist(), strict=True)],
        "functions": [
            [function.name, function.first, function.last, number] for function, number in functions
        ],
    }


def _packed(value: dict[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b64encode(zipped(text)).decode("ascii")
