"""What receivers say of the traffic class in which datagrams came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import pytest
from builders import found

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

AF31, ECT0, ECT1, CE = 26 << 2, 2, 1, 3


def record(folder: Path, sent: int, classes: dict[int, int], **more: Any) -> Record:
    flow = make.flow(0, "stream", kind="udp")
    told = make.outcome(classes={str(tos): many for tos, many in classes.items()})
    planned = {0: {"tos": sent, "read_class": True} | more}
    return make.record(folder / "run", flows=[flow], outcomes=[told], planned=planned)


@pytest.mark.parametrize(
    ("sent", "classes", "marked", "reclassed"),
    [
        (AF31 | ECT0, {AF31 | ECT0: 7, AF31 | CE: 3}, 3, 0),
        (AF31 | ECT1, {AF31 | ECT1: 7, AF31 | CE: 3}, 3, 0),
        # The DSCP is gone; the other ECT; neither.
        (AF31 | ECT0, {ECT0: 1, AF31 | ECT1: 2, AF31: 4, AF31 | ECT0: 8}, 0, 7),
        (AF31 | ECT0, {CE: 5}, 5, 5),
        # Nobody may mark what cannot be marked.
        (AF31, {AF31: 7, AF31 | CE: 2}, 2, 2),
        (0, {}, 0, 0),
    ],
)
def test_marks_and_what_was_rewritten_are_told_apart(
    tmp_path: Path, sent: int, classes: dict[int, int], marked: int, reclassed: int
) -> None:
    made = record(tmp_path, sent, classes)
    assert found(made, "datagrams_marked") == {"flow:stream": marked}
    assert found(made, "datagrams_reclassed") == {"flow:stream": reclassed}


def test_who_does_not_read_it_tells_nothing(tmp_path: Path) -> None:
    made = record(tmp_path, ECT0, {}, read_class=False)
    assert found(made, "datagrams_marked") == found(made, "datagrams_reclassed") == {}
