"""What programs in the lab cost: a system call, a page loaded by a client, packetdrill's scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.lab import drill as packetdrill
from rushhour.lab import kernel
from rushhour.packetdrill.running import Drill, carry_out
from rushhour.packetdrill.scripts import find
from rushhour.running import runner

from .measure import Cost, Figure, cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.lab.base import Job, Lab

    from .workshop import Workshop

TOP = """
title = "Programs"
duration = "600s"
sample = "100ms"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "2ms"
"""
CALLS = """
[[program]]
node = "s1"
command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count={count}"]
until = "exit"
"""
# The interpreter itself: an environment would bring its modules.
PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
PAGES = f"""
[[program]]
name = "server"
node = "r1"
command = ["{PYTHON}", "-m", "http.server", "8000"]
ready = 8000
[[program]]
name = "client"
node = "s1"
command = ["sh", "-c", "for n in $(seq {{count}}); do curl -s -o page http://r1:8000/page || exit 1; done"]
needs = ["seq", "curl"]
after = "server"
until = "exit"
"""
SCRIPTS = "RUSHHOUR_PACKETDRILL_SCRIPTS"


def programs(shop: Workshop) -> Iterator[Figure]:
    """By the difference of many and few: what starts and ends only once is not in it."""
    many = 20_000 if shop.quick else 200_000
    # Each byte is read and written.
    found = [_each(shop, CALLS, few, many) for few in [many // 10] * shop.times]
    by_call = [Cost(one.wall / 2, one.cpu / 2) for one in found]
    yield Figure.of("a system call of a program", "us", by_call, lambda seconds: seconds * 1e6)
    many = 20 if shop.quick else 80
    found = [_each(shop, PAGES, many // 4, many) for _ in range(shop.times)]
    yield Figure.of("page loads, a curl each", "/s", found, lambda seconds: 1 / seconds)
    yield from _scripts(shop)


def _each(shop: Workshop, text: str, few: int, many: int) -> Cost:
    """What one more of them costs."""
    lab = runner.make_lab("uml")
    jobs = [shop.job(TOP + text.format(count=count)) for count in (few, many)]
    less, more = (cost(lambda: _ended_well(shop, lab, job)) for job in jobs)  # noqa: B023 - called at once
    return Cost((more.wall - less.wall) / (many - few), (more.cpu - less.cpu) / (many - few))


def _ended_well(shop: Workshop, lab: Lab, job: Job) -> None:
    record = shop.run(lab, job)
    wrong = [f"{one.name} {one.error}" for one in record.result.programs if one.error]
    assert not wrong, wrong


def _scripts(shop: Workshop) -> Iterator[Figure]:
    """Of a folder of packetdrill's scripts, where one is named and the program is here."""
    folder = os.environ.get(SCRIPTS)
    try:
        program = packetdrill.find(None, None, [Path(folder)]) if folder else None
    except UsageError:
        program = None
    if not program or not folder:
        note = f"not measured: name them in {packetdrill.VARIABLE} and {SCRIPTS}"
        yield Figure("packetdrill's scripts", "/s", [float("nan")], note=note)
        return
    tree, tested = find([Path(folder)]), kernel.find(shop.kernel)
    drill = Drill(program, jobs=1)
    outcomes = carry_out(drill, tree, tested)
    found = [cost(lambda: carry_out(drill, tree, tested)) for _ in range(shop.times)]
    rate = Figure.of(
        "packetdrill's scripts on one core", "/s", found, lambda seconds: len(outcomes) / seconds
    )
    yield rate
