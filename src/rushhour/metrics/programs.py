"""Programs: how long they ran, and with what status they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import Found, Metric, Telling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.record import Record

SCOPE = "program"


def _times(record: Record) -> Iterator[Found]:
    for one in record.result.programs:
        scope = f"{SCOPE}:{one.name}"
        if one.started_ns is None or one.ended_ns is None:
            yield Found(scope, None, one.error or "it did not run")
        elif one.stopped:
            yield Found(scope, None, "it did not end by itself")
        else:
            yield Found(scope, (one.ended_ns - one.started_ns) / 1e9)


def _statuses(record: Record) -> Iterator[Found]:
    for one in record.result.programs:
        scope = f"{SCOPE}:{one.name}"
        if one.exit is not None:
            yield Found(scope, float(one.exit))
        elif not one.stopped:
            yield Found(scope, None, one.error or "a signal ended it")


METRICS = [
    Metric(
        "program_time_s",
        "s",
        "lower",
        (SCOPE,),
        "Virtual time from a program's start to its own end. Computing takes none: it is what the program "
        "waited for, and its system calls.",
        _times,
        minimum="1%",
        telling=Telling("time", 350),
    ),
    Metric(
        "program_exit",
        "1",
        "none",
        (SCOPE,),
        "Status with which a program ended by itself; 0 is success.",
        _statuses,
    ),
]
