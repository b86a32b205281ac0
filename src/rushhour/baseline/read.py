"""One version of a baseline, read: what ran, what came out, what the raw tables' checksums are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.files.regular import checksum
from rushhour.record.baseline_file import BaselineFile
from rushhour.record.document import read
from rushhour.record.folders import BASELINE
from rushhour.record.json_file import read_json
from rushhour.record.record import Record
from rushhour.record.seal import raw_digests
from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.record.baseline_file import KeptRun, KeptScenario
    from rushhour.record.manifest import Kernel

FORMAT = "rushhour-baseline/1"
_AGAIN = "take it from a copy, or save it again from records"


@dataclass(frozen=True)
class Baseline:
    """A baseline. `about` is its `baseline.json`; make it with `find`."""

    path: Path
    about: BaselineFile
    runs: Sequence[KeptRun]

    @classmethod
    def open(cls, path: Path) -> Baseline:
        """Open the baseline in this folder.

        Raises:
            RecordError: there is none, it is of another format version, or it is damaged.
        """
        if not (path / BASELINE).is_file():
            raise RecordError(
                f"this is not a baseline: it has no {BASELINE}",
                where=str(path),
                hint="`rushhour baseline list` names what there is; `rushhour baseline save` makes one",
            )
        document = read_json(path / BASELINE, _AGAIN)
        found = document.get("format")
        if found != FORMAT:
            newer = isinstance(found, str) and found.startswith("rushhour-baseline/")
            raise RecordError(
                f"the baseline has the format {str(found)[:60]!r}; this program reads {FORMAT!r}",
                where=str(path / BASELINE),
                hint="read it with the rushhour that wrote it, or save it again from records"
                if newer
                else "it was not written by rushhour",
            )
        about = read(BaselineFile, document, str(path / BASELINE), hint=_AGAIN)
        _check(about.runs, path / BASELINE)
        return cls(path, about, about.runs)

    @property
    def name(self) -> str:
        """The name it was saved under, or its folder's."""
        return self.about.name

    @property
    def version(self) -> int:
        """The number of this version, counted from 1."""
        return self.about.version

    @property
    def slim(self) -> bool:
        """Whether it holds values and checksums only, no records."""
        return self.about.slim

    @property
    def kernel(self) -> Kernel:
        """The identity of the kernel that ran (docs/kernels.md)."""
        return self.about.kernel

    @property
    def scenarios(self) -> Sequence[KeptScenario]:
        """Its scenarios: name, title, sha256, quick, resolved, failures, skipped."""
        return self.about.scenarios

    @cached_property
    def _index(self) -> Mapping[str, Sequence[MetricValue]]:
        path = self.path / index.INDEX
        if not path.is_file():
            raise _damaged("is missing", path)
        try:
            found = checksum(path)
        except OSError as error:
            raise _damaged(f"cannot be read ({error.strerror})", path) from error
        if found != self.about.index_sha256:
            raise _damaged("was changed: its checksum differs", path)
        none: dict[str, Sequence[MetricValue]] = {run.folder: [] for run in self.runs}
        return none | index.values_of(index.read(path))

    def values(self) -> Mapping[str, Sequence[MetricValue]]:
        """The metric values of each run, by `KeptRun.folder`.

        Raises:
            RecordError: they are missing, or were changed.
        """
        return self._index

    def digests(self) -> Mapping[str, Mapping[str, str]]:
        """The SHA-256 of each raw table of each run, by `KeptRun.folder` and file name (`raw/…`)."""
        return {run.folder: run.raw for run in self.runs}

    def records(self) -> Iterator[Record]:
        """The records of the runs in their order; none of a slim baseline.

        Raises:
            RecordError: one is missing, or is not the run that was saved.
        """
        for run in () if self.slim else self.runs:
            folder = self.path / "runs" / run.folder
            if not folder.is_dir():
                raise _damaged("is missing", folder)
            record = Record.open(folder)
            if raw_digests(record.manifest.files) != dict(run.raw):
                raise _damaged("is not the run that was saved", folder)
            yield record


def _check(runs: Sequence[KeptRun], path: Path) -> None:
    """Refuse what no program of ours wrote, before it is believed."""
    if len({run.folder for run in runs}) != len(runs):
        raise _damaged("makes no sense: a run is there twice", path)
    for run in runs:
        if "/" in run.folder or run.folder in ("", ".", ".."):
            raise _damaged(f"makes no sense: a run has the folder {run.folder[:60]!r}", path)


def _damaged(what: str, path: Path) -> RecordError:
    return RecordError(f"the baseline is damaged: {path.name} {what}", where=str(path), hint=_AGAIN)
