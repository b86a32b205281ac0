"""Kernels that count what they execute: how they are compiled, and what is kept to read their counts.

Only the network stack and its devices count (`FOLDERS`); the rest of the kernel is as it always is. No option
is switched on and no file of the kernel is changed: make has a variable for flags of all that is built in
(`CFLAGS_KERNEL`), whose value may depend on the object.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.coverage import FOLDERS, HEADERS
from rushhour.errors import BuildError
from rushhour.lab.kernel import process

if TYPE_CHECKING:
    from collections.abc import Iterator

COVERAGE = "coverage"
"""The word that asks for it: `kernel build SOURCE --with coverage`."""
NOTES = "coverage.zip"
"""In the kernel's folder: the compiler's notes (`.gcno`) and the text of the covered files."""
_OBJECT, _SOURCE = "coverage.o", "dump.c"
_LEAST_COMPILER = 12
# Functions are counted as they are written, not as they are inlined: else a function that is executed inside
# of another would be none. Counting is a plain addition, for there is one processor; and the counters' names
# shall be the same wherever the kernel is built.
_COUNTING = (
    "-fprofile-arcs", "-ftest-coverage", "-fprofile-update=single", "-fno-early-inlining",
    "-fprofile-info-section=rushhour_coverage", "-fprofile-dir=.", "-frandom-seed=$@",
)  # fmt: skip
_PATTERNS = " ".join(f"{folder}/%.o" for folder in FOLDERS)
_DATE = (2026, 1, 1, 0, 0, 0)


def source() -> str:
    """The text of the functions that write the counts."""
    return resources.files(__package__).joinpath(_SOURCE).read_text(encoding="utf-8")


@cache
def sha256() -> str:
    """Hash of what of ours decides a counting kernel."""
    return hashlib.sha256(f"{source()}{_COUNTING}{FOLDERS}{HEADERS}".encode()).hexdigest()


def flags(tree: Path, place: Path) -> str:
    """What make has to be told so that the covered objects count."""
    places = f"-fprofile-prefix-path={place} -fprofile-prefix-map={tree}/="
    return f"CFLAGS_KERNEL=$(if $(filter {_PATTERNS},$@),{' '.join(_COUNTING)} {places})"


def require() -> None:
    """Refuse a compiler whose counters cannot be had.

    Raises:
        BuildError: this one's, with the version whose can.
    """
    said = process.answer(["gcc", "-dumpfullversion"], default="")
    number = re.match(r"\d+", said)
    if number is None or int(number[0]) < _LEAST_COMPILER:
        raise BuildError(
            f"counting needs gcc {_LEAST_COMPILER} or newer, and this is {said.strip() or 'unknown'}",
            hint="install a newer gcc, or build without --with coverage",
        )


def build(place: Path, log: Path, how: tuple[str, ...]) -> str:
    """Compile what writes the counts, in the build directory; gives the object's name.

    Args:
        place: the build directory.
        log: file that gets the compiler's words.
        how: the compiler's flags.

    Raises:
        BuildError: this compiler cannot, with the version that can.
    """
    require()
    (place / _SOURCE).write_text(source(), encoding="utf-8")
    process.run(["gcc", *how, "-c", _SOURCE, "-o", "dump.o"], what="compile", cwd=place, log=log)
    library = process.answer(["gcc", "-print-file-name=libgcov.a"]).strip()
    process.run(["ld", "-r", "-o", _OBJECT, "dump.o", library], what="link", cwd=place, log=log)
    return _OBJECT


def kept(tree: Path, place: Path) -> Path:
    """Pack the notes of what was compiled, and the covered files' text, in the build directory."""
    packed = place / NOTES
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in (*_notes(place), *_texts(tree, place)):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return packed


def _notes(place: Path) -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in sorted((place / folder).rglob("*.gcno")):
            if path.with_suffix(".o").exists():
                yield str(path.relative_to(place)), path


def _texts(tree: Path, place: Path) -> Iterator[tuple[str, Path]]:
    """The files of the folders in which anything was compiled, and the headers that all use."""
    folders = {tree / Path(name).parent for name, _ in _notes(place)}
    beside = {path for folder in folders for path in folder.glob("*.[ch]")}
    for path in sorted(beside.union((tree / HEADERS).rglob("*.h"))):
        yield str(path.relative_to(tree)), path
