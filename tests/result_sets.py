"""Result sets that are made up: what `rushhour run` writes, with records of known contents."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import builders as make

from rushhour.record.result_set import ResultSet
from rushhour.record.seal import write_json
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

AGENT = {"version": "0.1.0", "sha256": "a" * 64}


def kernel(name: str = "stable", release: str = "6.12.1", **more: Any) -> dict[str, Any]:
    """The identity of a kernel."""
    return {"name": name, "release": release, "hz": 1000, "image_sha256": f"{name}-{release}", **more}


def result_set(
    folder: Path,
    *,
    scenario: str = "suite/start",
    kernels: Sequence[Mapping[str, Any]] = (),
    factors: Sequence[Mapping[str, Any]] = ({"cc": "cubic"}, {"cc": "reno"}),
    repeat: int = 1,
    goodput: Mapping[str, float] | None = None,
    agent: Mapping[str, Any] = AGENT,
    tools: Mapping[str, Any] | None = None,
    indexed: bool = True,
    valid: bool = True,
    revision: str = "5",
    apart: bool = False,
    resolved: Mapping[str, Any] | None = None,
    flow: str = "long",
) -> ResultSet:
    """A result set with one record per cell, kernel and repetition.

    `goodput` are Mbit/s by name of the kernel; without, all have 80. Raw tables are equal on all
    kernels, unless they are to be `apart`.
    """
    kernels = kernels or [kernel()]
    about = {
        "name": scenario,
        "title": "A start",
        "sha256": revision * 64,
        "resolved": {"seed": 1, **(resolved or {})},
    }
    number = 0
    for index, cell in enumerate(factors):
        for one in kernels:
            for repetition in range(repeat):
                rate = (goodput or {}).get(str(one["name"]), 80.0) + index + repetition / 10
                manifest = {
                    "scenario": about, "cell": {"index": index, "factors": dict(cell)},
                    "repetition": repetition,
                    "kernel": dict(one), "agent": dict(agent), "valid": valid,
                    **({"tools": dict(tools)} if tools else {}),
                }  # fmt: skip
                window = 10 + index + repetition + (int(rate) if apart else 0)
                _record(folder / "runs", number, rate, window, manifest, flow=flow)
                number += 1
    write_json(
        folder / "set.json",
        {
            "format": "rushhour-set/1",
            "scenario": about, "kernels": [*kernels],
            "cells": [{"index": index, "factors": cell} for index, cell in enumerate(factors)],
            "repeat": repeat, "seed": 1, "quick": False, "asked": {}, "runs": number,
            "failures": [], "skipped": [], "published": [], "study": None, "complete": True,
        },
    )  # fmt: skip
    results = ResultSet.open(folder)
    if indexed:
        results.write_index()
    return results


def study(folder: Path, sets: Sequence[Path]) -> Path:
    """The folder of a study that has these sets."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [os.path.relpath(path, folder) for path in sets]
    write_json(folder / "study.json", {"format": "rushhour-study/1", "sets": names})
    return folder


def _record(
    folder: Path, number: int, rate: float, window: int, manifest: dict[str, Any], *, flow: str
) -> None:
    key = hashlib.sha256(f"{rate} {manifest}".encode()).hexdigest()
    make.record(
        folder / f"{number:05d}-{key[:12]}",
        {"tcp_probe": make.rows(make.TCP_PROBE, t_ns=range(5), snd_cwnd=[window] * 5)},
        flows=[make.flow(name=flow)],
        outcomes=[make.outcome(0, bytes_received=int(rate * 1e6 / 8 * 10))],
        manifest=manifest
        | {
            "key": key, "seed": 1 + 100 * manifest["repetition"], "rushhour": __version__,
            "host": {"cpu_model": "x"}, "elapsed_s": 0.5, "virtual_s": 10.0,
        },
    )  # fmt: skip
