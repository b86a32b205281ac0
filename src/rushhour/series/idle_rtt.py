"""The idle path's RTT as a sender sees it, where patterns change delays.

An acknowledgement that arrives now crossed its links before: each at its own instant, with the delay of that
instant, after the time that it took to be sent, and a wire keeps order. And what a kernel tells is smoothed
over many of them. A queue's share of a smoothed RTT is found only by taking off the idle RTT of the same
instants, smoothed in the same way.
"""

from __future__ import annotations

from itertools import accumulate
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from rushhour.record import courses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from rushhour.record.context import Context, End, Flow

    Numbers = NDArray[np.float64]
    Truth = NDArray[np.bool_]

# RFC 6298's alpha, as tcp_rtt_estimator() has it.
GAIN = 1 / 8
_FOREVER_S = 1e9
_INSTANT_S = 20e-6
# The queue decides which delay the wire behind it had, that delay how long the queue was.
_ROUNDS = 3
_HALVINGS = 26
_EACH = slice(None)
_SETTINGS = ("delay_ns", "jitter_ns", "serial_bps")


def varies(flow: Flow, ends: Mapping[int, End]) -> bool:
    """Whether a delay, a jitter or the time that packets take to be sent changes on a flow's path."""
    return any(_varying(end) for end, _ in _crossed(flow, ends))


def _varying(end: End) -> bool:
    return not set(end.over_time).isdisjoint(_SETTINGS)


def _crossed(flow: Flow, ends: Mapping[int, End]) -> Iterator[tuple[End, int]]:
    """The ends of a round trip in order, each with the bytes of the frame that crosses it."""
    for numbers, size in (
        (flow.ends, flow.request_frame_bytes),
        (flow.reverse_ends, flow.answer_frame_bytes),
    ):
        yield from ((ends[number], size) for number in numbers if number in ends)


def _idle_s(end: End, size: int) -> float:
    """What a frame of `size` bytes takes at an end on average, as a flow's `base_rtt_ns` counts it, in s."""
    return (end.delay_ns + end.jitter_ns / 2 + courses.sent_ns(end, size)) * 1e-9


def _crossing_s(end: End, size: int, t_s: Numbers) -> Numbers:
    """What it takes with the settings of each instant in s [n], in s [n], whoever is ahead."""
    delay = courses.setting(end, "delay_ns", t_s) + courses.setting(end, "jitter_ns", t_s) / 2
    rate = courses.setting(end, "serial_bps", t_s)
    sent = np.divide(size * 8, rate, out=np.zeros(len(t_s)), where=rate > 0)
    took: Numbers = delay * 1e-9 + sent
    return took


def of_answers(flow: Flow, ends: Mapping[int, End], t_s: Numbers) -> Numbers | None:
    """Idle RTT in ns that the answers arriving at instants in seconds [n] have met; None if it is not known.

    Time in queues is not among it: where a wire that changes lies before the queue, a change is seen by so
    much too early.
    """
    if flow.base_rtt_ns is None:
        return None
    total = np.full(len(t_s), float(flow.base_rtt_ns))
    at = t_s
    blur_s = _INSTANT_S + 1e-9 * sum(end.jitter_ns for end, _ in _crossed(flow, ends))
    for end, size in reversed([*_crossed(flow, ends)]):
        mean = _idle_s(end, size)
        if _varying(end):
            entered = _entries(end, size, at, blur_s)
            total += (at - entered - mean) * 1e9
            at = entered
        else:
            at = at - mean
    return total


class _Wire:
    """A wire that changes, as a frame of some size crosses it: columns by instants in s, made once."""

    def __init__(self, end: End, size: int) -> None:
        self._instants = courses.instants([end]) * 1e-9
        self._took = _crossing_s(end, size, self._instants)
        self.entered, self.left = self._breakpoints()

    def _breakpoints(self) -> tuple[Numbers, Numbers]:
        """When a packet entered, when it came out; both rise.

        No packet overtakes another, so behind a delay that fell they come out at one instant. Three points a
        step: its beginning, from when on nobody is ahead any more, its end. Packets are taken to enter all
        the time.
        """
        entered, left, last = [], [], -_FOREVER_S
        begins = [-_FOREVER_S, *self._instants[1:].tolist()]
        for begin, done, delay in zip(begins, [*begins[1:], _FOREVER_S], self._took.tolist(), strict=True):
            first = max(last, begin + delay)
            last = max(first, done + delay)
            entered += [begin, min(first - delay, done), done]
            left += [first, first, last]
        return np.array(entered), np.array(left)

    def alone(self, at_s: Numbers) -> Numbers:
        """When what enters at instants [n] comes out with nobody ahead."""
        return at_s + self._took[courses.step_at(self._instants, at_s)]

    def behind(self, at_s: Numbers) -> Numbers:
        """When it comes out behind somebody who is always just ahead."""
        out: Numbers = np.interp(at_s, self.entered, self.left)
        return out


