"""What a row of a list tells of its run: goodput, round trip, differing settings, a small curve."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.errors import RecordError
from rushhour.quantities.words import NONE, quantity
from rushhour.record.record import Record
from rushhour.report.figure.titles import spoken
from rushhour.traffic import kinds
from rushhour.verdict.refusal import NOTHING, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.store import RunRow, Store

GOODPUT, RTT = "goodput_bps", "srtt_p50_us"
MAX_KEYS = 4
"""Differing settings that a row names."""
MAX_LINES = 4
"""Flows of a small curve."""
_WIDTH, _HEIGHT, _STEPS = 120, 26, 60
_KEPT = 2000
# Readable on light and on dark, for a picture does not know which it is on.
_COLOURS = ("#3f83c4", "#e0606f", "#3a9a4b", "#b58900")


def glances(store: Store, rows: Sequence[RunRow]) -> list[dict[str, object]]:
    """For each run `goodput`, `rtt` (words) and `differs` (key and value); of a page of runs, at once."""
    values = store.values([row.id for row in rows], [GOODPUT, RTT])
    settings = [_settings(store, row) for row in rows]
    groups: dict[str, list[Mapping[str, str]]] = {}
    for row, mine in zip(rows, settings, strict=True):
        groups.setdefault(row.scenario, []).append(mine)
    varied = {name: _varied(group) for name, group in groups.items()}
    return [
        {
            "goodput": _whole(values.get(row.id, ()), GOODPUT, "bit/s"),
            "rtt": _whole(values.get(row.id, ()), RTT, "µs"),
            "differs": _said(mine, varied[row.scenario], row.factors),
        }
        for row, mine in zip(rows, settings, strict=True)
    ]


def spark(folder: Path, key: str) -> str:
    """The goodput of a run's flows over time as a small SVG."""
    return _spark(folder, key)


def _whole(values: Sequence[MetricValue], metric: str, unit: str) -> str:
    """The total; else the least and the greatest of the flows."""
    mine = [value for value in values if value.metric == metric and value.value is not None]
    known = [value.value for value in mine if value.scope == "total"]
    known = known or [value.value for value in mine if value.scope.startswith("flow:")]
    numbers = [value for value in known if value is not None]
    if not numbers:
        return NONE
    said = [quantity(value, unit) for value in (min(numbers), max(numbers))]
    if said[0] == said[1]:
        return said[0]
    (low, *unit_of_low), (_, *unit_of_high) = (one.split(" ") for one in said)
    return f"{low if unit_of_low == unit_of_high else said[0]} … {said[1]}"


def _settings(store: Store, row: RunRow) -> Mapping[str, str]:
    folder = store.record_folder(row.key)
    return {} if folder is None else _read(folder, row.key)


@lru_cache(_KEPT)
def _read(folder: Path, _key: str) -> Mapping[str, str]:
    try:
        resolved = Record.open(folder).manifest.scenario.resolved
    except RecordError:
        return {}
    return settings_of(resolved) if resolved else {}


def _varied(group: Sequence[Mapping[str, str]]) -> list[str]:
    """Keys that are not the same in all runs of one scenario."""
    known = [mine for mine in group if mine]
    names = dict.fromkeys(name for mine in known for name in mine)
    return [name for name in names if len({mine.get(name, NOTHING) for mine in known}) > 1]


def _said(mine: Mapping[str, str], names: Sequence[str], factors: Mapping[str, object]) -> list[list[str]]:
    """What the cell's own label does not say."""
    told = [name for name in names if mine and name not in factors]
    return [[name, spoken(mine[name]) if name in mine else "default"] for name in told[:MAX_KEYS]]


@lru_cache(_KEPT)
def _spark(folder: Path, _key: str) -> str:
    try:
        record = Record.open(folder)
        series = [record.series(GOODPUT, flow=flow.id) for flow in record.flows(*kinds.STREAMS)[:MAX_LINES]]
    except RecordError:
        series = []
    curves = [(one.t_s, np.nan_to_num(one.values)) for one in series if len(one.t_s) > 1]
    top = max((float(np.max(values)) for _, values in curves), default=0.0)
    paths = [
        f'<path d="{_path(t_s, values, record.context.duration_ns / 1e9, top)}" fill="none" '
        f'stroke="{_COLOURS[place % len(_COLOURS)]}" stroke-width="1.4"/>'
        for place, (t_s, values) in enumerate(curves)
        if top > 0
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
    return head + "".join(paths) + "</svg>"


def _path(t_s: Any, values: Any, duration_s: float, top: float) -> str:
    """Means over equal times, as a line through their middles."""
    edges = np.linspace(0, duration_s, _STEPS + 1)
    place = np.clip(np.searchsorted(edges, t_s, side="left") - 1, 0, _STEPS - 1)
    points = []
    for step in np.unique(place):
        level = float(np.mean(values[place == step])) / top
        points.append(f"{(step + 0.5) / _STEPS * _WIDTH:.1f} {_HEIGHT - 2 - level * (_HEIGHT - 4):.1f}")
    return "M" + "L".join(points)
