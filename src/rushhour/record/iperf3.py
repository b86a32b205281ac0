"""iperf3's own report of a flow, read strictly.

Takes the JSON a client or server left in a record (`raw/iperf3-ID-client.json`, `…-server.json`), gives an
`Iperf3Report`. Whatever is missing, of the wrong type, or contradicts the rest of the report is an error that
names the file and the entry; nothing is guessed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path

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
        raise RecordError(f"iperf3's report is no JSON: {error}", where=str(path), hint=_HINT) from error
    return parse(document, side, str(path))


def parse(document: Any, side: Side, where: str) -> Iperf3Report:
    """Read a report that is JSON already; see `read`."""
    top = _Entry(document, "", where)
    if "error" in top.values:
        raise RecordError(f"iperf3 reports: {top.text('error')}", where=where)
    start, end = top.entry("start"), top.entry("end")
    test, ports = start.entry("test_start"), start.only("connected")
    protocol = test.choice("protocol", ("TCP", "UDP"))
    sent, received = end.entry("sum_sent"), end.entry("sum_received")
    udp, client = protocol == "UDP", side == "client"
    report = Iperf3Report(
        version=start.text("version"),
        protocol=protocol,
        local_port=ports.whole("local_port"),
        remote_port=ports.whole("remote_port"),
        block_bytes=test.whole("blksize"),
        sent_s=sent.number("seconds"),
        received_s=received.number("seconds"),
        bytes_sent=sent.whole("bytes"),
        bytes_received=received.whole("bytes"),
        packets_sent=sent.whole("packets") if udp else None,
        lost=received.whole("lost_packets") if udp else None,
        jitter_ms=received.number("jitter_ms") if udp else None,
        retransmits=sent.whole("retransmits") if client and not udp else None,
        intervals=tuple(_interval(item) for item in top.list("intervals")),
    )
    _check(report, client=client, where=where)
    return report


def _interval(item: _Entry) -> Interval:
    total = item.entry("sum")
    return Interval(total.number("start"), total.number("end"), total.whole("bytes"))


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


class _Entry:
    # A JSON object whose values are asked for by type.

    def __init__(self, values: Any, key: str, where: str) -> None:
        if not isinstance(values, dict):
            raise _fault(key or "the report", values, "a JSON object", where)
        self.values, self.key, self.where = values, key, where

    def _name(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name

    def entry(self, name: str) -> _Entry:
        return _Entry(self.values.get(name), self._name(name), self.where)

    def list(self, name: str) -> list[_Entry]:
        value = self.values.get(name)
        if not isinstance(value, list):
            raise _fault(self._name(name), value, "a list", self.where)
        return [_Entry(item, f"{self._name(name)}[{place}]", self.where) for place, item in enumerate(value)]

    def only(self, name: str) -> _Entry:
        entries = self.list(name)
        if len(entries) != 1:
            raise _fault(self._name(name), f"{len(entries)} entries", "one", self.where)
        return entries[0]

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if not isinstance(value, str):
            raise _fault(self._name(name), value, "a string", self.where)
        return value

    def choice(self, name: str, allowed: tuple[Any, ...]) -> Any:
        value = self.values.get(name)
        if value not in allowed:
            raise _fault(self._name(name), value, " or ".join(allowed), self.where)
        return value

    def whole(self, name: str) -> int:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
            raise _fault(self._name(name), value, "a whole number", self.where)
        return value

    def number(self, name: str) -> float:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise _fault(self._name(name), value, "a number of at least 0", self.where)
        return float(value)


def _fault(key: str, found: object, wanted: str, where: str) -> RecordError:
    return RecordError(
        f"iperf3's report: {key} is {str(found)[:60]!r}; expected {wanted}", where=where, hint=_HINT
    )
