"""Very many runs, made cheaply: one real run under many labels, its files shared, its numbers strewn.

Every record is whole and verifies: what differs is its manifest, and what is remembered of its metrics.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from rushhour.files import remembered
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import MANIFEST, SET_FILE, sealed
from rushhour.summary import measured

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

REPEAT = 5
# ext4 has room for 65 000 links to a file.
_LINKS = 30_000
SPREAD = 0.05
"""How far the numbers of repetitions lie apart, of the number."""


def make(template: Path, folder: Path, runs: int, *, kernel: str = "", shift: float = 1.0) -> ResultSet:
    """A result set of so many runs, in cells of `REPEAT`, of the record at `template`.

    Args:
        template: A sealed record.
        folder: Where the set goes.
        runs: How many.
        kernel: What the kernel is called; by default as in the template.
        shift: What every number is multiplied by.
    """
    first = Record.open(template)
    values = first.metrics()
    manifest = json.loads((template / MANIFEST).read_text())
    cells = _cells(-(-runs // REPEAT))
    (folder / "runs").mkdir(parents=True)
    source = template
    for number in range(runs):
        if number and number % _LINKS == 0:
            source = _copied(template, folder / f".source-{number}")
        cell, repetition = divmod(number, REPEAT)
        labels = _labelled(manifest, cell, cells[cell], repetition, kernel)
        place = folder / "runs" / f"{number:05d}-{labels['key'][:12]}"
        _link(source, place)
        (place / MANIFEST).write_text(json.dumps(sealed(labels)))
        _remember(Record.open(place), values, shift * (1 + cell % 7 / 10))
    (folder / SET_FILE).write_text(json.dumps(sealed(_about(manifest, cells, runs, kernel))))
    return ResultSet.open(folder)


def _cells(count: int) -> list[dict[str, Any]]:
    """Factors of so many cells: two with few levels, one with as many as it takes."""
    rates, queues = ("10mbit", "20mbit", "50mbit", "100mbit"), ("fifo", "fq", "fq_codel", "cake", "red")
    rtts = [f"{number + 1}ms" for number in range(-(-count // (len(rates) * len(queues))))]
    names = ("topology.rtt", "topology.rate", "topology.queue")
    return [dict(zip(names, levels, strict=True)) for levels in product(rtts, rates, queues)][:count]


def _labelled(
    manifest: Mapping[str, Any], cell: int, factors: Mapping[str, Any], repetition: int, kernel: str
) -> dict[str, Any]:
    seed = cell * REPEAT + repetition + 1 if repetition else 1
    told = {name: value for name, value in manifest.items() if name != "sealed"}
    told |= {"cell": {"index": cell, "factors": factors}, "repetition": repetition, "seed": seed}
    if kernel:
        told["kernel"] = {**manifest["kernel"], "name": kernel, "image_sha256": kernel}
    told["key"] = hashlib.sha256(f"{cell} {repetition} {kernel}".encode()).hexdigest()
    return told


def _link(source: Path, place: Path) -> None:
    for at, _, names in os.walk(source):
        target = place / os.path.relpath(at, source)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name != MANIFEST:
                (target / name).hardlink_to(os.path.join(at, name))  # noqa: PTH118 - a hundred thousand times


def _copied(template: Path, folder: Path) -> Path:
    for path in template.rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(template)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return folder


def _remember(record: Record, values: Sequence[Any], factor: float) -> None:
    """Metrics strewn around those of the template, as if this run had been measured."""
    chance = random.Random(record.key)
    strewn = [
        one if one.value is None else replace(one, value=one.value * factor * chance.gauss(1, SPREAD))
        for one in values
    ]
    remembered.keep(measured.key_of(record), measured.written(strewn))


def _about(
    manifest: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], runs: int, kernel: str
) -> dict[str, Any]:
    name = kernel or manifest["kernel"]["name"]
    varied: dict[str, list[Any]] = {}
    for factors in cells:
        for key, level in factors.items():
            levels = varied.setdefault(key, [])
            if level not in levels[-1:] and level not in levels:
                levels.append(level)
    resolved = {**manifest["scenario"]["resolved"], "sweep": varied}
    return {
        "format": "rushhour-set/1",
        "scenario": {**manifest["scenario"], "resolved": resolved},
        "kernels": [{**manifest["kernel"], "name": name}],
        "cells": [{"index": index, "factors": factors} for index, factors in enumerate(cells)],
        "repeat": REPEAT, "seed": 1, "quick": False, "asked": {}, "runs": runs,
        "failures": [], "skipped": [], "published": [], "study": None, "complete": True,
    }  # fmt: skip