def _entries(end: End, size: int, t_s: Numbers, blur_s: float) -> Numbers:
    """When what leaves a wire at instants [n] entered it.

    `blur_s`: how far apart packets may arrive that came out at one instant.
    """
    wire = _Wire(end, size)
    found: Numbers = np.interp(t_s, wire.left, wire.entered)
    steps = (wire.entered[0::3], wire.entered[1::3], wire.left[0::3])
    for first, last, out in zip(*(column.tolist() for column in steps), strict=True):
        if last > first:
            at = np.flatnonzero(np.abs(t_s - out) <= blur_s)
            found[at] = first + (last - first) * np.arange(1, len(at) + 1) / max(1, len(at))
    return found


def of_packets(context: Context, flow: Flow, sent_s: Numbers, rtt_s: Numbers) -> Numbers | None:
    """Idle RTT in ns of a flow's packets sent at instants in s [n] whose answers took `rtt_s` [n]; or None.

    What they took beyond it they spent in the bottleneck's queue, behind which a wire may be another one.
    Behind a delay that fell, a packet waits for those ahead of it. Those of its own flow are known. Where
    others share the wire, theirs are not. Either way, what can be such waiting is no queue.
    """
    if flow.base_rtt_ns is None:
        return None
    every = context.flows.values()
    common = {
        number for number in flow.path if any(number in other.path for other in every if other.id != flow.id)
    }
    trip = _Trip([*_crossed(flow, context.ends)], flow.bottleneck_end, common, sent_s, rtt_s)
    mean = flow.base_rtt_ns * 1e-9 - fsum(_idle_s(end, size) for end, size in trip.crossed)
    blur_s = _INSTANT_S + 1e-9 * sum(end.jitter_ns for end, _ in trip.crossed)
    base = sent_s
    for _ in range(_ROUNDS):
        waited = np.zeros(len(sent_s))
        taken, behind = trip.taken_s(waited)
        most = mean + taken
        # Who waits in a queue for longer than for those ahead on the wire does not wait for them.
        queued = rtt_s - most > blur_s
        waited[queued] = trip.waited_s(rtt_s[queued] - mean, queued)
        base = np.where(queued, rtt_s - waited, np.clip(rtt_s, most - behind, most))
        trip.let_out(waited)
    total: Numbers = base * 1e9
    return total


