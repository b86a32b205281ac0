"""Records: everything kept of a run.

Takes the folder of a run, gives its tables, series and metrics. Reading changes nothing and trusts nothing: a
file that is damaged, foreign or newer is a `RecordError` that says which and why.
"""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rushhour.errors import RecordError
from rushhour.extras import need
from rushhour.metrics.value import MetricValue
from rushhour.record import brought, counts, decode, found, iperf3, output
from rushhour.record.arrived import complete
from rushhour.record.context import Context, Flow, read_context
from rushhour.record.document import read
from rushhour.record.json_file import AGAIN, read_json
from rushhour.record.manifest import Manifest
from rushhour.record.plan_file import PlanFile, PlanFlow, sampling_ns
from rushhour.record.result_file import ResultFile
from rushhour.record.seal import FORMAT, MANIFEST, METRICS, RecordWriter, seal
from rushhour.record.slim import again, place_of, read_slim
from rushhour.record.sound import Seal, check_manifest
from rushhour.record.tables import Table, came_about, chosen, grouped, read_table
from rushhour.series.series import Series, make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from rushhour.record.slim import Slim

T = TypeVar("T")
Curve = TypeVar("Curve", bound="tuple[NDArray[Any], ...]")

__all__ = ["MetricValue", "Record", "RecordWriter", "Series", "seal"]

# TC_H_ROOT and TC_H_INGRESS of <linux/pkt_sched.h>.
_ROOT, _INGRESS = 0xFFFFFFFF, 0xFFFFFFF1
# Sockets that carry no tcp_info: TIME_WAIT, LISTEN, NEW_SYN_RECV.
_NO_INFO = (6, 10, 12)
_HAS_INFO = ~np.isin(np.arange(256), _NO_INFO)
# By which readings of sockets are grouped; no table has a column of this name.
_SOCKET = "flow and side"
# Samples of series and curves that one record keeps beside its tables, 16 bytes each.
_KEPT = 1 << 22


def _found(record: Record) -> Mapping[int, PlanFlow]:
    return found.asked(record.result)


