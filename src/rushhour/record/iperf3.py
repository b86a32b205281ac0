"""iperf3's own report of a flow, read strictly.

Takes the JSON a client or server left in a record (`raw/iperf3-ID-client.json`, `…-server.json`), gives an
`Iperf3Report`. Whatever is missing, of the wrong type, or contradicts the rest of the report is an error that
names the file and the entry; nothing is guessed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from rushhour.errors import RecordError
from rushhour.record.document import Amount, Count, Document
from rushhour.record.document import read as typed

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")
Side = Literal["client", "server"]
_HINT = "the flow's iperf3 is not one that is understood (3.7 to 3.18 are), or the file is damaged"
# Ends of intervals are printed with µs; sums of them are off by as much.
_TIME_S = 1e-3


@dataclass(frozen=True, slots=True)
class Interval:
    """What one side sent (client) or received (server) between two instants, in s from the data's begin."""

    start_s: float
    end_s: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Iperf3Report:
    """One side's report. Bytes are payload; packets are None for TCP.

    `sent_s`, `received_s` are the lengths of sending and of receiving. `lost` counts gaps in the sequence
    that the receiver saw: datagrams lost at the very end are not among them.
    """

    version: str
    protocol: Literal["TCP", "UDP"]
    local_port: int
    remote_port: int
    block_bytes: int
    sent_s: float
    received_s: float
    bytes_sent: int
    bytes_received: int
    packets_sent: int | None
    lost: int | None
    jitter_ms: float | None
    retransmits: int | None
    intervals: tuple[Interval, ...]


class _Ports(Document):
    local_port: Count
    remote_port: Count


class _Test(Document):
    protocol: str
    blksize: Count


class _Start(Document):
    version: str
    test_start: _Test
    connected: tuple[_Ports, ...]


class _Sum(Document):
    seconds: Amount
    bytes: Count
    packets: Count | None = None
    lost_packets: Count | None = None
    jitter_ms: Amount | None = None
    retransmits: Count | None = None


class _End(Document):
    sum_sent: _Sum
    sum_received: _Sum


class _Span(Document):
    start: Amount
    end: Amount
    bytes: Count


class _Interval(Document):
    sum: _Span


class _Document(Document):
    """What is read of a report as iperf3 writes it."""

    start: _Start
    end: _End
    intervals: tuple[_Interval, ...]


def read(path: Path, side: Side) -> Iperf3Report:
    """Read one side's report.

    Raises:
        RecordError: there is none, iperf3 reports an error in it, or it makes no sense.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise RecordError(
            f"iperf3's report cannot be read: {error.strerror}",
            where=str(path),
            hint="run the cell again with --fresh",
        ) from error
    except ValueError as error:
        raise RecordError(f"iperf3's report is not JSON: {error}", where=str(path), hint=_HINT) from error
    return parse(document, side, str(path))


def parse(document: object, side: Side, where: str) -> Iperf3Report:
    """Read a report that is JSON already; see `read`."""
    if isinstance(document, dict) and "error" in document:
        raise RecordError(f"iperf3 reports: {str(document['error'])[:200]}", where=where)
    top = typed(_Document, document, where, hint=_HINT)
    protocol, client = top.start.test_start.protocol, side == "client"
    sent, received = top.end.sum_sent, top.end.sum_received
    if protocol not in ("TCP", "UDP"):
        raise _fault("start.test_start.protocol", protocol, "TCP or UDP", where)
    if len(top.start.connected) != 1:
        raise _fault("start.connected", f"{len(top.start.connected)} entries", "one", where)
    (ports,), udp = top.start.connected, protocol == "UDP"
    report = Iperf3Report(
        version=top.start.version,
        protocol="UDP" if udp else "TCP",
        local_port=ports.local_port,
        remote_port=ports.remote_port,
        block_bytes=top.start.test_start.blksize,
        sent_s=float(sent.seconds),
        received_s=float(received.seconds),
        bytes_sent=sent.bytes,
        bytes_received=received.bytes,
        packets_sent=_there(sent.packets, "end.sum_sent.packets", where) if udp else None,
        lost=_there(received.lost_packets, "end.sum_received.lost_packets", where) if udp else None,
        jitter_ms=_there(received.jitter_ms, "end.sum_received.jitter_ms", where) if udp else None,
        retransmits=_there(sent.retransmits, "end.sum_sent.retransmits", where)
        if client and not udp
        else None,
        intervals=tuple(
            Interval(float(one.sum.start), float(one.sum.end), one.sum.bytes) for one in top.intervals
        ),
    )
    _check(report, client=client, where=where)
    return report


def _there(value: T | None, key: str, where: str) -> T:
    """What a report of this protocol and side has."""
    if value is None:
        raise _fault(key, value, "a number", where)
    return value


def _check(report: Iperf3Report, *, client: bool, where: str) -> None:
    """Refuse a report whose parts do not agree."""
    own = report.bytes_sent if client else report.bytes_received
    counted = sum(interval.bytes for interval in report.intervals)
    if report.intervals and counted != own:
        raise _fault("the bytes of all intervals", counted, f"the sum of the whole, {own}", where)
    # Datagrams may arrive twice.
    if client and report.protocol == "TCP" and report.bytes_received > report.bytes_sent:
        raise _fault("end.sum_received.bytes", report.bytes_received, f"at most {report.bytes_sent}", where)
    before = 0.0
    for interval in report.intervals:
        if interval.start_s < before - _TIME_S or interval.end_s < interval.start_s:
            raise _fault("intervals", (interval.start_s, interval.end_s), f"one after {before} s", where)
        before = interval.end_s


def _fault(key: str, found: object, wanted: str, where: str) -> RecordError:
    return RecordError(
        f"iperf3's report: {key} is {str(found)[:60]!r}; expected {wanted}", where=where, hint=_HINT
    )
