"""Folders that edits damage: a copy is made, edited, read, and removed."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.files.regular import checksum, read_regular
from rushhour.record.seal import sealed

if TYPE_CHECKING:
    from collections.abc import Iterator


def documents(folder: Path) -> dict[str, Any]:
    """The JSON documents of a folder, by their path in it."""
    return {
        str(path.relative_to(folder)): json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))
    }


def others(folder: Path) -> list[str]:
    """Its other files, and the documents as such."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@contextmanager
def edited(whole: Path, data: bytes) -> Iterator[Path | None]:
    """A damaged copy of a folder; None where the edits are none."""
    try:
        edits = json.loads(data)
    except (ValueError, RecursionError):
        edits = None
    if not isinstance(edits, list):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="rushhour-fuzz-") as place:
        folder = Path(place) / "damaged"
        shutil.copytree(whole, folder)
        for edit in edits:
            with suppress(LookupError, TypeError, ValueError, OSError, AttributeError, RecursionError):
                _apply(folder, edit)
        _seal_again(folder)
        yield folder


def _in_document(raw: bytes, act: str, place: list[Any], value: Any = None) -> bytes:
    document = json.loads(raw)
    table = document
    for part in place[:-1]:
        table = table[part]
    if act == "put":
        table[place[-1]] = value
    else:
        del table[place[-1]]
    return json.dumps(document).encode()


def _say(path: Path, table: str, column: str, value: Any) -> None:
    """Put a value into every row of a database's table."""
    # Also what the commit at the end meets: a file that was changed before need not be a database any more.
    with suppress(sqlite3.Error, OverflowError), closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(f'UPDATE "{table}" SET "{column}" = ?', [value])


def columns(path: Path) -> list[tuple[str, str]]:
    """Every column of a database, with its table."""
    with closing(sqlite3.connect(path)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [
            (table, row[1]) for table in tables for row in database.execute(f'PRAGMA table_info("{table}")')
        ]


def _seal_again(folder: Path) -> None:
    """Make the checksums those of the damaged files: who forges a record does it whole."""
    for path in (*folder.rglob("manifest.json"), *folder.rglob("set.json")):
        if path.is_symlink():  # what it leads to is not ours to write
            continue
        with suppress(ValueError, OSError, RecursionError, AttributeError, TypeError):
            document = json.loads(read_regular(path, 1 << 20))
            files = document.get("files")
            for name in files if isinstance(files, dict) else ():
                with suppress(OSError, ValueError):  # a file that cannot be read stays as it is said to be
                    files[name] = checksum(path.parent / name)
            path.unlink()
            path.write_text(json.dumps(sealed(document)))


def _apply(folder: Path, edit: Any) -> None:
    name, act, *rest = edit
    path = folder / name
    if ".." in path.parts or not path.is_relative_to(folder) or path.is_symlink():
        return
    if act == "link":
        path.unlink()
        path.symlink_to(str(rest[0]))
        return
    raw = path.read_bytes()
    match act:
        case "put" | "remove":
            raw = _in_document(raw, act, *rest)
        case "bytes":
            first = int(rest[0] * len(raw))
            new = bytes.fromhex(rest[1])
            raw = raw[:first] + new + raw[first + len(new) :]
        case "cut":
            raw = raw[: int(rest[0] * len(raw))]
        case "swap":
            raw = read_regular(folder / rest[0], 1 << 20)
        case "text":
            raw = str(rest[0]).encode("utf-8", "surrogatepass")
        case "sql":
            _say(path, *rest)
            return
    # The copy may share its files with the whole: never write into one.
    path.unlink()
    path.write_bytes(raw)
