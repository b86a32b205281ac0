"""Is a record what it was when it was sealed? Its files against its manifest, that against its own sum.

Takes the folder of a run and its manifest, gives paths of files that are as they were, or a `RecordError`.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.record.seal import MANIFEST, METRICS, RAW, SEALED, manifest_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_TABLE = re.compile(r"raw/([A-Za-z0-9_]{1,64})\.rh")
_HINT = "do not trust it; run the cell again with --fresh"


@dataclass(frozen=True)
class Seal:
    """The checksums of a record's files by name; None while it is being made.

    Of a slim record (`rushhour.record.slim`) `fetched` gives the place of a table that is not in its folder.
    """

    folder: Path
    files: Mapping[str, str] | None
    fetched: Callable[[str], Path] | None = None

    def tables(self) -> frozenset[str]:
        """The names of the raw tables that the run has.

        Raises:
            RecordError: a table was put in after the run.
        """
        there = {f"raw/{path.name}" for path in (self.folder / "raw").glob("*.rh")}
        if self.files is not None:
            self._refuse_others(there)
            there = set(self.files)
        return frozenset(found[1] for name in there if (found := _TABLE.fullmatch(name)))

    def sound(self, name: str) -> Path:
        """The path of a file of the record, which is as it was when the run ended.

        Raises:
            RecordError: it is missing, was changed, or was put in afterwards.
        """
        path = self.folder / name
        if self.files is None:
            return path
        if name not in self.files:
            raise _damaged("was added after the run" if path.exists() else "is missing", path)
        if self.fetched is not None and name.startswith(RAW):
            return self.fetched(name)
        self._check(name, self.files[name])
        return path

    def verify(self) -> None:
        """Check every file.

        Raises:
            RecordError: one is missing, was changed, or was added.
        """
        for name, expected in (self.files or {}).items():
            if self.fetched is None or not name.startswith(RAW):
                self._check(name, expected)
        self._refuse_others(set(_below(str(self.folder))))

    def _check(self, name: str, expected: str) -> None:
        from rushhour.files.sums import sum_of  # noqa: PLC0415 - only where something is read

        parts = name.split("/")
        if name.startswith("/") or ".." in parts or {*parts} <= {"", "."}:
            raise RecordError(
                f"the manifest names a file outside the record: {name!r}", where=str(self.folder)
            )
        # As a text: of a large set very many files are checked, and paths as objects cost as much as that.
        path = f"{self.folder}/{name}"
        try:
            found = sum_of(path)
        except FileNotFoundError as error:
            raise _damaged("is missing", Path(path)) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise _damaged(f"cannot be read ({reason})", Path(path)) from error
        if found != expected:
            raise _damaged("was changed after the run: its checksum differs", Path(path))

    def _refuse_others(self, there: set[str]) -> None:
        known = {MANIFEST, *(self.files or {})}
        if self.fetched is not None:
            known = {METRICS, *(name for name in known if not name.startswith(RAW))}
        for name in sorted(there - known):
            raise _damaged("was added after the run", self.folder / name)


def check_manifest(folder: Path, manifest: Mapping[str, object]) -> None:
    """Check a manifest against its own checksum; those of earlier versions have none.

    Raises:
        RecordError: it was changed.
    """
    if not _fits(manifest):
        raise _damaged("was changed after the run: it does not fit its own checksum", folder / MANIFEST)


def check_slim(path: Path, about: Mapping[str, object], *, fits: bool) -> None:
    """Check what a `metrics.json` says against its own checksum; `fits`: it is of the run beside it.

    Raises:
        RecordError: it was changed, or is of another run.
    """
    if SEALED not in about or not _fits(about):
        raise _damaged("was changed after the run: it does not fit its own checksum", path)
    if not fits:
        raise _damaged("is of another run", path)


def check_set(path: Path, about: Mapping[str, object]) -> None:
    """Check what a `set.json` says against its own checksum; those of earlier versions have none.

    Raises:
        RecordError: it was changed.
    """
    if not _fits(about):
        raise RecordError(
            "set.json was changed after the runs: its checksum does not match",
            where=str(path),
            hint="do not trust it; take the folder from a copy, or run again into another with --out",
        )


def _fits(document: Mapping[str, object]) -> bool:
    try:
        return SEALED not in document or document[SEALED] == manifest_sum(document)
    except RecursionError:
        return False


def _below(folder: str) -> Iterator[str]:
    """The names of all that is in a folder and those in it, but for these themselves."""
    inner = [""]
    while inner:
        place = inner.pop()
        with suppress(OSError), os.scandir(f"{folder}/{place}") as entries:
            for entry in entries:
                # A link to a folder is no folder of the record.
                if entry.is_dir(follow_symlinks=False):
                    inner.append(f"{place}{entry.name}/")
                else:
                    yield f"{place}{entry.name}"


def _damaged(what: str, path: Path) -> RecordError:
    return RecordError(f"a file of the record {what}", where=str(path), hint=_HINT)
