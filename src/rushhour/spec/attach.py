"""Traces are read from their files once, when a scenario is loaded: from then on they are part of it.

Takes a document and the folder its file lies in, gives the document with the texts under `trace`.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rushhour.spec.beside import missing
from rushhour.spec.check.problem import Problem
from rushhour.spec.model import flatten
from rushhour.spec.sweep import TOGETHER
from rushhour.spec.trace import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.check import Path as KeyPath

_SUFFIXES = (".csv", ".txt", ".trace", ".down", ".up")


def attach_traces(document: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], list[Problem]]:
    """Give the document with every trace that it names, and a problem for each that cannot be read."""
    known = document.get("trace", {})
    texts = dict(known) if isinstance(known, dict) else {}
    found: list[Problem] = []
    for path, name in _named(document):
        if name in texts:
            continue
        text = _read(name, folder, path)
        if isinstance(text, Problem):
            found.append(text)
        else:
            texts[name] = text
    return dict(document) | ({"trace": texts} if texts and isinstance(known, dict) else {}), found


def _named(document: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """The traces that are named, with the path of the key that does."""
    patterns = document.get("pattern")
    for index, pattern in enumerate(patterns if isinstance(patterns, list) else ()):
        if isinstance(pattern, dict) and isinstance(pattern.get("trace"), str):
            yield ("pattern", index, "trace"), pattern["trace"]
    sweep = document.get("sweep")
    if not isinstance(sweep, dict):
        return
    coupled = sweep.get(TOGETHER)
    tables = [{key: value for key, value in sweep.items() if key != TOGETHER}]
    tables += [table for table in coupled if isinstance(table, dict)] if isinstance(coupled, list) else []
    for key, values in (item for table in tables for item in flatten(table).items()):
        if key.startswith("pattern.") and key.endswith(".trace") and isinstance(values, list):
            yield from ((("sweep", key), value) for value in values if isinstance(value, str))


def _read(name: str, folder: Path | None, path: KeyPath) -> str | Problem:
    parts = PurePosixPath(name).parts
    if not name.isprintable() or name.startswith("/") or ".." in parts:
        return _out(name, path)
    if folder is None:
        return Problem(path, f'there is no folder in which "{name}" could lie', "give its text in [trace]")
    file = _real(folder / name)
    if file is not None and not file.is_relative_to(folder.resolve()):
        # Faults quote their lines: a scenario of a stranger must not show what others keep.
        return _out(name, path)
    if file is None:
        return missing(path, name, folder, lambda one: one.endswith(_SUFFIXES))
    return _text(file, name, path)


def _out(name: str, path: KeyPath) -> Problem:
    return Problem(path, f'"{name}" leads out of the scenario\'s folder', "put the trace beside the scenario")


def _real(file: Path) -> Path | None:
    """The regular file at the end of all links; None where there is none, or none that can be looked at."""
    try:
        real = file.resolve(strict=True)
        return real if real.is_file() else None
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links in a circle, up to Python 3.12
        return None


def _text(file: Path, name: str, path: KeyPath) -> str | Problem:
    try:
        with file.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        return Problem(path, f'"{name}" cannot be read: {error.strerror}')
    except UnicodeDecodeError:
        return Problem(path, f'"{name}" is no text', "a trace is a text of lines")
    if len(raw) > LARGEST:
        return Problem(path, f'"{name}" is larger than 512 KiB', f"cut it: head -n 20000 {name} > short.txt")
    return text
