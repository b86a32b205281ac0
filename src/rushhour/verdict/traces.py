"""What of a record's raw tables is compared, and what kind of thing each column is.

Ports, cookies, marks and addresses identify and do not count; sequence numbers count from the first
unacknowledged byte of their flow, because every kernel draws its own. A column that only one of two kernels
has is not compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.quantities.words import plural
from rushhour.record import brought, decode
from rushhour.verdict.alignment import ACKS, PACKET_NS, UNKNOWN, WAITED, Trace
from rushhour.verdict.flowlog import origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from rushhour.record.record import Record
    from rushhour.verdict.alignment import Kind, Numbers

    Columns = Mapping[str, NDArray[np.generic]]

# The samples of tcp_info that are settings or results of decisions, not readings of a moment: what changes
# with every packet would differ by the luck of an instant.
_INFO_STATE = (
    *("state", "ca_state", "backoff", "options", "snd_mss", "rcv_mss", "pmtu", "advmss", "snd_ssthresh"),
    *("snd_cwnd", "reordering", "total_retrans", "dsack_dups", "reord_seen", "total_rto"),
)
_INFO_WINDOW = ("wscale", "rcv_ssthresh")
_CC_STATE = ("bbr_pacing_gain", "bbr_cwnd_gain", "dctcp_alpha", "dctcp_enabled")
_STAMP_BITS, _STAMP_ZERO = 44, 1 << 42
# The agent begins these tables with their first row: without one, nothing of the kind happened.
_RARE = ("inet_sk_error_report",)


def traces(base: Record, candidate: Record) -> Iterable[tuple[str, Trace, Trace]]:
    """The tables that both records have, each with its two traces, fine before coarse."""
    sides = (base, candidate)
    numbered = all(record.has("tcp_probe") for record in sides)
    for table, make in _TABLES.items():
        there = [record for record in sides if record.has(table)]
        if not there or _lacking(base, candidate, table):
            continue
        made = [make(record, table) for record in there]
        if numbered and made[0].decides:
            made = [_numbered(record, table, one) for record, one in zip(there, made, strict=True)]
        if len(made) == 1:
            made.insert(int(base.has(table)), _empty(made[0]))
        yield table, made[0], made[1]


def missing(base: Record, candidate: Record) -> list[str]:
    """What could not be compared, in words: tables that one side lacks, that are torn, or lost events."""
    notes = []
    for table in _TABLES:
        if lacking := _lacking(base, candidate, table):
            notes.append(f"{table} was not compared: {lacking} has no such table")
            continue
        for name, record in (("base", base), ("candidate", candidate)):
            if record.has(table) and record.raw(table).torn:
                notes.append(f"{table} of {name} is cut off: compared up to there")
            lost = record.result.lost_events.get(table, 0)
            if lost:
                notes.append(
                    f"{table} of {name} lost {plural(lost, 'event')}: what is paired after may be shifted"
                )
    return notes


def codes(table: str, rows: decode.Rows) -> Numbers:
    """What stream each row is of [n]: the flow; of samples flow and side, or link end and qdisc."""
    stream: Numbers = rows["end" if table == "qdisc" else "flow"].astype(np.int64)
    if table == "qdisc":
        stream = (stream << 32) | rows["handle"]
    return (stream << 1) | rows["side"] if table == "tcp_info" else stream


def acks_before(record: Record, rows: decode.Rows) -> tuple[Numbers, Numbers]:
    """For each event how many ACKs of its flow came before it, and how long ago the last of them, in ns.

    The ACKs number the events, so that a shift in time is told from another order. `UNKNOWN` where the
    trace of ACKs is cut off.
    """
    probe = record.raw("tcp_probe").rows
    keys = np.sort(_dated(probe["flow"], probe["t_ns"]))
    flows = rows["flow"].astype(np.int64)
    after = np.searchsorted(keys, _dated(rows["flow"], rows["t_ns"]), "right")
    first, last = (np.searchsorted(keys, (flows + step) << _STAMP_BITS, "left") for step in (0, 1))
    before = np.maximum(after - 1, 0)
    stamps = (keys[before] & ((1 << _STAMP_BITS) - 1)) - _STAMP_ZERO if len(keys) else np.zeros(len(rows))
    t_ns = rows["t_ns"].astype(np.int64)
    waited = np.where(after > first, t_ns - stamps, t_ns).astype(np.int64)
    cut = (after == last) & (last > first) & record.raw("tcp_probe").torn
    return np.where(cut, UNKNOWN, after - first), waited


def _dated(flow: NDArray[np.generic], t_ns: NDArray[Any]) -> Numbers:
    return (flow.astype(np.int64) << _STAMP_BITS) + t_ns.astype(np.int64) + _STAMP_ZERO


def _whole(record: Record, table: str) -> bool:
    return not record.raw(table).torn


def _lacking(base: Record, candidate: Record, table: str) -> str | None:
    """The side that has no such table though the other has; None where that means that nothing happened."""
    if base.has(table) == candidate.has(table):
        return None
    if base.has(table):
        return None if _without(candidate, table, base) else "candidate"
    return None if _without(base, table, candidate) else "base"


def _without(record: Record, table: str, other: Record) -> bool:
    """Whether a record has no such table because nothing of the kind happened, as it did in the other."""
    asked = table in _RARE and record.has("tcp_retransmit_skb")
    # Another agent may not have known the event, and a kernel may lack it.
    lacking = any(f":{table}:" in warning for warning in record.result.warnings)
    return asked and not lacking and record.manifest.agent == other.manifest.agent


def _empty(trace: Trace) -> Trace:
    columns = {
        kind: {name: values[:0] for name, values in one.items()} for kind, one in trace.columns.items()
    }
    return replace(trace, codes=trace.codes[:0], t_ns=trace.t_ns[:0], columns=columns, final=True)


def _picked(rows: decode.Rows, names: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    return {name: rows[name] for name in names if name in (rows.dtype.names or ())}


def _probe(record: Record, table: str) -> Trace:
    rows = record.raw(table).rows
    streams = codes(table, rows)
    origin = origins(rows, streams)
    columns: dict[Kind, Columns] = {
        "state": {
            **_picked(rows, ("snd_cwnd", "ssthresh")),
            "snd_una": rows["snd_una"].astype(np.uint32) - origin,
        },
        "window": _picked(rows, ("snd_wnd", "rcv_wnd")),
        "sent": {"snd_nxt": rows["snd_nxt"].astype(np.uint32) - origin, **_picked(rows, ("data_len",))},
        "time": _picked(rows, ("t_ns", "srtt")),
    }
    return Trace(streams, rows["t_ns"].astype(np.int64), columns, late=True, final=_whole(record, table))


def _event_rows(record: Record, table: str) -> decode.Rows:
    """The events that count: errors of connections that the end of the experiment takes down do not."""
    rows = record.raw(table).rows
    return rows[: np.searchsorted(rows["t_ns"], record.context.end_ns, "left")] if table in _RARE else rows


def _event(record: Record, table: str) -> Trace:
    rows = _event_rows(record, table)
    t_ns = rows["t_ns"].astype(np.int64)
    state = _picked(rows, ("cong_state", "state", "err", "error"))
    columns: dict[Kind, Columns] = {"state": {**state, WAITED: t_ns}, "time": {"t_ns": t_ns}}
    return Trace(codes(table, rows), t_ns, columns, final=_whole(record, table), decides=True)


def _numbered(record: Record, table: str, trace: Trace) -> Trace:
    """The events numbered by the ACKs of their flow."""
    acks, waited = acks_before(record, _event_rows(record, table))
    state = {**trace.columns["state"], ACKS: acks, WAITED: waited}
    return replace(trace, columns={**trace.columns, "state": state})


def _packets(stamp: str, state: tuple[str, ...], *times: str) -> Callable[[Record, str], Trace]:
    def made(record: Record, table: str) -> Trace:
        rows = record.raw(table).rows
        columns: dict[Kind, Columns] = {"state": _picked(rows, state), "time": _picked(rows, times)}
        if table == "ping":
            columns = {**columns, "state": {**columns["state"], "answered": rows["rx_ns"] >= 0}}
        t_ns = rows[stamp].astype(np.int64)
        return Trace(codes(table, rows), t_ns, columns, final=_whole(record, table), jump_ns=PACKET_NS)

    return made


def _info(record: Record, table: str) -> Trace:
    rows = record.raw(table).rows
    info = decode.tcp_info(rows["info"])
    state = {**_picked(info, _INFO_STATE), **_cc(record, rows)}
    columns: dict[Kind, Columns] = {"state": state, "window": _picked(info, _INFO_WINDOW)}
    return Trace(codes(table, rows), rows["t_ns"].astype(np.int64), columns, final=False)


def _cc(record: Record, rows: decode.Rows) -> dict[str, NDArray[np.generic]]:
    """What algorithms tell of their decisions; 0 in the rows of other algorithms."""
    found: dict[str, NDArray[np.generic]] = {}
    for algorithm in np.unique(rows["cc"]):
        known = decode.cc_info(rows["ccinfo"], brought.cc_info_of(record, bytes(algorithm)))
        mine: NDArray[np.bool_] = rows["cc"] == algorithm
        for name, values in _picked(known, _CC_STATE).items() if known is not None else ():
            found.setdefault(name, np.zeros(len(rows), np.int64))[mine] = values[mine]
    return found


def _qdisc(record: Record, table: str) -> Trace:
    rows = record.raw(table).rows
    marks = np.zeros(len(rows))
    for kind in np.unique(rows["kind"]):
        mine: NDArray[np.bool_] = rows["kind"] == kind
        found = decode.marks(rows["xstats"][mine], rows["xstats_len"][mine], bytes(kind))
        if found is not None:
            marks[mine] = found
    # Counted from the first sample on: before the experiment the links were measured.
    streams = codes(table, rows)
    _, first, stream = np.unique(streams, return_index=True, return_inverse=True)
    drops = rows["drops"].astype(np.int64)
    state = {name: values - values[first][stream] for name, values in (("drops", drops), ("marks", marks))}
    columns: dict[Kind, Columns] = {"state": state}
    return Trace(streams, rows["t_ns"].astype(np.int64), columns, final=False)


# Which of several differences of one instant is told: the first of these.
_TABLES: Mapping[str, Callable[[Record, str], Trace]] = {
    "tcp_probe": _probe,
    "tcp_cong_state_set": _event,
    "tcp_retransmit_skb": _event,
    "inet_sk_error_report": _event,
    "udp": _packets("rx_ns", ("seq",), "tx_ns", "rx_ns"),
    "ping": _packets("tx_ns", ("seq",), "tx_ns", "rx_ns"),
    "transaction": _packets("start_ns", ("seq",), "start_ns", "end_ns"),
    "tcp_info": _info,
    "qdisc": _qdisc,
}
ORDER = tuple(_TABLES)
SAMPLED = ("tcp_info", "qdisc")
"""Tables of samples: they say what was the case at an instant, not when it came to be."""
