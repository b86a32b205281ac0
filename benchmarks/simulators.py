"""The lab beside ns-3, the simulator that most TCP studies use: one CUBIC flow over one bottleneck.

ns-3 has a TCP of its own; compared is what a packet costs. Of ns-3 the event loop alone is timed; of the lab
all from the plan to decoded metrics, with every packet traced.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.running import runner

from .measure import Cost, Figure, cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .workshop import Workshop

WHEEL = "ns3==3.44.post0"
VARIABLE = "NS3_PYTHON"
SCRIPT = Path(__file__).with_name("ns3_dumbbell.py")
# As in ns3_dumbbell.py.
PATH = """
title = "Beside ns-3"
duration = "{seconds}s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "20ms"
buffer = "250kB"
[[flow]]
cc = "cubic"
"""


def against_ns3(shop: Workshop) -> Iterator[Figure]:
    """Both in turn, so that what else the machine does meets both."""
    python, seconds = _interpreter(shop), 3 if shop.quick else 10
    lab, job = runner.make_lab("uml"), shop.job(PATH.format(seconds=seconds))
    shop.run(lab, job)
    ours: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(shop.times):
        records = []
        spent = cost(lambda: records.append(shop.run(lab, job)))  # noqa: B023 - called at once
        ours.append(_per_packet(spent, records[0].result["flows"][0]["bytes_received"] / 1448))
        done = subprocess.run([python, SCRIPT, str(seconds)], capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        theirs.append(_per_packet(Cost(said["wall_s"], said["cpu_s"]), said["packets"]))
    yield Figure.of("packets a second, one CUBIC flow at 100 Mbit/s", "/s", ours, lambda one: 1 / one)
    yield Figure.of(f"the same in {WHEEL.replace('==', ' ')}", "/s", theirs, lambda one: 1 / one)
    pairs = list(zip(ours, theirs, strict=True))
    by_wall, by_cpu = [b.wall / a.wall for a, b in pairs], [b.cpu / a.cpu for a, b in pairs]
    yield Figure("packets, of ns-3's", "x", by_wall, by_cpu)


def _per_packet(spent: Cost, packets: float) -> Cost:
    return Cost(spent.wall / packets, spent.cpu / packets)


def _interpreter(shop: Workshop) -> str:
    """The interpreter that the environment names, or one of our own with ns-3's wheel (half a gigabyte)."""
    if known := os.environ.get(VARIABLE):
        return known
    place = shop.place()
    python = str(place / "bin/python")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", WHEEL], check=True)
    return python
