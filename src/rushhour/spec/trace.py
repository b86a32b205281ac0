"""Traces: files of measured capacity, delay or loss over time.

Takes a text, gives instants and values. Two formats are read:

* columns: a header that names both with their units (`time_s,rate_mbit`), then a line for each instant;
* packets (Mahimahi: Netravali et al., USENIX ATC 2015): each line is the millisecond at which the link can
  carry one packet of 1504 bytes; several lines may name the same.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from rushhour.units import RATE_UNITS, TIME_UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKET_BYTES = 1504  # of a delivery opportunity, as Mahimahi defines it
LARGEST = 2**19  # bytes of all traces of a scenario: they become part of it
_HEADER = re.compile(r"\s*time_(\w+)\s*[,;\t ]\s*([a-z]+)(?:_([\w%]+))?\s*")
_SPLIT = re.compile(r"\s*[,;\t ]\s*")
_SECONDS_NS = 10**9
_SHARES = {"%": Decimal("0.01"), "1": Decimal(1)}
_MS = 10**6

Course = list[tuple[int, float]]


class TraceError(ValueError):
    """A line that makes no sense; `line` counts from 1."""

    def __init__(self, line: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.hint = hint


def read_trace(text: str, key: str, every_ns: int) -> tuple[Course, int]:
    """Give the instants in ns with their values (bit/s, ns or a probability), and the length in ns.

    `every_ns` is how long packets are counted. The last value of a trace of columns lasts as long as the one
    before it. Raises TraceError with the line.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines:
        raise TraceError(
            1, "the trace is empty", "a header such as time_s,rate_mbit and a line for each instant"
        )
    if lines[0][1].isdigit():
        return _packets(lines, key, every_ns)
    return _columns(lines, key)


def _columns(lines: list[tuple[int, str]], key: str) -> tuple[Course, int]:
    time_unit, value_unit = _units(*lines[0], key)
    course: Course = []
    for number, line in lines[1:]:
        fields = _SPLIT.split(line)
        if len(fields) != 2:
            raise TraceError(number, f'"{line[:40]}" is not a time and a value')
        time, value = (_number(field, number) for field in fields)
        t_ns = int(time * time_unit)
        if course and t_ns <= course[-1][0]:
            raise TraceError(number, f"time {time} does not come after the one before it")
        course.append((t_ns, float(value * value_unit)))
    if not course:
        raise TraceError(lines[0][0], "the trace has a header and no lines")
    step = course[-1][0] - course[-2][0] if len(course) > 1 else 0
    return course, course[-1][0] + step


def _units(number: int, line: str, key: str) -> tuple[Decimal, Decimal]:
    """Factors from the header's units to ns and to bit/s, ns or a probability."""
    match = _HEADER.fullmatch(line)
    example = {"rate": "time_s,rate_mbit", "loss": "time_s,loss_%"}.get(key, f"time_s,{key}_ms")
    if match is None or match[1] not in TIME_UNITS:
        raise TraceError(number, f'"{line[:40]}" is no header', f"write {example}")
    known: Mapping[str, int | Decimal] = (
        RATE_UNITS if key == "rate" else _SHARES if key == "loss" else TIME_UNITS
    )
    unit = match[3] or ("1" if key == "loss" else "")
    if match[2] != key or unit not in known:
        raise TraceError(number, f'"{line[:40]}" is not the header of a {key}', f"write {example}")
    return Decimal(TIME_UNITS[match[1]]), Decimal(known[unit])


def _number(field: str, line: int) -> Decimal:
    try:
        number = Decimal(field)
    except InvalidOperation:
        raise TraceError(line, f'"{field[:40]}" is no number') from None
    if not number.is_finite() or number < 0:
        raise TraceError(line, f"{field[:40]} is negative or not finite")
    return number


def _packets(lines: list[tuple[int, str]], key: str, every_ns: int) -> tuple[Course, int]:
    """Rates from the packets in each interval; an interval without one is an outage."""
    if key != "rate":
        raise TraceError(lines[0][0], f"a trace of packets is one of rate, not of {key}")
    instants: list[int] = []
    for number, line in lines:
        if not line.isdigit():
            raise TraceError(number, f'"{line[:40]}" is no whole number of milliseconds')
        if instants and int(line) < instants[-1]:
            raise TraceError(number, f"{line} comes before the line above it")
        instants.append(int(line))
    length_ns = max(1, instants[-1]) * _MS
    counts = [0] * -(-length_ns // every_ns)
    for instant in instants:
        # Mahimahi's first millisecond is 1 and its trace repeats after the last: ms m is the end of (m-1, m].
        counts[min(len(counts) - 1, max(0, instant * _MS - 1) // every_ns)] += 1
    course: Course = []
    for index, count in enumerate(counts):
        begin, end = index * every_ns, min(length_ns, (index + 1) * every_ns)
        course.append((begin, float(round(count * PACKET_BYTES * 8 * _SECONDS_NS / (end - begin)))))
    return course, length_ns
