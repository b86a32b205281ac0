"""Verdict documents in the documented form, with synthetic records behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from report_records import make_record

from rushhour.record.record import Record
from rushhour.verdict.divergence import first_divergence

if TYPE_CHECKING:
    from pathlib import Path

ORDER = ("same", "better", "worse", "inconclusive", "invalid")


def side(name: str, release: str, **more: Any) -> dict[str, Any]:
    """The base or the candidate: a kernel by name."""
    kernel = {"name": name, "release": release, "image_sha256": "d0b28e6e97274e84" + "0" * 48}
    return {
        "name": name, "kind": "kernel", "kernel": kernel, "agent_sha256": "a" * 64, "lab": "uml",
        "records": "base", **more,
    }  # fmt: skip


def metric(verdict: str = "worse", change: float | None = -0.12, **more: Any) -> dict[str, Any]:
    """One judged metric: goodput of the flow long, lower by a share of what it was."""
    step = 20e6 * (change or 0.0)
    return {
        "metric": "goodput_bps", "scope": "flow:long", "unit": "bit/s", "better": "higher",
        "base": {"n": 5, "mean": 20e6, "min": 19e6, "max": 21e6, "values": [20e6] * 5},
        "candidate": {"n": 5, "mean": 20e6 + step, "min": 19e6, "max": 21e6, "values": [20e6 + step] * 5},
        "change": change, "interval": None if change is None else [change - 0.02, change + 0.02],
        "difference": step, "difference_interval": [step - 4e5, step + 4e5], "minimum": "5%", "least": 1e6,
        "p": 0.001, "p_adjusted": 0.01, "verdict": verdict, "reason": "goodput_bps of flow:long fell by 12 %",
        **more,
    }  # fmt: skip


def cell(number: int, verdict: str = "worse", **more: Any) -> dict[str, Any]:
    """One cell without records."""
    factors = {"cc": ("cubic", "reno", "bbr")[number % 3], "topology.rtt": f"{20 + number}ms"}
    label = ", ".join(f"{key}={value}" for key, value in factors.items())
    same = verdict == "same"
    return {
        "scenario": "suite/slow-start", "title": "Slow start", "cell": number, "factors": factors,
        "label": label, "verdict": verdict,
        "guards": "a flow of cubic would start otherwise (tcp_slow_start)",
        "reason": "equal to the byte" if same else "goodput_bps of flow:long fell by 12 %",
        "identical": same, "seeds": [1, 77], "runs": {"base": [], "candidate": []},
        "metrics": [] if same else [metric(verdict), metric("same", 0.001, metric="utilization", unit="1")],
        "expectations": [], "warnings": [], "divergence": None, **more,
    }  # fmt: skip


def document(cells: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A whole verdict; the worst cell decides."""
    counts = {name: sum(one["verdict"] == name for one in cells) for name in ORDER}
    worst = next(name for name in ("worse", "invalid", "inconclusive", "better", "same") if counts[name])
    exits = {"same": 0, "better": 0, "worse": 1, "inconclusive": 3, "invalid": 4}
    return {
        "format": "rushhour-verdict/1", "rushhour": "0.1.0", "made": "2026-11-21T09:00:00Z", "verdict": worst,
        "exit": exits[worst], "variable": "kernel", "base": side("debian-6.1", "6.1.192"),
        "candidate": side("debian-6.12", "6.12.117"),
        "rule": {"minimum": 0.05, "confidence": 0.95, "seeds": 5, "max_seeds": 20}, "counts": counts,
        "elapsed_s": 80.1, "stopped": False, "notes": [], "missing": [], "cells": cells, "next": [], **more,
    }  # fmt: skip


def drawn(folder: Path, number: int, verdict: str = "worse", **more: Any) -> dict[str, Any]:
    """A cell with a record on either side, which differ from the first loss on."""
    runs: dict[str, Any] = {}
    records = []
    for place, name in enumerate(("base", "candidate")):
        path = folder / name / "runs" / f"{number:05d}"
        make_record(path, index=number + 50 * place, seconds=6)
        records.append(Record.open(path))
        run = {"seed": 1, "folder": f"{name}/runs/{number:05d}", "valid": True, "error": None}
        runs[name] = [run]
    found = first_divergence(*records)
    return cell(number, verdict, runs=runs, divergence=found.document() if found else None, **more)