class Record:
    """One run, read-only. Make it with `Record.open`; its files are read when they are first asked for.

    What is read is checked against the manifest's checksums first, so no file that was changed, put in or
    taken away after the run is ever taken for the run's. A record that is still being made has none yet.

    `manifest` is the document that the record has of itself, whose keys are attributes, too.
    """

    def __init__(self, path: Path, manifest: Manifest, seal: Seal | None = None) -> None:
        self.path = path
        self.manifest = manifest
        self._seal = self._sealed() if seal is None else seal
        self._tables: dict[str, Table] = {}
        self._groups: dict[tuple[str, str], tuple[decode.Rows, Mapping[int, slice]]] = {}
        self._roots: dict[int, decode.Rows] = {}
        self._made: dict[Callable[[Record], Any], Any] = {}
        self._info: dict[tuple[int, int], tuple[NDArray[np.int64], decode.Rows]] = {}
        self._series: dict[tuple[str, int | str | None, int | str | None], Series] = {}
        self._curves: dict[tuple[Callable[[Record, Flow], Any], int], Any] = {}
        self._room = _KEPT

    @classmethod
    def open(cls, path: Path | str) -> Record:
        """Open the record in this folder.

        Raises:
            RecordError: there is none, it is of a newer format, or its manifest is damaged or was changed.
        """
        path = Path(path)
        if not (path / MANIFEST).is_file():
            raise RecordError(
                "this is not a record: it has no manifest.json",
                where=str(path),
                hint="give the folder of one run",
            )
        document = read_json(path / MANIFEST)
        found = document.get("format")
        if found != FORMAT:
            newer = isinstance(found, str) and found.startswith("rushhour-record/")
            raise RecordError(
                f"the record has the format {str(found)[:60]!r}; this program reads {FORMAT!r}",
                where=str(path / MANIFEST),
                hint="read it with the newer rushhour that wrote it"
                if newer
                else "it was not written by rushhour",
            )
        manifest = read(Manifest, document, str(path / MANIFEST), hint=AGAIN)
        check_manifest(path, manifest)
        return cls(path, manifest)

    @classmethod
    def being_made(cls, path: Path, manifest: Mapping[str, object]) -> Record:
        """The record that this folder will be: its files have no checksums yet, so none is checked."""
        whole = read(Manifest, {**manifest, "files": {}}, str(path / MANIFEST))
        return cls(path, whole, Seal(path, None))

    @classmethod
    def verified(cls, path: Path | str) -> Record:
        """Open the record in this folder, and check every file of it.

        Raises:
            RecordError: as of `open` and of `verify`.
        """
        record = cls.open(path)
        record.verify()
        return record

    def _sealed(self) -> Seal:
        thin = METRICS not in self.manifest.files and (self.path / METRICS).is_file()
        return Seal(self.path, self.manifest.files, self._fetched if thin else None)

    @cached_property
    def slim(self) -> Slim | None:
        """What a slim record has instead of its tables; None of a whole one.

        Raises:
            RecordError: it was changed, or is of another run.
        """
        return None if self._seal.fetched is None else read_slim(self.path, self.manifest)

    @property
    def is_whole(self) -> bool:
        """Whether its tables are in its folder."""
        return self._seal.fetched is None

    @property
    def has_tables(self) -> bool:
        """Whether its tables can be had: they are in its folder, or in a storage."""
        return self.slim is None or self.slim.storage is not None

    def _fetched(self, name: str) -> Path:
        """The place of a table of a slim record."""
        assert self.slim is not None
        return place_of(name, self.path, self.manifest, self.slim)

    @cached_property
    def plan(self) -> PlanFile:
        """The plan that the agent was given (docs/plan-format.md)."""
        path = self._seal.sound("plan.json")
        return read(PlanFile, read_json(path), str(path), hint=AGAIN)

    @cached_property
    def result(self) -> ResultFile:
        """What the agent reports (`result.json`)."""
        path = self._seal.sound("result.json")
        return read(ResultFile, read_json(path), str(path), hint=AGAIN)

    @cached_property
    def context(self) -> Context:
        """What the plan means and what became of each flow, typed."""
        return complete(self, read_context(self.manifest.context, self.plan, self.result, str(self.path)))

    @property
    def counts(self) -> Mapping[str, bytes] | None:
        """What its kernel executed: counters by object, as gcov reads them; None where it did not count."""
        return counts.read(self._seal.sound(counts.FILE)) if self.manifest.counts else None

    def asked(self, flow: Flow) -> PlanFlow:
        """A flow as the plan has it; of one that was found, as it would have it."""
        return self.once(_found).get(flow.id) or self.plan.flow(flow.id)

    @property
    def sample_ns(self) -> int:
        """The sampling interval of tcp_info, qdisc and interface readings."""
        return sampling_ns(self.plan, str(self.path / "plan.json"))

    @property
    def key(self) -> str:
        """The hash of all that determines the run."""
        return self.manifest.key

    @property
    def factors(self) -> Mapping[str, object]:
        """The factors of the cell: what this run has of what the sweep varies."""
        return self.manifest.cell.factors

    @property
    def valid(self) -> bool:
        """Whether calibration found the links as asked; the reasons are in the manifest."""
        return self.manifest.valid

    def verify(self) -> None:
        """Check every file against its checksum; one is read again only when it may have changed.

        Raises:
            RecordError: a file is missing, changed, or was added.
        """
        self._seal.verify()
        _ = self.slim

    @cached_property
    def _there(self) -> frozenset[str]:
        return self._seal.tables()

    def tables(self) -> list[str]:
        """The names of the raw tables there are, sorted."""
        return sorted(self._there)

    def has(self, name: str) -> bool:
        """Whether there is a raw table of this name."""
        return name in self._there

    def table(self, name: str, flow: int | str | None = None, end: int | str | None = None) -> decode.Rows:
        """The rows of a raw table as a structured array, of all, of one flow, or of one link end.

        Raises:
            RecordError: there is no such table, flow or end, or the table is damaged.
        """
        rows = self.raw(name).rows
        for column, which in (("flow", flow), ("end", end)):
            if which is None:
                continue
            if column not in (rows.dtype.names or ()):
                raise RecordError(f"the table {name!r} has no column {column!r}", where=str(self.path))
            if isinstance(which, str):
                which = self.context.flow(which).id if column == "flow" else self.context.end(which).end  # noqa: PLW2901 - name to number
            ordered, places = self._grouped(name, column)
            return ordered[places.get(which, slice(0, 0))]
        return rows

    def raw(self, name: str) -> Table:
        """The raw table itself, with its header's notes; of retransmissions those that failed are left out.

        Raises:
            RecordError: there is none of this name, or it is damaged.
        """
        if name not in self._tables:
            if not self.has(name):
                raise RecordError(
                    f"there is no table {name!r} in this record",
                    where=str(self.path),
                    hint="tables: " + (", ".join(self.tables()) or "none"),
                )
            path = self._seal.sound(f"raw/{name}.rh")
            table = read_table(path)
            if table.name != name:
                wrong = f"the file holds the table {table.name[:60]!r}"
                raise RecordError(wrong, where=str(path), hint=AGAIN)
            self._tables[name] = came_about(table)
        return self._tables[name]

    def output(self) -> tuple[output.Line, ...]:
        """What programs printed, in the order of time; nothing of a slim record, or where there were none."""
        there = self.is_whole and self.result.programs
        return output.read(self._seal.sound(f"raw/{output.FILE}")) if there else ()

    def iperf3(self, flow: int | str, side: iperf3.Side) -> iperf3.Iperf3Report:
        """What iperf3 reports of a flow it generated, as the sender (client) or the receiver (server) saw it.

        Raises:
            RecordError: there is no such report, or it makes no sense.
        """
        return iperf3.read(self._seal.sound(f"raw/iperf3-{self.context.flow(flow).id}-{side}.json"), side)

    def tcp_info(self, flow: int | str, side: int = 0) -> tuple[NDArray[np.int64], decode.Rows]:
        """`struct tcp_info` of a flow's sender (side 0) or receiver (1): stamps in ns [n], fields [n].

        Empty where the record has no such reading.
        """
        number = flow if isinstance(flow, int) else self.context.flow(flow).id
        if (number, side) not in self._info:
            if not self.has("tcp_info"):
                return np.zeros(0, np.int64), np.zeros(0, np.dtype([]))
            every = self.socket(number, side)
            rows = chosen(every, _HAS_INFO[every["state"]])
            self._info[number, side] = rows["t_ns"].astype(np.int64), decode.tcp_info(rows["info"])
        return self._info[number, side]

    def socket(self, flow: int | str, side: int) -> decode.Rows:
        """The rows of `tcp_info` of a flow's sender (side 0) or receiver (1), in whatever state it was.

        Raises:
            RecordError: there is no such table or flow, or the table is damaged.
        """
        number = flow if isinstance(flow, int) else self.context.flow(flow).id
        ordered, places = self._grouped("tcp_info", _SOCKET)
        return ordered[places.get(2 * number + side, slice(0, 0))]

    def root_qdisc(self, end: int | str) -> decode.Rows:
        """Readings of an end's root qdisc, children included; of a policer's clsact: arrivals, its drops."""
        place = self.context.end(end)
        if place.end not in self._roots:
            rows = self.table("qdisc", end=place.end)
            parent = _INGRESS if place.role == "police" else _ROOT
            self._roots[place.end] = chosen(rows, rows["parent"] == parent)
        return self._roots[place.end]

    def series(self, name: str, flow: int | str | None = None, end: int | str | None = None) -> Series:
        """A series of one flow, one link end or the run (`rushhour.series.series.SERIES`); empty if not read.

        Raises:
            RecordError: there is no such series, flow or end.
        """
        which = (name, flow, end)
        if which not in self._series:
            made = make(self, name, flow, end)
            if not self._keeps(len(made)):
                return made
            self._series[which] = made
        return self._series[which]

    def frame(self, name: str) -> pa.Table:
        """A table as Arrow, kernel structures taken apart into columns; `metrics` gives the metrics.

        From there `.to_pandas()`, or `polars.from_arrow(…)`.

        Raises:
            ExtraError: pyarrow is not installed.
        """
        need("frames")
        from rushhour.record import frames  # noqa: PLC0415 - pyarrow is slow to import and seldom needed

        if name == "metrics":
            return frames.metrics(self.metrics())
        return frames.table(self.raw(name), partial(brought.cc_info_of, self))

    def metrics(self) -> list[MetricValue]:
        """Every metric of the catalogue, at every scope it has in this run; of a slim record those it has.

        Raises:
            RecordError: what a slim record has was measured by a version with other metrics.
        """
        from rushhour.metrics import catalog  # noqa: PLC0415 - the catalogue reads records

        if self.slim is None:
            return catalog.measure(self)
        known = catalog.known(self.slim.metrics)
        if known is None:
            raise RecordError(
                "another version of this program measured this run, and its tables were not kept",
                where=str(self.path),
                hint=again(self.path, self.manifest),
            )
        return known

    def once(self, function: Callable[[Record], T]) -> T:
        """What `function(record)` gives, computed at the first call and then kept."""
        if function not in self._made:
            self._made[function] = function(self)
        made: T = self._made[function]
        return made

    def curve(self, function: Callable[[Record, Flow], Curve], flow: Flow) -> Curve:
        """The arrays [n] that `function(record, flow)` gives: kept, where they are short enough."""
        which = (function, flow.id)
        if which not in self._curves:
            made = function(self, flow)
            if not self._keeps(len(made[0])):
                return made
            self._curves[which] = made
        kept: Curve = self._curves[which]
        return kept

    def _keeps(self, samples: int) -> bool:
        """Whether there is room for so many more samples; very long ones are made again instead."""
        if samples > self._room:
            return False
        self._room -= samples
        return True

    def flows(self, *kinds: str) -> list[Flow]:
        """The flows of these kinds (all kinds, if none is named), in the order of the plan.

        Those of an arrival process are not among them: `arrivals` gives these.
        """
        every = self.context.flows.values()
        return [flow for flow in every if flow.arrival is None and (not kinds or flow.kind in kinds)]

    def arrivals(self) -> list[Flow]:
        """The flows of arrival processes, in the order of the plan; they are judged by their groups."""
        return [flow for flow in self.context.flows.values() if flow.arrival is not None]

    def _grouped(self, name: str, column: str) -> tuple[decode.Rows, Mapping[int, slice]]:
        # The table sorted by flow (or end), and where the rows of each are: one copy, not a scan per flow.
        if (name, column) not in self._groups:
            rows = self.raw(name).rows
            # A socket is a flow and its side.
            keys = rows["flow"].astype(np.int64) * 2 + rows["side"] if column == _SOCKET else rows[column]
            self._groups[name, column] = grouped(rows, keys)
        return self._groups[name, column]
