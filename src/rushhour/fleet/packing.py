"""Records on their way: a worker packs one, the controller checks it and puts it in its place, or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, RecordError
from rushhour.files import rooms
from rushhour.record.document import read
from rushhour.record.manifest import Manifest
from rushhour.record.seal import MANIFEST, RAW
from rushhour.record.sound import check_manifest
from rushhour.record.told import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import RawIOBase

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
        asked: The job as the worker was told it, and its kernel's `identity`.
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
    afar = {} if tables else {name: one for name, one in manifest.files.items() if name.startswith(RAW)}
    whole = sums.keys().isdisjoint(afar) and sums | afar == dict(manifest.files)
    if not whole or any(not _inside(name) for name in manifest.files):
        raise RecordError("the record that came is not as it was sealed")
    told = {**asked["labels"], "kernel": asked["identity"], "context": asked["context"], "key": asked["key"]}
    if not all(_equal(document.get(name), told.get(name)) for name in _ASKED) or not _equal(
        _object(files, "plan.json"), asked["plan"]
    ):
        raise RecordError("the record that came is of another run")
    # As `record.told`: what the machine did meanwhile is no result.
    result = _object(files, "result.json")
    told = {name: value for name, value in result.items() if name not in NAMES}
    raw = {name: digest for name, digest in manifest.files.items() if name.startswith(RAW)}
    return hashlib.sha256(_spelled([raw, told]).encode()).hexdigest(), manifest


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
        mask = rooms.umask()
        folder = Path(tempfile.mkdtemp(dir=room))
        place = f"{folder}/"
        # As system calls: one controller writes the files of all machines, and paths as objects cost as much.
        for inner in {name.rpartition("/")[0] for name in names} - {""}:
            os.mkdir(place + inner)  # noqa: PTH102 - as said
        for name, piece in zip(names, pieces, strict=True):
            mode = (0o666 if name == MANIFEST else 0o444) & ~mask
            handle = os.open(place + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(handle, "wb", buffering=0) as file:  # noqa: PTH123 - as said
                _write_all(file, piece)
                os.fchmod(handle, mode)
        folder.chmod(0o777 & ~mask)
    except OSError as error:
        raise unwritten(error, room) from error
    return folder


def _write_all(file: RawIOBase, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def unwritten(error: OSError, place: Path) -> LabError:
    """What is said of a record that cannot be written here."""
    return LabError(
        f"the run cannot be written: {error.strerror}",
        where=str(error.filename2 or error.filename or place),
        hint="check that the folder is writable and that there is space left",
    )


def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and len(parts) <= 2 and ".." not in parts and not name.startswith("/")


def _equal(found: object, asked: object) -> bool:
    # JSON knows no tuples: what was asked for may have them.
    return found == asked or _spelled(found) == _spelled(asked)


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
