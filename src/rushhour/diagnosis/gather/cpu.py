"""Processors: how many, how fast, how busy, and who keeps them from us."""

from __future__ import annotations

import re
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather.text import below, number, pairs, processors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.diagnosis.gather.reading import Reading

FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Columns of `/proc/stat` (proc_stat(5)); guest time is part of user's and is left out."""

_CPU = "/sys/devices/system/cpu"


def section(reading: Reading) -> dict[str, Any]:
    """Model, count, governor, frequencies, idle states, nodes, load."""
    blocks = (reading.text("/proc/cpuinfo") or "").split("\n\n")
    first = pairs(blocks[0])
    found: dict[str, Any] = {
        "model": first.get("model name") or first.get("Model") or first.get("cpu model"),
        "online": reading.text(f"{_CPU}/online"),
        "isolated": reading.text(f"{_CPU}/isolated") or None,
        "smt": {"1": True, "0": False}.get(reading.text(f"{_CPU}/smt/active") or ""),
        "count": len(processors(reading.text(f"{_CPU}/online")) or []) or reading.hello.get("cpus"),
    }
    loads = (reading.text("/proc/loadavg") or "").split()
    if len(loads) >= 3:
        found["load"] = [float(word) for word in loads[:3]]
    found |= _frequency(reading) | _idle(reading)
    nodes = {
        path.split("/")[0]: text.strip() for path, text in below(reading.files, "/sys/devices/system/node")
    }
    if len(nodes) > 1:
        found["nodes"] = {name.removeprefix("node"): cpus for name, cpus in sorted(nodes.items())}
    if pressure := pressures(reading.text("/proc/pressure/cpu")):
        found["pressure_pct"] = pressure["some"]
    return {name: value for name, value in found.items() if value is not None}


def _frequency(reading: Reading) -> dict[str, Any]:
    """Governors (and of how many processors), the least frequency now and the highest, in kHz."""
    files = [
        (path.rpartition("/")[2], text.strip())
        for path, text in below(reading.files, _CPU)
        if "/cpufreq/" in path
    ]
    values = {name: [text for other, text in files if other == name] for name, _ in files}
    governors = values.get("scaling_governor", [])
    found: dict[str, Any] = {}
    if governors:
        found["governor"] = {name: governors.count(name) for name in sorted(set(governors))}
    if driver := values.get("scaling_driver"):
        found["frequency_driver"] = driver[0]
    for key, name, pick in (
        ("khz_now", "scaling_cur_freq", min),
        ("khz_allowed", "scaling_max_freq", min),
        ("khz_max", "cpuinfo_max_freq", max),
    ):
        if known := [khz for khz in map(number, values.get(name, [])) if khz]:
            found[key] = pick(known)
    return found


def _idle(reading: Reading) -> dict[str, Any]:
    """Idle states in use and the time in µs that waking from each takes."""
    folder = f"{_CPU}/cpu0/cpuidle"
    files = dict(below(reading.files, folder))
    states = {path.partition("/")[0] for path in files}
    known = {
        files[f"{state}/name"].strip(): number(files.get(f"{state}/latency"))
        for state in sorted(states)
        if f"{state}/name" in files and number(files.get(f"{state}/disable")) == 0
    }
    return {"idle_states_us": known} if known else {}


def ticks(stat: str | None) -> dict[str, dict[str, int]]:
    """Time by processor and kind, in ticks, from `/proc/stat`."""
    found = {}
    for line in (stat or "").splitlines():
        words = line.split()
        if words and re.fullmatch(r"cpu\d+", words[0]):
            found[words[0].removeprefix("cpu")] = dict(zip(FIELDS, map(int, words[1:]), strict=False))
    return found


def shares(before: str | None, after: str | None) -> dict[str, dict[str, float]]:
    """Share of the time between two readings of `/proc/stat`, by processor and kind.

    `busy` is all but idle.
    """
    earlier = ticks(before)
    found = {}
    for cpu, now in ticks(after).items():
        spent = {kind: count - earlier.get(cpu, {}).get(kind, 0) for kind, count in now.items()}
        if (total := sum(spent.values())) > 0:
            share = {kind: round(count / total, 4) for kind, count in spent.items()}
            found[cpu] = share | {"busy": round(1 - share["idle"] - share["iowait"], 4)}
    return found


def busy(before: str | None, after: str | None) -> dict[str, Any]:
    """What two readings of `/proc/stat` add: how busy the processors are, and how much is stolen."""
    known = shares(before, after)
    if not known:
        return {}
    mean: Mapping[str, float] = {
        kind: fmean(one.get(kind, 0.0) for one in known.values()) for kind in (*FIELDS, "busy")
    }
    return {
        "busy": {cpu: one["busy"] for cpu, one in known.items()},
        "mean": {kind: round(mean[kind], 4) for kind in ("busy", "softirq", "steal", "iowait")},
    }


def pressures(text: str | None) -> dict[str, float]:
    """`some` and `full` of a pressure file (`Documentation/accounting/psi.rst`): percent of the last 10 s."""
    found = {}
    for line in (text or "").splitlines():
        words = line.split()
        average = next((word.partition("=")[2] for word in words if word.startswith("avg10=")), None)
        if average is not None:
            found[words[0]] = float(average)
    return found
