"""A verdict on disk: its document, its page and its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.files import finished
from rushhour.record.folders import VERDICT
from rushhour.record.seal import write_json
from rushhour.report.verdict import html, markdown
from rushhour.report.verdict.advice import commands
from rushhour.report.verdict.story import read_verdict
from rushhour.verdict.known import explain
from rushhour.verdict.place import cannot_write
from rushhour.verdict.side import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rushhour.record.verdict_file import ComparedCell, VerdictFile
    from rushhour.verdict.judging import Verdict
    from rushhour.verdict.side import Key

    Calls = Callable[[Key], Sequence[str]]


def document(verdict: Verdict, folder: Path, calls: Calls | None = None) -> VerdictFile:
    """The verdict's document with every folder relative to its own.

    Args:
        verdict: The verdict.
        folder: Where it will lie.
        calls: Gives of a cell functions of which one is called before both kernels part.
    """
    whole = verdict.document(folder)
    if calls is not None:
        whole = read_verdict({**whole, "cells": [_calling(cell, calls) for cell in whole.cells]})
    return read_verdict({**explain(whole), "next": list(commands(whole))})


def _calling(cell: ComparedCell, calls: Calls) -> Mapping[str, object]:
    if cell.divergence is None:
        return cell
    return {**cell, "calls": [*calls(key_of(cell.scenario, cell.factors))]}


def write(verdict: Verdict, folder: Path, calls: Calls | None = None) -> VerdictFile:
    """Write `verdict.json`, `report.html` and `summary.md` into the folder; give the document.

    The arguments are those of `document`.

    Raises:
        ReportError: they cannot be written.
    """
    whole = document(verdict, folder, calls)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / VERDICT, whole)
        finished.put(html(whole, folder), folder / "report.html")
        finished.put(markdown(whole), folder / "summary.md")
    except OSError as error:
        raise cannot_write(folder, error) from error
    return whole
