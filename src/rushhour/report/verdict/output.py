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

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.verdict_file import VerdictFile
    from rushhour.verdict.judging import Verdict


def document(verdict: Verdict, folder: Path) -> VerdictFile:
    """The verdict's document with every folder relative to its own."""
    whole = verdict.document(folder)
    return read_verdict({**explain(whole), "next": list(commands(whole))})


def write(verdict: Verdict, folder: Path) -> VerdictFile:
    """Write `verdict.json`, `report.html` and `summary.md` into the folder; give the document.

    Raises:
        ReportError: they cannot be written.
    """
    whole = document(verdict, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / VERDICT, whole)
        finished.put(html(whole, folder), folder / "report.html")
        finished.put(markdown(whole), folder / "summary.md")
    except OSError as error:
        raise cannot_write(folder, error) from error
    return whole
