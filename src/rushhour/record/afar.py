"""Records in a storage: packed by whoever made them, fetched when a table is asked for, and verified.

An archive is a `.tar.gz` of the record's folder, so `tar -xzf` gives the record to anybody. What is fetched
lies in the cache, by its checksums.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from typing import TYPE_CHECKING

from rushhour.errors import LabError, RecordError
from rushhour.files import cache, rooms, storage, worn
from rushhour.record.seal import raw_digests

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Tables shrink to a quarter by the quickest, and hardly further by others.
_LEVEL = 1
_LARGEST = 1 << 32


def archived(folder: Path) -> bytes:
    """A record as it lies in a storage; equal records give equal bytes."""
    whole = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=whole, mode="wb", compresslevel=_LEVEL, mtime=0, filename="") as shrunk,
        tarfile.open(fileobj=shrunk, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                about = tarfile.TarInfo(str(path.relative_to(folder)))
                about.size, about.mode = path.stat().st_size, 0o644
                with path.open("rb") as file:
                    tar.addfile(about, file)
    return whole.getvalue()


def fetched(url: str, name: str, files: Mapping[str, str]) -> Path:
    """A folder of the cache with the tables of a record, as they were sealed.

    Args:
        url: Of the storage; the user has to have named it.
        name: The archive's.
        files: The checksums of the record's files, by name.

    Raises:
        RecordError: the storage was never named, does not give them, or gives others.
    """
    wanted = raw_digests(files)
    told = "".join(f"{digest} {one}\n" for one, digest in wanted.items())
    place = cache.folder("fetched", hashlib.sha256(told.encode()).hexdigest())
    worn.use(place)
    if _is_there(place, wanted):
        return place
    if not storage.is_named(url):
        raise RecordError(
            f"the tables of this run are in {url}, from where this user never asked for anything",
            hint=f"if it is to be trusted: RUSHHOUR_STORE={url}, and the same command",
        )
    try:
        found = _unpacked(storage.get(url, name), wanted)
        _put(place, found)
    except LabError as error:
        raise RecordError(error.message, where=error.where, hint=error.hint) from error
    return place


def _unpacked(data: bytes, wanted: Mapping[str, str]) -> dict[str, bytes]:
    """The wanted files of an archive, each as it was sealed."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|gz") as tar:
            for about in tar:
                file = tar.extractfile(about) if about.name in wanted and about.size <= _LARGEST else None
                if file is not None:
                    found[about.name] = file.read()
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise RecordError(f"what the storage has of this run is damaged: {error}") from error
    for name, digest in wanted.items():
        if name not in found or hashlib.sha256(found[name]).hexdigest() != digest:
            raise RecordError(f"what the storage has of this run is not what was sealed: {name}")
    return found


def _put(place: Path, files: Mapping[str, bytes]) -> None:
    try:
        with rooms.room(place.parent) as room:
            new = room / "record"
            for name, content in files.items():
                path = new / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o444)
            rooms.take_place(new, place)
        worn.clear(place.parent)
    except OSError as error:
        raise LabError(
            f"what was fetched cannot be kept: {error.strerror}", where=str(place), hint=cache.HINT
        ) from error


def _is_there(place: Path, wanted: Mapping[str, str]) -> bool:
    from rushhour.files.sums import sum_of  # noqa: PLC0415 - only where something is read

    try:
        return all(sum_of(place / name) == digest for name, digest in wanted.items())
    except OSError:
        return False
