"""The path in words, as a report begins with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import builders as make
import pytest

from rushhour.report.model import conditions
from rushhour.report.topology import topology_svg

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


@pytest.mark.parametrize(
    ("rate_bps", "words", "said"),
    [
        (2_000_000, "police burst 10000b", "policed to 2 Mbit/s, bucket 10 kB"),
        (
            None,
            "police of 250 packets a second, burst 20",
            "policed to 250 packets a second, bucket 20 packets",
        ),
    ],
)
def test_which_rate_is_the_policers_is_said(
    rate_bps: int | None, words: str, said: str, tmp_path: Path
) -> None:
    """Two rates stood at the link, and none of them in the first lines of the report."""
    link = {"name": "bottleneck", "ends": [{"node": "left"}, {"node": "right"}]}
    policer = make.end(2, role="police", rate_bps=rate_bps, buffer_bytes=None, queue=words)
    record = make.record(
        tmp_path / "run",
        flows=[make.flow(ends=[0, 2], reverse_ends=[1], bottleneck_end=0)],
        ends=[make.end(0), policer],
        plan={"nodes": [{"name": name, "forward": False} for name in ("left", "right")], "links": [link]},
    )
    assert said in conditions(record)
    drawn = " · ".join(re.findall(r">([^<]+)</text>", topology_svg(record)))
    assert "100 Mbit/s · fifo 500 kB" in drawn
    assert said in drawn
