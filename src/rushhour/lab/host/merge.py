"""What several machines recorded of one experiment becomes one record.

Takes each machine's folder (`raw/*.rh`, its result document) and how its clock lies to the common one; gives
the tables and the result of the whole. Pure but for the files: nothing is contacted.

A machine's stamps count from its own start, on its own clock. `Alignment` brings them to the common start; it
is known to within `error_ns`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.record.tables import Table, read_table, write_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.record.decode import Rows
    from rushhour.record.plan_file import PlanFile, PlanFlow
    from rushhour.record.result_file import MachineResult, ResultFile

# Columns that are stamps of the machine that wrote the row; `rx_ns` of a ping that was never answered is -1.
_STAMPS = ("t_ns", "done_ns", "tx_ns", "rx_ns", "start_ns", "end_ns")
_NEVER = -1
_OF_SENDER = (
    "connected_ns", "sender_done_ns", "bytes_sent", "packets_sent", "zerocopy_sends", "zerocopy_copied",
    "zerocopy_refused", "sends_refused",
)  # fmt: skip
_OF_RECEIVER = ("receiver_done_ns", "bytes_received", "packets_received")
_WHERE_ASKED = ("reads", "corrupted_bytes", "first_corrupted")


@dataclass(frozen=True, slots=True)
class Alignment:
    """A machine's stamp t is `t + shift_ns + drift · t` on the common clock, to within `error_ns`."""

    shift_ns: int = 0
    drift: float = 0.0
    error_ns: int = 0

    def stamp(self, t_ns: int | None) -> int | None:
        """One stamp on the common clock."""
        return None if t_ns is None else t_ns + self.shift_ns + round(self.drift * t_ns)

    def stamps(self, t_ns: Any) -> Any:
        """Stamps [n] on the common clock; what never happened stays so."""
        moved = t_ns + self.shift_ns
        if self.drift:
            moved = moved + np.rint(self.drift * t_ns).astype(np.int64)
        return np.where(t_ns == _NEVER, t_ns, moved)

    @property
    def none(self) -> bool:
        """Whether this is the common clock itself."""
        return not (self.shift_ns or self.drift)


@dataclass(frozen=True)
class Half:
    """What one machine has of an experiment."""

    name: str
    folder: Path
    result: ResultFile
    alignment: Alignment = Alignment()


def merge_tables(plan: PlanFile, halves: Sequence[Half], raw: Path) -> list[str]:
    """Write the merged tables of all machines into `raw`, and return warnings.

    Raises:
        RecordError: a table is damaged, or cannot be written.
    """
    senders: dict[int, str] = {flow.id: flow.from_ for flow in plan.flows}
    names = sorted({path.stem for half in halves for path in half.folder.glob("*.rh")})
    warnings = []
    for name in names:
        parts = [(half, read_table(half.folder / f"{name}.rh")) for half in halves if _has(half, name)]
        aligned = [_aligned(table, half, halves, senders) for half, table in parts]
        rows, lost = _joined(aligned)
        notes = {key: value for _, table in reversed(parts) for key, value in table.notes.items()}
        write_table(raw / f"{name}.rh", name, rows, notes)
        if lost:
            whose = " and ".join(half.name for half, _ in parts)
            warnings.append(
                f"{name}: {', '.join(lost)} left out, the kernels of {whose} report them differently"
            )
    return warnings


def merge_results(plan: PlanFile, halves: Sequence[Half]) -> dict[str, object]:
    """The result document of the whole: of each flow what its sender and its receiver know."""
    by_name = {half.name: half for half in halves}
    machine = {half.name: _own(half) for half in halves}
    lost: dict[str, int] = {}
    for half in halves:
        for event, count in half.result.lost_events.items():
            lost[event] = lost.get(event, 0) + count
    whole = {
        "format": "rushhour-result/1",
        "ok": True,
        "error": None,
        "kernel": halves[0].result.kernel,
        "start_clock_ns": halves[0].result.start_clock_ns,
        "flows": [_flow(flow, by_name) for flow in plan.flows],
        "calibration": _calibration(halves),
        "counters": {node: own for half in halves for node, own in half.result.counters.items()},
        "lost_events": lost,
        "warnings": [f"{half.name}: {text}" for half in halves for text in half.result.warnings],
    }
    known = {name: own for name, own in machine.items() if own}
    loads = [load for half in halves for load in half.result.loads]
    return whole | ({"machine": known} if known else {}) | ({"loads": loads} if loads else {})


