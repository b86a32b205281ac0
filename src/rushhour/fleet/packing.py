"""Records on their way: a worker packs one, the controller checks it and puts it in its place, or nothing."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from itertools import count
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.found import completed
from rushhour.record.manifest import Manifest
from rushhour.record.result_file import ResultFile
from rushhour.record.seal import MANIFEST, raw_digests, unwritten
from rushhour.record.sound import check_manifest
from rushhour.record.told import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What of a manifest is the worker's own, and what only the labels of a job decide.
_ASKED = ("scenario", "cell", "repetition", "kernel", "context", "key")


def packed(folder: Path, *, tables: bool = True) -> tuple[list[str], list[bytes]]:
    """The files of a record: their names, and their content; of a slim one all but its tables."""
    files = sorted(path for path in (folder.rglob("*") if tables else folder.iterdir()) if path.is_file())
    return [str(path.relative_to(folder)) for path in files], [path.read_bytes() for path in files]


def checked(
    names: Sequence[str], pieces: Sequence[bytes], asked: Mapping[str, Any], *, tables: bool = True
) -> tuple[str, Manifest]:
    """A hash of what a record that came from a worker gave, equal wherever it is made; and its manifest.

    Args:
        names: Of its files.
        pieces: Their content.
        asked: The job as the worker was told it, its kernel's `identity`; `plan_text`, as the agent reads it.
        tables: Whether they are among the files; else their checksums stand in the manifest only.

    Raises:
        RecordError: it is not the run that was asked for, or not as it was sealed.
    """
    files = dict(zip(names, pieces, strict=True))
    try:
        document = json.loads(files.pop(MANIFEST))
    except (KeyError, ValueError) as error:
        raise RecordError("the record that came has no manifest") from error
    manifest = read(Manifest, document, MANIFEST)
    check_manifest(Path(), manifest)
    sums = {name: hashlib.sha256(piece).hexdigest() for name, piece in files.items()}
    raw = raw_digests(manifest.files)
    afar = {} if tables else raw
    whole = sums.keys().isdisjoint(afar) and sums | afar == dict(manifest.files)
    if not whole or any(not _inside(name) for name in manifest.files):
        raise RecordError("the record that came is not as it was sealed")
    context = asked["context"]
    if context.get("pairs"):
        answer = read(ResultFile, _object(files, "result.json"), "result.json")
        context = completed(read(ContextFile, context, "context"), answer)
    told = {**asked["labels"], "kernel": asked["identity"], "context": context, "key": asked["key"]}
    if not all(_equal(document.get(name), told.get(name)) for name in _ASKED) or not _planned(files, asked):
        raise RecordError("the record that came is of another run")
    # As `record.told`: what the machine did meanwhile is no result.
    result = _object(files, "result.json")
    told = {name: value for name, value in result.items() if name not in NAMES}
    return hashlib.sha256(_spelled([raw, told]).encode()).hexdigest(), manifest


def _planned(files: Mapping[str, bytes], asked: Mapping[str, Any]) -> bool:
    """Whether the plan that was carried out is the one that was asked for; mostly it is so to the byte."""
    text = asked.get("plan_text")
    if text is not None and files.get("plan.json") == f"{text}\n".encode():
        return True
    return _equal(_object(files, "plan.json"), asked["plan"])


def _object(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        found = json.loads(files[name])
    except (KeyError, ValueError) as error:
        raise RecordError(f"the record that came has no {name}") from error
    if not isinstance(found, dict):
        raise RecordError(f"the record that came has a {name} that is no object")
    return found


def put(names: Sequence[str], pieces: Sequence[bytes], room: Path) -> Path:
    """Write a record that was checked into a new folder in `room`.

    Raises:
        LabError: it cannot be written; the cause is the `OSError`.
    """
    try:
        # As system calls: one controller writes the files of all machines, and paths as objects cost as much.
        folder = f"{room}/{next(_numbers)}"  # the room is this process's alone
        for inner in ("", *({name.rpartition("/")[0] for name in names} - {""})):
            os.mkdir(f"{folder}/{inner}")  # noqa: PTH102 - as said
        for name, piece in zip(names, pieces, strict=True):
            _write(f"{folder}/{name}", piece, 0o666 if name == MANIFEST else 0o444)
    except OSError as error:
        raise unwritten(error, room) from error
    return Path(folder)


_numbers = count()
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def _write(place: str, piece: bytes, mode: int) -> None:
    handle = os.open(place, _NEW, mode)
    try:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


@lru_cache(1024)
def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and len(parts) <= 2 and ".." not in parts and not name.startswith("/")


def _equal(found: object, asked: object) -> bool:
    # JSON knows no tuples: what was asked for may have them.
    return found == asked or _spelled(found) == _spelled(asked)


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
