"""Archives of tar, compressed or not, as a tree of names. Nothing of them is unpacked."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import tarfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from rushhour.errors import LabError
from rushhour.lab import loading, packages
from rushhour.lab.root.tree import MOST_BYTES, Data, Entry, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ZSTD = b"\x28\xb5\x2f\xfd"
# How compressed files begin, and what reads them.
_OPEN: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
}
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 20
_LATEST = 8**11 - 1  # what the field has room for
_HIDES, _HIDES_ALL = ".wh.", ".wh..wh..opq"
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, tarfile.TarError, ValueError)


def plain(data: Data, room: Path, where: str) -> Data:
    """An archive without its compression, in a new file in `room`; the same where it has none.

    Raises:
        LabError: it is damaged, cut off, too large, or needs a program that is not installed.
    """
    with data.file.open("rb") as file:
        file.seek(data.offset)
        begin = file.read(8)
    opened = next((opened for magic, opened in _OPEN.items() if begin.startswith(magic)), None)
    if opened is None and not begin.startswith(_ZSTD):
        return data
    target = room / f"plain-{len([*room.iterdir()])}"
    try:
        with sliced(data, room) as source, target.open("xb") as file:
            if opened is None:
                _unzstd(source, file, where)
            else:
                with opened(source) as content:
                    _pour(content, file, where)
    except _DAMAGED as error:
        raise _damaged(where, error) from error
    return Data(target, 0, target.stat().st_size)


def _pour(content: IO[bytes], file: IO[bytes], where: str) -> None:
    written = 0
    while piece := content.read(_PIECE):
        written += len(piece)
        if written > MOST_BYTES:
            raise LabError(f"it unpacks to more than {MOST_BYTES >> 30} GiB", where=where)
        file.write(piece)


def _unzstd(source: IO[bytes], file: IO[bytes], where: str) -> None:
    program = loading.where("zstd")
    if program is None:
        raise LabError(
            "it is compressed by zstd, which is not installed",
            where=where,
            hint=packages.advice("zstd"),
            machine=True,
        )
    with subprocess.Popen(
        [program, "-dcq"], stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        try:
            _pour(child.stdout, file, where)
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        raise _damaged(where, "zstd cannot read it to its end")


@contextmanager
def sliced(data: Data, room: Path) -> Iterator[IO[bytes]]:
    """A file that has these bytes and no others; `room` is for those that lie in a larger file."""
    if data.offset == 0 and data.file.stat().st_size == data.size:
        with data.file.open("rb") as file:
            yield file
        return
    copy = room / f"slice-{len([*room.iterdir()])}"
    with data.file.open("rb") as file, copy.open("x+b") as part:
        file.seek(data.offset)
        left = data.size
        while left and (piece := file.read(min(left, _PIECE))):
            part.write(piece)
            left -= len(piece)
        part.seek(0)
        yield part
    copy.unlink()


def members(data: Data, where: str) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """The members of an archive without compression.

    Raises:
        LabError: it is none, or is cut off.
    """
    end = data.offset + data.size
    begun = False
    try:
        with data.file.open("rb") as file:
            file.seek(data.offset)
            with tarfile.open(fileobj=file, mode="r:", errors="surrogateescape") as archive:
                begun = True
                for member in archive:
                    if member.isreg() and not member.issparse() and member.offset_data + member.size > end:
                        raise _damaged(where, f"it ends within {member.name}")
                    yield member, archive
                file.seek(archive.offset)
                if not file.read(_BLOCK).startswith(b"\0" * _BLOCK):
                    raise _damaged(where, "the mark of its end lacks")
    except _DAMAGED as error:
        if not begun:
            raise LabError(
                "is neither a folder nor an archive of tar",
                where=where,
                hint="root takes a folder, an archive (.tar, .tar.gz, .tar.xz, .tar.zst) or a saved image",
            ) from error
        raise _damaged(where, error) from error


def add(tree: Tree, data: Data, room: Path, *, layer: bool = False) -> None:
    """Put what an archive holds into the tree, over what is there. Devices, pipes and sockets are left out.

    With `layer` a name that begins with `.wh.` removes what layers below it brought, as images have it.

    Raises:
        LabError: it is no archive, cut off, or a name in it leads out of the root.
    """
    if layer:
        _hide(tree, data)
    for member, archive in members(data, tree.where):
        name = member.name
        last = name.rpartition("/")[2]
        if layer and last.startswith(_HIDES):
            continue
        entry = _entry(tree, member, archive, data, room)
        if entry is not None:
            tree.put(name, entry)


def _entry(
    tree: Tree, member: tarfile.TarInfo, archive: tarfile.TarFile, data: Data, room: Path
) -> Entry | None:
    time = _time(member)
    if member.isdir():
        return Entry(time=time)
    if member.issym():
        return Entry(target=member.linkname or ".", time=time)
    if member.islnk():
        linked = tree.entries.get(tree.place(member.linkname))
        if linked is None or linked.is_folder:
            raise LabError(
                f"{member.name} is linked to {member.linkname}, which it has not", where=tree.where
            )
        return linked
    if not member.isreg():
        return None
    place = Data(data.file, member.offset_data, member.size)
    if member.issparse():
        place = _dense(member, archive, room, tree.where)
    return Entry(data=place, runs=bool(member.mode & 0o111), time=time)


def _time(member: tarfile.TarInfo) -> int:
    try:
        return min(max(0, int(member.mtime)), _LATEST)
    except (ValueError, OverflowError):  # it is no number
        return 0


def _dense(member: tarfile.TarInfo, archive: tarfile.TarFile, room: Path, where: str) -> Data:
    """A file with holes, written whole."""
    if member.size > MOST_BYTES:
        raise LabError(f"{member.name} is larger than {MOST_BYTES >> 30} GiB", where=where)
    target = room / f"dense-{len([*room.iterdir()])}"
    content = archive.extractfile(member)
    assert content is not None
    with target.open("xb") as file:
        _pour(content, file, where)
    return Data(target, 0, target.stat().st_size)


def _hide(tree: Tree, data: Data) -> None:
    """Remove from the tree what a layer says that it hides."""
    for member, _ in members(data, tree.where):
        folder, _, last = member.name.strip("/").rpartition("/")
        if last == _HIDES_ALL:
            tree.remove(tree.place(f"{folder}/x").rpartition("/")[0], inside=True)
        elif last.startswith(_HIDES):
            tree.remove(tree.place(f"{folder}/{last.removeprefix(_HIDES)}"))


def _damaged(where: str, why: object) -> LabError:
    return LabError(f"the archive is damaged or cut off: {why}", where=where, hint="fetch or pack it again")
