"""Traces: files of measured capacity, delay or loss over time.

Takes a text, gives instants and values. Two formats are read:

* columns: a header that names both with their units (`time_s,rate_mbit`), then a line for each instant;
* packets (Mahimahi: Netravali et al., USENIX ATC 2015): each line is the millisecond at which the link can
  carry one packet of 1504 bytes; several lines may name the same.
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from rushhour.quantities.units import RATE_UNITS, TIME_UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKET_BYTES = 1504  # of a delivery opportunity, as Mahimahi defines it
LARGEST = 2**19  # bytes of all traces of a scenario: they become part of it
# One way only to match each text: what a file makes long must not make slow.
_BETWEEN = r"(?:\s*[,;]\s*|\s+)"
_HEADER = re.compile(rf"time_([a-z]+){_BETWEEN}([a-z]+)(?:_([a-z0-9%]+))?")
_FIELDS = re.compile(rf"([^\s,;]+){_BETWEEN}([^\s,;]+)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_WHOLE = re.compile(r"[0-9]+")
_LONGEST_NUMBER = 40  # characters; no quantity needs more
_LONGEST_NS = 1000 * 3600 * 10**9  # as of every duration
_MOST = {"rate": (10**13, '"10tbit"'), "loss": (1, "everything")}
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
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines:
        raise TraceError(
            1, "the trace is empty", "a header such as time_s,rate_mbit and a line for each instant"
        )
    if _WHOLE.fullmatch(lines[0][1]):
        return _packets(lines, key, every_ns)
    return _columns(lines, key)


def _columns(lines: list[tuple[int, str]], key: str) -> tuple[Course, int]:
    time_unit, value_unit = _units(*lines[0], key)
    course: Course = []
    for number, line in lines[1:]:
        fields = _FIELDS.fullmatch(line)
        if fields is None:
            raise TraceError(number, f'"{line[:40]}" is not a time and a value')
        time, value = (_number(field, number) for field in fields.groups())
        t_ns = _within(time * time_unit, number)
        if course and t_ns <= course[-1][0]:
            raise TraceError(number, f"time {fields[1]} does not come after the one before it")
        most, shown = _MOST.get(key, (_LONGEST_NS, '"1000h"'))
        if value * value_unit > most:
            raise TraceError(number, f"a {key} of {fields[2]} is more than {shown}")
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
        raise TraceError(number, f'"{line[:40]}" is not a header', f"write {example}")
    known: Mapping[str, int | Decimal] = (
        RATE_UNITS if key == "rate" else _SHARES if key == "loss" else TIME_UNITS
    )
    unit = match[3] or ("1" if key == "loss" else "")
    if match[2] != key or unit not in known:
        raise TraceError(number, f'"{line[:40]}" is not the header of a {key}', f"write {example}")
    return Decimal(TIME_UNITS[match[1]]), Decimal(known[unit])


def _number(field: str, line: int) -> Decimal:
    if len(field) > _LONGEST_NUMBER or _NUMBER.fullmatch(field) is None:
        raise TraceError(line, f'"{field[:40]}" is not a number')
    number = Decimal(field)
    if number < 0:
        raise TraceError(line, f"{field} is negative")
    return number


def _within(time_ns: Decimal | int, line: int) -> int:
    """A time as a whole number of ns, if an experiment can last as long."""
    if time_ns > _LONGEST_NS:
        raise TraceError(line, "the time is more than 1000 h", "an experiment is shorter")
    return int(time_ns)


def _packets(lines: list[tuple[int, str]], key: str, every_ns: int) -> tuple[Course, int]:
    """Rates from the packets in each interval; an interval without one is an outage."""
    if key != "rate":
        raise TraceError(lines[0][0], f"a trace of packets is one of rate, not of {key}")
    instants: list[int] = []
    for number, line in lines:
        if len(line) > _LONGEST_NUMBER or _WHOLE.fullmatch(line) is None:
            raise TraceError(number, f'"{line[:40]}" is not a whole number of milliseconds')
        instant = _within(int(line) * _MS, number)
        if instants and instant < instants[-1]:
            raise TraceError(number, f"{line} comes before the line above it")
        instants.append(instant)
    length_ns = max(_MS, instants[-1])
    bins = -(-length_ns // every_ns)
    # Mahimahi's first millisecond is 1 and its trace repeats after the last: ms m is the end of (m-1, m].
    counts = Counter(min(bins - 1, max(0, instant - 1) // every_ns) for instant in instants)
    return _rates(counts, every_ns, length_ns), length_ns


def _rates(counts: Mapping[int, int], every_ns: int, length_ns: int) -> Course:
    """The rate of each interval with packets, and one outage for all the intervals without between them."""
    course: Course = []
    after = 0  # the first interval that nothing was said of yet
    for index in sorted(counts):
        if index > after:
            course.append((after * every_ns, 0.0))
        begin, end = index * every_ns, min(length_ns, (index + 1) * every_ns)
        course.append((begin, float(round(counts[index] * PACKET_BYTES * 8 * _SECONDS_NS / (end - begin)))))
        after = index + 1
    return course
