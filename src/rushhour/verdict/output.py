"""Where a verdict goes: `results/compare/BASE..CANDIDATE/DATE-TIME/`, with its document and its reports."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from rushhour.errors import ReportError
from rushhour.files import finished as files
from rushhour.files import rooms
from rushhour.record.seal import write_json
from rushhour.report.verdict import html, markdown
from rushhour.report.verdict.advice import commands
from rushhour.running.prepare import RESULTS
from rushhour.verdict.known import explain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from rushhour.verdict.judging import Verdict

DOCUMENT = "verdict.json"
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def folder_for(base: str, candidate: str, made: datetime) -> Path:
    """A folder of this name that is not there yet."""
    names = "..".join(_PLAIN.sub("-", name).strip("-.")[:80] or "records" for name in (base, candidate))
    stamp = made.strftime("%Y%m%d-%H%M%S")
    folder, tries = RESULTS / "compare" / names / stamp, 1
    while folder.exists():
        tries += 1
        folder = folder.with_name(f"{stamp}-{tries}")
    return folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Make the folder and keep other comparisons out of it; the lock is the folder's own and leaves nothing.

    Raises:
        UsageError: another comparison is writing there.
        ReportError: the folder cannot be made.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(rooms.alone(folder, "comparison"))
        except OSError as error:
            raise _cannot_write(folder, error) from error
        yield


def document(verdict: Verdict, folder: Path) -> dict[str, Any]:
    """The verdict's document with every folder relative to its own."""
    whole = verdict.document()
    for side in (whole["base"], whole["candidate"]):
        side["records"] = _relative(side["records"], folder)
    for cell in whole["cells"]:
        for runs in cell["runs"].values():
            for run in runs:
                run["folder"] = _relative(run["folder"], folder)
    return {**explain(whole), "next": commands(whole)}


def write(verdict: Verdict, folder: Path) -> dict[str, Any]:
    """Write `verdict.json`, `report.html` and `summary.md` into the folder; give the document.

    Raises:
        ReportError: they cannot be written.
    """
    whole = document(verdict, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / DOCUMENT, whole)
        files.put(html(whole, folder), folder / "report.html")
        files.put(markdown(whole), folder / "summary.md")
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return whole


def _cannot_write(folder: Path, error: OSError) -> ReportError:
    return ReportError(
        f"the verdict cannot be written: {error.strerror}",
        where=str(folder),
        hint="choose another place with --out",
    )


def _relative(path: str | None, folder: Path) -> str | None:
    return None if path is None else os.path.relpath(path, folder)
