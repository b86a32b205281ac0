"""What the measurements between two hosts show of causes: of losses, of processors, of a full path.

A record shows the same causes by what it has counted (`rushhour.explain.origins`). Sentences, remedies and
their order are those of every flow (`rushhour.causes.rules`). Only hosts have processors and quotas: a record
knows nothing of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.evidence import Shown
from rushhour.causes.thresholds import BUSY, FULL, MUCH_SOFTIRQ, NOISE, NOISE_NS, QUOTA, WORTH_SAYING
from rushhour.diagnosis import losses
from rushhour.quantities.short import percent, rate, time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.diagnosis.flow import MeasuredFlow
    from rushhour.diagnosis.measured import Cpu, Measured


def shown(e: MeasuredFlow, key: str, host: str) -> Shown | None:
    """What shows a cause, at this end if it is one of an end; None where nothing does."""
    if key in _OF_A_HOST:
        return _OF_A_HOST[key](e, host)
    return _OF_THE_PATH[key](e) if key in _OF_THE_PATH else losses.shown(e.m, e.tcp, key)


def is_full(cpu: Cpu) -> bool:
    """Whether a host has a processor that is full, or that is taken away."""
    return cpu.busiest >= BUSY or cpu.steal >= WORTH_SAYING


def _quota(e: MeasuredFlow, host: str) -> Shown | None:
    cpu = e.m.cpu.get(host)
    if cpu is None or (cpu.throttled or 0) <= QUOTA:
        return None
    most = e.quota(host)
    cpus = f" to {most:g} processors" if most is not None else ""
    law = f"its CPU quota stopped it for {percent(cpu.throttled or 0)} of the time"
    return Shown({"host": e.called(host), "cpus": cpus}, law, host=host)


def _busy(e: MeasuredFlow, host: str) -> Shown | None:
    cpu = e.m.cpu.get(host)
    if cpu is None or not is_full(cpu):
        return None
    taken = f", {percent(cpu.steal)} of it taken by the hypervisor" if cpu.steal >= WORTH_SAYING else ""
    law = f"its busiest processor was busy for {percent(cpu.busiest)} of the time"
    words = {"host": e.called(host), "busy": percent(cpu.busiest), "stolen": taken}
    return Shown(words, law, host=host)


def _limited(e: MeasuredFlow, host: str) -> Shown | None:
    cpu = e.m.cpu.get(host)
    if cpu is None or not is_full(cpu) or queued(e.m):
        return None
    soft = f", {percent(cpu.softirq)} of it in soft interrupts" if cpu.softirq >= MUCH_SOFTIRQ else ""
    law = f"a processor busy for {percent(cpu.busiest)}, and no queue on the way"
    return Shown({"host": e.called(host), "busy": percent(cpu.busiest), "soft": soft}, law, host=host)


def queued(m: Measured) -> bool:
    """Whether data waited: the round trip was longer by what scheduling noise does not explain."""
    idle, queue = m.idle_rtt_ns, m.queue_ns
    noise = max(NOISE_NS, NOISE * ((m.idle_rtt_p95_ns or 0) - (idle or 0)))
    return queue is not None and queue > noise


def _bufferbloat(e: MeasuredFlow) -> Shown | None:
    m = e.m
    if m.queue_ns is None or m.idle_rtt_ns is None or m.standing_ns is None:
        return None
    where = f"before the bottleneck {m.direction}"
    return Shown(
        {"where": where},
        queue=f"the queue {where}",
        wait_s=m.standing_ns / 1e9,
        idle_s=m.idle_rtt_ns / 1e9,
        rate_bps=m.capacity_bps or 1e6,
    )


def _path_rate(e: MeasuredFlow) -> Shown:
    most, got = e.m.capacity_bps or 0.0, rate(e.tcp.steady_bps)
    law = f"{got} ≥ {percent(FULL)} of {rate(most)}, the most that ever arrived"
    if queued(e.m):
        law += f", and a queue of {time((e.m.queue_ns or 0) / 1e9)}"
    words = {"flow": f"One flow {e.m.direction}", "had": f"{got} of {rate(most)}", "how": "the path was full"}
    return Shown(words, law)


_OF_A_HOST: Mapping[str, Callable[[MeasuredFlow, str], Shown | None]] = {
    "cpu-quota": _quota,
    "cpu-busy": _busy,
    "cpu-limited": _limited,
}
_OF_THE_PATH: Mapping[str, Callable[[MeasuredFlow], Shown | None]] = {
    "bufferbloat": _bufferbloat,
    "path-rate": _path_rate,
}
KEYS = frozenset((*_OF_A_HOST, *_OF_THE_PATH))
"""Causes that these show; of losses `losses.SHOWN`."""
