"""Calibration: were the links what was asked?

Takes a record, gives one finding per check. A run on links that are not true is not a result: the lab marks
it invalid with the messages of the findings that failed. What cannot be judged (no reading, too short a
train) gives no finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.metrics.calibration.before import pings, qdiscs, trains
from rushhour.metrics.calibration.during import backlogs, changes, inputs, lines, losses, outputs
from rushhour.metrics.calibration.finding import CalibrationFinding
from rushhour.metrics.silence import silences

if TYPE_CHECKING:
    from rushhour.record.record import Record


def calibrate(record: Record) -> list[CalibrationFinding]:
    """Judge every link of a run by what the agent measured before and counted during the experiment.

    Raises:
        RecordError: the calibration part of the plan or the result is damaged.
    """
    try:
        found = [*pings(record), *trains(record), *qdiscs(record), *inputs(record)]
    except (KeyError, IndexError) as error:  # it names a path, a train or a node that is not planned
        raise RecordError(
            f"the calibration in the plan or the result makes no sense ({type(error).__name__}: {error})",
            where=str(record.path),
            hint="the record is damaged; run the cell again with --fresh",
        ) from error
    return [
        *found,
        *losses(record),
        *backlogs(record),
        *outputs(record),
        *changes(record),
        *lines(record),
        *(
            CalibrationFinding("what arrived", where, ok=False, asked="something", measured=sent)
            for where, sent in silences(record)
        ),
    ]


def invalid_reasons(record: Record) -> list[str]:
    """The messages of the findings that failed; empty if the links are true."""
    return [finding.message for finding in calibrate(record) if not finding.ok]