class _Trip:
    """Round trips begun at instants in s [n] that took so long [n], over `crossed` with each frame's bytes.

    Packets wait in the queue of end `queue`. At `shared` ends somebody may always be just ahead, elsewhere
    only the packets before.
    """

    def __init__(
        self,
        crossed: Sequence[tuple[End, int]],
        queue: int | None,
        shared: AbstractSet[int],
        sent_s: Numbers,
        rtt_s: Numbers,
    ) -> None:
        self.crossed = crossed
        self._queue = queue
        self._shared = shared
        self._sent_s = sent_s
        self._wires = {end.end: _Wire(end, size) for end, size in crossed if _varying(end)}
        # When the one ahead came out of each wire that changes. Of the last one its arrival tells.
        self._ahead = {number: np.full(len(sent_s), -_FOREVER_S) for number in self._wires}
        last = next((n for n, (end, _) in enumerate(reversed(crossed)) if _varying(end)), 0)
        rest_s = fsum(_idle_s(end, size) for end, size in crossed[len(crossed) - last :])
        self._outs = {crossed[-last - 1][0].end: np.maximum.accumulate(sent_s + rtt_s) - rest_s}
        self._put(self._outs)

    def taken_s(self, waited: Numbers, among: Truth | slice = _EACH) -> tuple[Numbers, Numbers]:
        """What the ends take in s [n] without what was `waited` [n]; how much of it behind others at most.

        `among` says of which trips, by default of all.
        """
        taken, behind = np.zeros(len(waited)), np.zeros(len(waited))
        for _, at, alone, out in self._ways(waited, among):
            taken += out - at
            behind += out - alone
        return taken, behind

    def waited_s(self, whole_s: Numbers, among: Truth) -> Numbers:
        """The least wait in the queue in s [n] with which the ends take `whole_s` [n] in all.

        Where a delay rises it may lie between what is too short and too long, so it is halved.
        """
        least, most = np.zeros(len(whole_s)), np.zeros(len(whole_s))
        for _ in range(_ROUNDS):
            taken, behind = self.taken_s(most, among)
            lacking = whole_s - most - taken
            most = most + np.where(lacking > 0, lacking + behind, 0.0)
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            early = middle + self.taken_s(middle, among)[0] < whole_s
            least, most = np.where(early, middle, least), np.where(early, most, middle)
        return most

    def let_out(self, waited: Numbers) -> None:
        """Take it that packets wait for so long [n]; from now on those behind know it."""
        self._put({number: out for number, _, _, out in self._ways(waited, _EACH)} | self._outs)

    def _put(self, outs: Mapping[int, Numbers]) -> None:
        for number in self._ahead.keys() & outs.keys():
            self._ahead[number][1:] = np.maximum.accumulate(outs[number])[:-1]

    def _ways(self, waited: Numbers, among: Truth | slice) -> Iterator[tuple[int, Numbers, Numbers, Numbers]]:
        """Each end, when packets enter it, and leave it with nobody ahead, and as it is, in s [n]."""
        at = self._sent_s[among]
        for end, size in self.crossed:
            at = at + waited if end.end == self._queue else at
            alone = out = at + _idle_s(end, size)
            wire = self._wires.get(end.end)
            if wire is not None:
                alone = wire.alone(at)
                # As behind somebody who is always just ahead, at most: who came earlier had a longer delay.
                most = np.maximum(alone, wire.behind(at))
                ahead = self._ahead[end.end][among]
                out = most if end.end in self._shared else np.clip(ahead, alone, most)
            yield end.end, at, alone, out
            at = out


def of_crossing_syns(flow: Flow, srtt: Numbers) -> float | None:
    """What a flow whose SYNs crossed held its idle RTT for at first, in ns; None without estimates in µs [n].

    A SYN that goes again as a SYN-ACK is stamped anew (tcp_send_synack). The other end's SYN-ACK answers the
    first of the two and is taken as the answer to the second: half a round trip, where both begin at once.
    """
    known = srtt[~np.isnan(srtt)]
    if flow.base_rtt_ns is None or not len(known):
        return None
    return float(min(known[0] * 1e3, flow.base_rtt_ns))


def smoothed(base: Numbers, srtt: Numbers, first: float | None = None) -> Numbers:
    """Idle RTTs of the packets that each ACK acknowledged [n], smoothed as the kernel smoothed its own [n].

    An event shows the estimate before its own ACK, so what changed in it came with the ACK before. `first`:
    what was held before all of them, if not the first idle RTT.
    """
    if not len(base):
        return base
    initial = float(base[0]) if first is None else first
    measured = np.flatnonzero(np.diff(srtt) != 0)
    steps = accumulate(base[measured].tolist(), lambda held, new: held + GAIN * (new - held), initial=initial)
    held = np.fromiter(steps, np.float64, len(measured) + 1)
    known: Numbers = held[np.searchsorted(measured, np.arange(len(base)), side="left")]
    return known


def smoothed_between(
    flow: Flow, ends: Mapping[int, End], t_s: Numbers, acks: Numbers, first: float | None = None
) -> Numbers | None:
    """The same at samples [n], with as many ACKs before each as `acks` counts up [n]."""
    base = of_answers(flow, ends, t_s)
    if base is None or not len(base) or (first is None and not varies(flow, ends)):
        return base
    kept = (1 - GAIN) ** np.maximum(np.diff(acks), 0)
    held = [float(base[0]) if first is None else first]
    for keep, before, now in zip(kept.tolist(), base[:-1].tolist(), base[1:].tolist(), strict=True):
        # The ACKs of an interval met what was between its two ends.
        held.append((before + now) / 2 + keep * (held[-1] - (before + now) / 2))
    return np.array(held)
