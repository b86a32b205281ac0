"""`python -m benchmarks`: measure, and print the figures beside their targets."""

from __future__ import annotations

import argparse
import math
import time
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from .cells import empty_cell, packets, repeated_run, thousand
from .decoding import decoding
from .fleet import fleet
from .hundred import hundred_thousand
from .measure import load
from .native import against_native
from .one_command import one_command
from .playground import playground
from .programs import programs
from .simulators import against_ns3
from .studies import matrix, memory
from .trust import against_iperf3
from .workshop import workshop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .measure import Figure
    from .workshop import Workshop

BENCHMARKS: dict[str, Callable[[Workshop], Iterator[Figure]]] = {
    "empty": empty_cell,
    "repeat": repeated_run,
    "packets": packets,
    "thousand": thousand,
    "native": against_native,
    "iperf3": against_iperf3,
    "ns3": against_ns3,
    "decode": decoding,
    "play": playground,
    "programs": programs,
    "memory": memory,
    "fleet": fleet,
    "matrix": matrix,
    "hundred": hundred_thousand,
    "command": one_command,
}


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="shorter and fewer runs: a first look")
    parser.add_argument("--kernel", help="kernel under test; default as for `rushhour run`")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    words, begun, before = Console(stderr=True), time.monotonic(), load()
    figures = []
    with workshop(given.kernel, quick=given.quick) as shop:
        for name in given.names or BENCHMARKS:
            words.print(f"{name} …", highlight=False)
            figures += list(BENCHMARKS[name](shop))
        title = f"{shop.kernel}; {before} before, {load()} after; {time.monotonic() - begun:.0f} s"
    Console(width=150 if not Console().is_terminal else None).print(_table(figures, title))


def _table(figures: list[Figure], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("measure", "target", "median", "least … greatest", "by CPU time", "met", "of"):
        table.add_column(heading, justify="left" if heading in ("measure", "met", "of") else "right")
    for one in figures:
        sign = "≥" if one.at_least else "≤"
        table.add_row(
            one.name,
            "" if one.target is None else f"{sign} {_number(one.target)} {one.unit}",
            f"{_number(median(one.values))} {one.unit}",
            f"{_number(min(one.values))} … {_number(max(one.values))}",
            _number(median(one.by_cpu)) if one.by_cpu else "",
            one.met(),
            one.note or f"{len(one.values)} runs",
        )
    return table


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    main()
