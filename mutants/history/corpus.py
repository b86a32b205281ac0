"""The corpus: of two releases every hunk, what the suite executes of it, a patch of each that can be judged.

hunks.csv     every hunk: where, which functions, how many cells execute them, and the lines themselves
hunks/        a patch each of those that compile alone and whose function a cell executes, with a header
              (mutants/patches.py) that a person wrote from the package's changelog and the change
"""

from __future__ import annotations

import csv
import tarfile
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from mutants import patches
from rushhour.coverage import index_file
from rushhour.coverage.index import cells_calling, cells_executing
from rushhour.errors import UsageError
from rushhour.lab.kernel import sources

from . import hunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mutants.patches import Mutant
    from rushhour.coverage.index import CellRef, Index

    from .hunks import Hunk

FOLDER = Path(__file__).parent
ALL = FOLDER / "hunks.csv"
JUDGED = FOLDER / "hunks"
OLD, NEW = "debian:6.12@6.12.107-1~deb12u1", "debian:6.12"
INDEX = FOLDER.parent.parent / "src" / "rushhour" / "coverage" / "suite.json.xz"


@dataclass(frozen=True)
class Row:
    """A hunk in the list. `function_cells` and `line_cells` are empty where the file is not covered."""

    file: str
    line: int
    functions: str
    function_cells: int | None
    line_cells: int | None
    patch: str = ""

    @property
    def executed(self) -> bool:
        """Whether a cell executes a function of it."""
        return bool(self.function_cells)


def name_of(hunk: Hunk, functions: list[str]) -> str:
    """What the patch of a hunk is called."""
    return "-".join([Path(hunk.file).stem, *functions[:1], str(hunk.lines[0])])


def releases(room: Path) -> tuple[Path, Path]:
    """The network stack of both releases, unpacked into a folder."""
    return unpack(OLD, room / "old"), unpack(NEW, room / "new")


def unpack(source: str, target: Path, folders: tuple[str, ...] = hunks.FOLDERS) -> Path:
    """Folders of a Debian source, the network stack if no others are asked for.

    Raises:
        UsageError: it is no archive.
    """
    archive = sources.resolve(source, lambda _: None).archive
    if archive is None:
        raise UsageError("this source is no archive", where=source)
    with tarfile.open(archive) as packed:
        for entry in packed:
            _, _, name = entry.name.partition("/")
            if entry.isfile() and name.startswith(folders):
                path = target / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed.extractfile(entry).read())  # type: ignore[union-attr]  # a file
    return target


def rows(old: Path, new: Path, index: Index | None = None) -> Iterator[tuple[Hunk, Row]]:
    """Every hunk that changes what is compiled, with what the suite executes of it."""
    index = index or index_file.read(INDEX)
    known = {path.stem for path in JUDGED.glob("*.patch")}
    for hunk in hunks.between(old, new):
        if hunk.comments_only:
            continue
        functions, calling, executing = reach(hunk, index)
        name = name_of(hunk, functions)
        covered = hunk.file in index.files
        yield hunk, Row(
            hunk.file, hunk.lines[0], " ".join(functions),
            len(calling) if covered else None,
            len(executing) if covered else None,
            name if name in known else "",
        )  # fmt: skip


def reach(hunk: Hunk, index: Index) -> tuple[list[str], list[CellRef], list[CellRef]]:
    """The functions that a hunk changes, the cells that execute them, and those that execute its lines."""
    if hunk.file not in index.files:
        return [], [], []
    found = index.files[hunk.file].functions
    names = [one.name for one in found if any(one.first <= line <= one.last for line in hunk.lines)]
    return names, cells_calling(index, hunk.file, names), cells_executing(index, hunk.file, hunk.lines)


def write(found: list[Row], path: Path = ALL) -> None:
    """Put the list into its file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Row))
        writer.writerows(["" if value is None else value for value in astuple(row)] for row in found)


def read(path: Path = ALL) -> list[Row]:
    """The list as it was written last."""
    with path.open(newline="") as file:
        return [
            Row(
                row["file"], int(row["line"]), row["functions"],
                _number(row["function_cells"]), _number(row["line_cells"]), row["patch"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


def _number(text: str) -> int | None:
    return int(text) if text else None


def load() -> list[Mutant]:
    """The hunks that are judged, by name."""
    return [patches.read(path, "faults") for path in sorted(JUDGED.glob("*.patch"))]