def _has(half: Half, name: str) -> bool:
    return (half.folder / f"{name}.rh").is_file()


def _aligned(table: Table, half: Half, halves: Sequence[Half], senders: Mapping[int, str]) -> Rows:
    """The rows on the common clock: a datagram's `tx_ns` was stamped by its sender, all else here."""
    if all(other.alignment.none for other in halves):
        return table.rows
    rows = table.rows.copy()
    for column in (name for name in _STAMPS if name in (rows.dtype.names or ())):
        if table.name == "udp" and column == "tx_ns":
            continue
        rows[column] = half.alignment.stamps(rows[column])
    if table.name == "udp":
        by_name = {other.name: other.alignment for other in halves}
        for flow in np.unique(rows["flow"]).tolist():
            mine = rows["flow"] == flow
            sender = by_name.get(senders.get(flow, ""), Alignment())
            rows["tx_ns"][mine] = sender.stamps(rows["tx_ns"][mine])
    return rows


def _joined(parts: Sequence[Rows]) -> tuple[Rows, list[str]]:
    """Rows of several machines in the order of time, and the columns that not all of them have alike."""
    if len(parts) == 1:
        return parts[0], []
    columns, lost = _common(parts)
    dtype = np.dtype(columns)
    joined = np.zeros(sum(map(len, parts)), dtype)
    at = 0
    for part in parts:
        for name, kind in columns:
            joined[name][at : at + len(part)] = _cut(part[name], np.dtype(kind))
        at += len(part)
    if "t_ns" in (dtype.names or ()):
        joined = joined[np.argsort(joined["t_ns"], kind="stable")]
    return joined, lost


def _common(parts: Sequence[Rows]) -> tuple[list[tuple[str, str]], list[str]]:
    """The columns that all parts have; of raw bytes the shortest, for a field that is missing is no zero."""
    columns, lost = [], []
    for name in dict.fromkeys(column for part in parts for column in part.dtype.names or ()):
        kinds = [part.dtype[name] for part in parts if name in (part.dtype.names or ())]
        if len(kinds) < len(parts) or len({kind.kind for kind in kinds}) > 1:
            lost.append(name)
        elif kinds[0].kind == "V":
            shortest = min(kind.itemsize for kind in kinds)
            columns.append((name, f"V{shortest}"))
            if shortest < max(kind.itemsize for kind in kinds):
                lost.append(f"the end of {name}")
        else:
            columns.append((name, max(kinds, key=lambda kind: kind.itemsize).str))
    return columns, lost


def _cut(values: Any, kind: np.dtype[Any]) -> Any:
    if kind.kind != "V" or values.dtype == kind:
        return values
    raw = np.ascontiguousarray(values).view("u1").reshape(len(values), -1)
    return np.ascontiguousarray(raw[:, : kind.itemsize]).view(kind).reshape(-1)


def _flow(planned: PlanFlow, halves: Mapping[str, Half]) -> dict[str, object]:
    sides = halves.get(planned.from_), halves.get(planned.to)
    known = [(half, entry) for half in sides if half for entry in half.result.flows if entry.id == planned.id]
    merged: dict[str, object] = {"id": planned.id}
    for keys, first in ((_OF_SENDER, known), (_OF_RECEIVER, known[::-1])):
        for key in keys:
            found = ((half, getattr(entry, key)) for half, entry in first)
            merged[key] = next((_told(half, key, value) for half, value in found if value is not None), None)
    for key in _WHERE_ASKED:
        told = [getattr(entry, key) for _, entry in known if getattr(entry, key) is not None]
        if told:
            merged[key] = told[-1]
    classes = next((dict(entry.classes) for _, entry in known[::-1] if entry.classes), None)
    if classes is not None:
        merged["classes"] = classes
    errors = dict.fromkeys(f"{half.name}: {entry.error}" for half, entry in known if entry.error)
    return merged | {"error": "; ".join(errors) or None}


def _told(half: Half, key: str, value: int) -> int | None:
    return half.alignment.stamp(value) if key.endswith("_ns") else value


def _calibration(halves: Sequence[Half]) -> dict[str, object]:
    parts = [half.result.calibration for half in halves]
    return {
        "pings": [one for part in parts for one in part.pings],
        "trains": [one for part in parts for one in part.trains],
        "qdiscs": [one for part in parts for one in part.qdiscs],
    }


def _own(half: Half) -> MachineResult | None:
    """What a machine says of itself, without the level of nodes that it has in a lab of one machine."""
    machine = half.result.machine
    return machine.get(half.name, machine.get(""))
