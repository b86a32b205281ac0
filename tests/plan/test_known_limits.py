"""The limit of a queue as records tell it: what was asked, what its words say, or nothing."""

from __future__ import annotations

import pytest

from rushhour.plan import expand, lower
from rushhour.spec.load import parse_scenario

TEXT = """
title = "A queue at the root"
duration = "1s"
[[link]]
between = ["a", "b"]
queue = "{queue}"
{more}
[[link]]
between = ["b", "c"]
rate = "100mbit"
[[flow]]
kind = "udp"
rate = "1mbit"
from = "a"
to = "c"
"""


@pytest.mark.parametrize(
    ("queue", "more", "limit"),
    [
        ("cake bandwidth 2mbit", "", (None, None)),  # was told to hold ten frames, and held 300 kB
        ("fq maxrate 3mbit", "", (None, None)),
        ("fq limit 50", "", (None, 50)),
        ("cake bandwidth 2mbit memlimit 100000", "", (100_000, None)),
        ("tbf rate 2mbit burst 5000 limit 20000", "", (20_000, None)),
        ("tbf rate 2mbit burst 5000 latency 30ms", "", (None, None)),
        ("fq_codel", 'rate = "10mbit"\nbuffer = "151400B"', (151_400, 100)),
    ],
)
def test_a_limit_that_nobody_asked_for_is_not_told(
    queue: str, more: str, limit: tuple[int | None, int | None]
) -> None:
    (cell,) = expand(parse_scenario(TEXT.format(queue=queue, more=more)))
    ends = lower(cell.scenario, 1).context["ends"]
    found = next(end for end in ends if end["queue"] == queue)
    assert (found["buffer_bytes"], found["buffer_packets"]) == limit
