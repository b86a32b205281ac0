"""The virtual kernel's cost of a packet against that of this machine's own kernel, on the same path.

The agent carries out the same plan (client, router, server; a token bucket on the router; offloads off) in a
virtual kernel and in network namespaces of the host. There the rate is beyond reach, so that the host's
kernel is never idle and what it does in soft interrupts is on the agent's account. That needs root; events
and readings are off, for they are the virtual lab's own.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from rushhour.lab import agent
from rushhour.lab.base import canonical
from rushhour.running import runner

from .measure import Cost, Figure, costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from .workshop import Workshop

PATH = """
title = "Client, router, server"
duration = "{seconds}s"
sample = "100ms"
[topology]
preset = "dumbbell"
rate = "{rate}"
delay = "0us"
jitter = "0us"
buffer = "500kB"
[[flow]]
cc = "cubic"
[readings]
tcp_probe = false
events = false
tcp_info = false
qdisc = false
"""


def against_native(shop: Workshop) -> Iterator[Figure]:
    """CPU time per data packet, ours by theirs; wall-clock time says nothing where time itself differs."""
    if os.geteuid() != 0:
        yield Figure("per packet, of the native kernel's", "x", [float("nan")], note="needs root")
        return
    lab, seconds = runner.make_lab("uml"), 1 if shop.quick else 3
    job = shop.job(PATH.format(seconds=seconds, rate="1gbit"))
    idle = shop.job(PATH.format(seconds=seconds, rate="1gbit").replace("[[flow]]", '[[flow]]\nbytes = "1kB"'))
    ours = _per_packet(shop, lambda: shop.run(lab, job).result, lambda: shop.run(lab, idle).result)
    program = agent.find().binary
    fast = shop.job(PATH.format(seconds=seconds, rate="10gbit"))
    theirs = _per_packet(
        shop, lambda: _natively(shop, program, fast.plan), lambda: _natively(shop, program, idle.plan)
    )
    yield Figure(
        "per packet, of the native kernel's",
        "x",
        [a / b for a, b in zip(ours, theirs, strict=True)],
        target=1.2,
        note=f"{min(ours) * 1e6:.1f} µs against {min(theirs) * 1e6:.1f} µs of CPU",
    )


def _per_packet(
    shop: Workshop, busy: Callable[[], Mapping[str, Any]], idle: Callable[[], Mapping[str, Any]]
) -> list[float]:
    """CPU seconds a data packet, without what the run costs when nothing is sent."""
    results: list[Mapping[str, Any]] = []
    base = min(one.cpu for one in costs(idle, 2))
    found: list[Cost] = costs(lambda: results.append(busy()), shop.times)
    return [
        (one.cpu - base) / (result["flows"][0]["bytes_received"] / 1448)
        for one, result in zip(found, results[1:], strict=True)
    ]


def _natively(shop: Workshop, program: Path, plan: Mapping[str, Any]) -> Mapping[str, Any]:
    folder = shop.place()
    folder.mkdir()
    (folder / "plan.json").write_text(canonical(plan), encoding="utf-8")
    cpu = str(min(os.sched_getaffinity(0)))
    words = ["taskset", "-c", cpu, "unshare", "--net", "--mount", str(program), "run", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if done.returncode != 0:
        raise RuntimeError(f"the agent in the host's namespaces: {result.get('error')}")
    return result
