"""What becomes of a flow when its link changes: numbers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import numpy as np
from builders import SECOND

from rushhour.metrics.catalog import METRICS

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

MBIT = 1_000_000
COURSE = [[0, 100 * MBIT], [2 * SECOND, 20 * MBIT], [5 * SECOND, 100 * MBIT]]


def built(folder: Path, rates: list[int], backlog: list[int]) -> Record:
    """A flow of ten seconds: what leaves in each 100 ms in Mbit/s, bytes waiting at each reading."""
    t_ns = np.arange(len(rates) + 1) * (SECOND // 10)
    sent = np.concatenate([[0], np.cumsum(np.array(rates) * MBIT // 80)])
    rows = make.rows(
        make.QDISC, t_ns=t_ns, end=2, handle=0x10000, parent=0xFFFFFFFF, bytes=sent, backlog=[0, *backlog]
    )
    end = make.end(rate_bps=76 * MBIT, over_time={"rate_bps": COURSE})
    return make.record(folder, {"qdisc": rows}, ends=[end])


def values(record: Record, name: str) -> dict[str, float | None]:
    return {found.scope: found.value for found in METRICS[name].function(record)}


def test_a_risen_rate_is_filled_when_it_is_used(tmp_path: Path) -> None:
    rates = [100] * 20 + [20] * 30 + [20] * 7 + [60] * 3 + [96] * 40
    record = built(tmp_path / "run", rates, [0] * 100)
    (time,) = values(record, "fill_time_s").values()
    assert time is not None
    assert abs(time - 1.0) < 1e-9


def test_a_rate_that_is_never_used_has_no_time(tmp_path: Path) -> None:
    record = built(tmp_path / "run", [90] * 100, [0] * 100)
    (found,) = METRICS["fill_time_s"].function(record)
    assert (found.value, found.note) == (None, "the rate that rose at 5 s was never used up")


def test_what_a_fall_piles_up_is_counted_at_the_lower_rate(tmp_path: Path) -> None:
    backlog = [400_000] * 10 + [50_000] * 12 + [100_000] * 8 + [300_000] * 70
    record = built(tmp_path / "run", [100] * 100, backlog)
    # 100 kB at 20 Mbit/s until 3 s; from the reading at 3.1 s on 300 kB, while the rate is low until 5 s.
    assert list(values(record, "fall_delay_max_us").values()) == [300_000 * 8 / 20]


def test_a_link_that_does_not_change_has_neither(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {})
    assert values(record, "fill_time_s") == values(record, "fall_delay_max_us") == {}
