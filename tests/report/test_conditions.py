"""The path in words, as a report begins with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as make
import pytest

from rushhour.report.model import conditions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ([{}], "buffer 500 kB"),
        ([{"buffer_packets": 330}], "buffer 330 packets (500 kB)"),
        ([{"buffer_bytes": None, "buffer_packets": 330}], "buffer 330 packets"),
        (
            [{"buffer_packets": 330}, {"buffer_bytes": 30_000, "buffer_packets": 20}],
            "buffer 20 packets … 330 packets (30 kB … 500 kB)",
        ),
        ([{}, {"buffer_packets": 330}], "buffer 500 kB · buffer 330 packets (500 kB)"),
    ],
)
def test_a_buffer_is_said_once(ends: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    """Of a queue that counts packets both were said, as if there were two."""
    numbers = [2 * (place + 1) for place in range(len(ends))]
    flows = [make.flow(number, f"f{number}", bottleneck_end=number, ends=[number]) for number in numbers]
    record = make.record(
        tmp_path / "run",
        flows=flows,
        ends=[make.end(n, **more) for n, more in zip(numbers, ends, strict=True)],
    )
    assert said in " · ".join(conditions(record))
    assert " · ".join(conditions(record)).count("buffer") == said.count("buffer")
