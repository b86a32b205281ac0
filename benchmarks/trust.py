"""The agent's flows against iperf3's, on the same path of this machine's kernel.

One plan (two namespaces, a veth pair, offloads on, nothing shaped) is carried out with either generator, in
turn. On one processor for all both have equal CPU, so the rates are to be compared; on all processors rate by
CPU second is. Soft interrupts run in the time of who sends, so they are on its account. UDP at a set rate:
the same packet socket at the receiver stamps both.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.lab import agent
from rushhour.lab.base import canonical

from .arrivals import Arrivals
from .measure import Figure, cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from .workshop import Workshop

PATH = """
title = "One cable"
duration = "{seconds}s"
labs = ["netns"]
[[link]]
between = ["a", "b"]
jitter = "0us"
offload = true
[[flow]]
duration = "{sends}s"
{flow}
[readings]
tcp_probe = false
events = false
tcp_info = false
qdisc = false
"""
TCP = 'cc = "cubic"\nmessage = "128KiB"'
UDP = 'kind = "udp"\nrate = "{rate}"\npacket = "1472B"'
PORT = 5001


@dataclass(frozen=True)
class Once:
    """One run: payload that arrived by time, CPU seconds of all that took part, loss, datagrams' arrivals."""

    bps: float
    cpu_s: float
    loss: float
    stamps_ns: list[int]


def against_iperf3(shop: Workshop) -> Iterator[Figure]:
    """TCP on one processor and on all, UDP at 100 Mbit/s and 1 Gbit/s."""
    if os.geteuid() != 0 or shutil.which("iperf3") is None:
        yield Figure("against iperf3", "x", [float("nan")], note="needs root and iperf3")
        return
    cpus = sorted(os.sched_getaffinity(0))
    yield _goodput(shop, "TCP goodput on one processor, of iperf3's", cpus[:1], per_cpu=False)
    yield _goodput(shop, "TCP goodput by CPU second, of iperf3's", cpus, per_cpu=True)
    yield from _pacing(shop, cpus)
    yield from _fast(shop, cpus)


def _goodput(shop: Workshop, name: str, cpus: list[int], *, per_cpu: bool) -> Figure:
    ours, theirs = _in_turn(shop, TCP, cpus)

    def worth(one: Once) -> float:
        return one.bps / one.cpu_s if per_cpu else one.bps

    ratios = [worth(a) / worth(b) for a, b in zip(ours, theirs, strict=True)]
    rates = [median(one.bps for one in runs) / 1e9 for runs in (ours, theirs)]
    note = f"{rates[0]:.1f} against {rates[1]:.1f} Gbit/s"
    return Figure(name, "x", ratios, target=1.0, at_least=True, note=note)


def _pacing(shop: Workshop, cpus: list[int]) -> Iterator[Figure]:
    """How far gaps between datagrams at 100 Mbit/s are from what the rate asks for."""
    gap_us = 1472 * 8 / 100
    for name, runs in zip(("agent", "iperf3"), _in_turn(shop, UDP.format(rate="100mbit"), cpus), strict=True):
        gaps = [np.diff(one.stamps_ns) / 1e3 for one in runs]
        errors = [float(np.percentile(np.abs(one - gap_us), 95)) for one in gaps]
        title = f"UDP 100 Mbit/s, {name}: 95 % of gaps off by at most (of {gap_us:.0f} µs)"
        yield Figure(title, "µs", errors, note=_said(runs, 100e6))


def _fast(shop: Workshop, cpus: list[int]) -> Iterator[Figure]:
    """What is lost and reached at 1 Gbit/s; too fast for a packet socket, so by their own accounts."""
    for name, runs in zip(("agent", "iperf3"), _in_turn(shop, UDP.format(rate="1gbit"), cpus), strict=True):
        yield Figure(
            f"UDP 1 Gbit/s, {name}: loss", "%", [100 * one.loss for one in runs], note=_said(runs, 1e9)
        )


def _said(runs: list[Once], bps: float) -> str:
    reached = median(one.bps / (1 - one.loss) for one in runs)
    lost = median(one.loss for one in runs)
    return f"sent {100 * (reached / bps - 1):+.2f} % of the rate; loss {100 * lost:.3f} %"


def _in_turn(shop: Workshop, flow: str, cpus: list[int]) -> tuple[list[Once], list[Once]]:
    """Runs of both, in turn, so that what changes on the machine meets both; the first pair only warms up."""
    found: tuple[list[Once], list[Once]] = ([], [])
    for number in range(shop.times + 1):
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            more = '\ngenerator = "iperf3"' if which else ""
            once = _once(shop, flow + more, cpus)
            if number:
                found[which].append(once)
    return found


def _once(shop: Workshop, flow: str, cpus: list[int]) -> Once:
    sends = 1 if shop.quick else 3
    text = PATH.format(seconds=sends + 1, sends=sends, flow=flow)
    folder, before = shop.place(), cpu_seconds()
    folder.mkdir()
    plan = shop.job(text).plan
    (folder / "plan.json").write_text(canonical(plan), encoding="utf-8")
    words = ["taskset", "-c", ",".join(map(str, cpus)), "unshare", "--net", "--mount"]
    with subprocess.Popen([*words, str(agent.find().binary), "run", str(folder)]) as running:
        arrivals = Arrivals(running.pid, PORT) if "100mbit" in flow else None
        running.wait(60)
    stamps = arrivals.stop() if arrivals else []
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if not result["ok"]:
        raise RuntimeError(f"the agent in the host's namespaces: {result['error']}")
    arrived, loss = _counted(result, folder, flow)
    return Once(8 * arrived / sends, cpu_seconds() - before, loss, stamps)


def _counted(result: Mapping[str, Any], folder: Path, flow: str) -> tuple[int, float]:
    """Bytes of payload that arrived and the share of datagrams that did not, by the program's account."""
    if "iperf3" not in flow:
        end = result["flows"][0]
        sent = end["packets_sent"]
        return end["bytes_received"], 1 - end["packets_received"] / sent if "udp" in flow else 0.0
    (path,) = (folder / "raw").glob("iperf3-*-client.json")
    told = json.loads(path.read_text(encoding="utf-8"))["end"]
    if "udp" not in flow:
        return told["sum_received"]["bytes"], 0.0
    whole = told["sum"]
    return whole["bytes"] * (1 - whole["lost_percent"] / 100), whole["lost_percent"] / 100
