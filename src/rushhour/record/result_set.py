"""Result sets: many runs in one folder.

Takes a folder with `runs/*`, gives their records one after the other, and their index.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rushhour.errors import RecordError
from rushhour.extras import need
from rushhour.record.json_file import read_set
from rushhour.record.record import Record
from rushhour.record.seal import MANIFEST, SET_FILE
from rushhour.record.set_file import SetFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    import pyarrow.dataset as pads

T = TypeVar("T")


def _nobody(_: str) -> None:
    """Nobody waits."""


class ResultSet:
    """Many runs: a folder with `runs/*`. Iterating opens and verifies one after the other, and keeps none."""

    def __init__(self, path: Path, chosen: frozenset[str] | None = None) -> None:
        self.path = path
        self.tell: Callable[[str], None] = _nobody
        """Is told which run is looked at, for people who wait."""
        self._chosen = chosen
        self._made: dict[Callable[[ResultSet], Any], Any] = {}

    def heard(self, tell: Callable[[str], None], head: str = "") -> ResultSet:
        """This set; who waits hears from it which run is looked at, behind a head."""
        self.tell = lambda text: tell(head + text)
        return self

    def once(self, function: Callable[[ResultSet], T]) -> T:
        """What `function(results)` gives, computed at the first call and then kept."""
        if function not in self._made:
            self._made[function] = function(self)
        made: T = self._made[function]
        return made

    @classmethod
    def open(cls, path: Path | str) -> ResultSet:
        """Open a result set, or the folder of one run as a set of one.

        Raises:
            RecordError: there are no runs in it.
        """
        results = cls(Path(path))
        if not results.folders():
            raise RecordError(
                "there are no records here" if os.path.lexists(path) else "there is no such folder",
                where=str(path),
                hint="give a folder that `rushhour run` wrote, or one run in it",
            )
        return results

    def folders(self) -> list[Path]:
        """The folders of the runs, sorted by name."""
        if (self.path / MANIFEST).is_file():
            return [self.path]
        runs = self.path / "runs"
        # As texts: of a large set paths as objects cost more than to look.
        try:
            names = sorted(os.listdir(runs))  # noqa: PTH208 - as said
        except OSError:
            return []
        chosen = names if self._chosen is None else [name for name in names if name in self._chosen]
        return [runs / name for name in chosen if os.path.exists(f"{runs}/{name}/{MANIFEST}")]  # noqa: PTH110 - as said

    def record(self, name: str) -> Record:
        """The run in the folder of this name, verified.

        Raises:
            RecordError: it cannot be read, or was changed.
        """
        return Record.verified(next(folder for folder in self.folders() if folder.name == name))

    @property
    def is_part(self) -> bool:
        """Whether it has only some of the runs that are in its folder."""
        return self._chosen is not None

    def whole(self) -> ResultSet:
        """All runs of its folder."""
        return ResultSet(self.path)

    def where(self, factors: Mapping[str, object]) -> ResultSet:
        """The runs whose cells have these levels of factors, by their names or the last parts of these.

        Raises:
            RecordError: no run has them, or a factor is of no run.
        """
        from rushhour.summary import part  # noqa: PLC0415 - its door leads here

        return ResultSet(self.path, part.chosen(self, factors))

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.folders())

    def __iter__(self) -> Iterator[Record]:
        """The runs, one at a time, each verified: a changed one is a `RecordError`."""
        folders = self.folders()
        for number, folder in enumerate(folders, 1):
            self.tell(f"looking through run {number} of {len(folders)}")
            yield Record.verified(folder)

    @property
    def name(self) -> str:
        """Of its scenario, else of its folder."""
        return self.about.scenario.name or self.path.name

    @cached_property
    def about(self) -> SetFile:
        """What `set.json` says of the set, whose keys are attributes, too; empty if there is none."""
        path = self.path / SET_FILE
        return read_set(path) if path.is_file() else SetFile()

    def index(self) -> pa.Table:
        """One row per run and metric (docs/record-format.md): `index.parquet`, or measured now.

        Raises:
            ExtraError: pyarrow is not installed.
        """
        need("frames")
        from rushhour.record import frames  # noqa: PLC0415 - pyarrow is slow to import and seldom needed

        return frames.index_of(self)

    def dataset(self) -> pads.Dataset:
        """The index as a `pyarrow.dataset.Dataset`: filtered and summed up without being read into memory.

        Raises:
            RecordError: the set has no index, or one of other records; `write_index` makes it.
            ExtraError: pyarrow is not installed.
        """
        need("frames")
        from rushhour.record import frames  # noqa: PLC0415 - pyarrow is slow to import and seldom needed

        return frames.dataset_of(self)

    def write_index(self) -> Path:
        """Measure every run and write the index, atomically: its file, or the folder of its files."""
        from rushhour.summary import index  # noqa: PLC0415 - of many that read records, few write one

        return index.write(self)


def all_heard(sets: Sequence[ResultSet], tell: Callable[[str], None]) -> None:
    """Who waits hears from each set which run is looked at; of several, by the set's name."""
    for one in sets:
        one.heard(tell, f"{one.name}: " if len(sets) > 1 else "")
