"""How fast records become columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.record.record import Record
from rushhour.running import runner

from .cells import FAST
from .measure import Figure, costs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .workshop import Workshop


def decoding(shop: Workshop) -> Iterator[Figure]:
    """Records of tcp_probe, from the file to a column in memory for each field of each flow."""
    lab, job = runner.make_lab("uml"), shop.job(FAST.format(seconds=1 if shop.quick else 5, flows=4))
    folder = shop.run(lab, job).path
    rows = sum(_columns(folder))
    found = costs(lambda: _columns(folder), shop.times)
    yield Figure.of(
        "tcp_probe records decoded",
        "/s",
        found,
        lambda seconds: rows / seconds,
        target=1e6,
        at_least=True,
        note=f"{rows:,} records",
    )


def _columns(folder: Path) -> list[int]:
    record = Record.open(folder)
    lengths = []
    for flow in record.context.flows:
        rows = record.table("tcp_probe", flow)
        columns = [np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()]
        lengths.append(len(columns[0]))
    return lengths
