"""The idle path's RTT as a sender sees it, where patterns change delays.

An acknowledgement that arrives now crossed its links before: each at its own instant, with the delay of that
instant, and a wire keeps order. And what a kernel tells is smoothed over many of them. A queue's share of a
smoothed RTT is found only by taking off the idle RTT of the same instants, smoothed in the same way.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from rushhour import courses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rushhour.context import End, Flow

# RFC 6298's alpha, as tcp_rtt_estimator() has it.
GAIN = 1 / 8
_FOREVER_S = 1e9
_INSTANT_S = 20e-6
# The queue decides which delay the wire behind it had, that delay how long the queue was.
_ROUNDS = 3


def varies(flow: Flow, ends: Mapping[int, End]) -> bool:
    """Whether a delay or jitter on a flow's path changes."""
    return any(_varying(ends.get(number)) for number in flow.path)


def _varying(end: End | None) -> bool:
    return end is not None and bool({"delay_ns", "jitter_ns"} & set(end.over_time))


def of_answers(flow: Flow, ends: Mapping[int, End], t_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Idle RTT in ns that the answers arriving at instants in seconds [n] have met; None if it is not known.

    Time in queues is not among it: where a wire that changes lies before the queue, a change is seen by so
    much too early.
    """
    if flow.base_rtt_ns is None:
        return None
    total = np.full(len(t_s), float(flow.base_rtt_ns))
    at = t_s
    blur_s = _INSTANT_S + 1e-9 * sum(ends[number].jitter_ns for number in flow.path if number in ends)
    for number in reversed(flow.path):
        end = ends.get(number)
        if end is None:
            continue
        mean = end.delay_ns + end.jitter_ns / 2
        if _varying(end):
            entered = _entries(end, at, blur_s)
            total += (at - entered) * 1e9 - mean
            at = entered
        else:
            at = at - mean * 1e-9
    return total


def _passage(end: End) -> tuple[list[float], list[float]]:
    """A wire that changes as breakpoints in seconds: when a packet entered, when it came out; both rise.

    No packet overtakes another, so behind a delay that fell they come out at one instant. Three points a
    step: its beginning, from when on nobody is ahead any more, its end.
    """
    instants = courses.instants([end]) * 1e-9
    delays = courses.setting(end, "delay_ns", instants) + courses.setting(end, "jitter_ns", instants) / 2
    entered, left, last = [], [], -_FOREVER_S
    begins = [-_FOREVER_S, *instants[1:].tolist()]
    for begin, done, delay in zip(begins, [*begins[1:], _FOREVER_S], (delays * 1e-9).tolist(), strict=True):
        first = max(last, begin + delay)
        last = max(first, done + delay)
        entered += [begin, min(first - delay, done), done]
        left += [first, first, last]
    return entered, left


def _entries(end: End, t_s: NDArray[np.float64], blur_s: float) -> NDArray[np.float64]:
    """When what leaves a wire at instants [n] entered it.

    `blur_s`: how far apart packets may arrive that came out at one instant.
    """
    entered, left = _passage(end)
    found: NDArray[np.float64] = np.interp(t_s, np.array(left), np.array(entered))
    for first, last, out in zip(entered[0::3], entered[1::3], left[0::3], strict=True):
        if last > first:
            at = np.flatnonzero(np.abs(t_s - out) <= blur_s)
            found[at] = first + (last - first) * np.arange(1, len(at) + 1) / max(1, len(at))
    return found


def of_packets(
    flow: Flow, ends: Mapping[int, End], sent_s: NDArray[np.float64], rtt_s: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Idle RTT in ns of packets sent at instants in s [n] whose answers took `rtt_s` [n]; None if unknown.

    What they took beyond it they spent in the bottleneck's queue, behind which a wire may be another one.
    """
    if flow.base_rtt_ns is None:
        return None
    passages = {number: _passage(ends[number]) for number in flow.path if _varying(ends.get(number))}
    base, waited = np.full(len(sent_s), flow.base_rtt_ns * 1e-9), np.zeros(len(sent_s))
    for _ in range(_ROUNDS):
        base = np.full(len(sent_s), flow.base_rtt_ns * 1e-9)
        at = sent_s
        for number in flow.path:
            end = ends.get(number)
            if end is None:
                continue
            at = at + waited if number == flow.bottleneck_end else at
            mean = (end.delay_ns + end.jitter_ns / 2) * 1e-9
            out = np.interp(at, *passages[number]) if number in passages else at + mean
            base += out - at - mean
            at = out
        waited = np.maximum(rtt_s - base, 0.0)
    total: NDArray[np.float64] = base * 1e9
    return total


def smoothed(base: NDArray[np.float64], srtt: NDArray[np.float64]) -> NDArray[np.float64]:
    """Idle RTTs of the packets that each ACK acknowledged [n], smoothed as the kernel smoothed its own [n].

    An event shows the estimate before its own ACK, so what changed in it came with the ACK before.
    """
    if len(base) < 2:
        return base
    measured = np.flatnonzero(np.diff(srtt) != 0)
    steps = accumulate(base[measured].tolist(), lambda held, new: held + GAIN * (new - held), initial=base[0])
    held = np.fromiter(steps, np.float64, len(measured) + 1)
    known: NDArray[np.float64] = held[np.searchsorted(measured, np.arange(len(base)), side="left")]
    return known


def smoothed_between(
    flow: Flow, ends: Mapping[int, End], t_s: NDArray[np.float64], acks: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The same at samples [n], with as many ACKs before each as `acks` counts up [n]."""
    base = of_answers(flow, ends, t_s)
    if base is None or len(base) < 2 or not varies(flow, ends):
        return base
    kept = (1 - GAIN) ** np.maximum(np.diff(acks), 0)
    held = [float(base[0])]
    for keep, before, now in zip(kept.tolist(), base[:-1].tolist(), base[1:].tolist(), strict=True):
        # The ACKs of an interval met what was between its two ends.
        held.append((before + now) / 2 + keep * (held[-1] - (before + now) / 2))
    return np.array(held)
