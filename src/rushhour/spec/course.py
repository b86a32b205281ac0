"""Courses: the instants at which a pattern changes its key, and the values from then on.

Takes a `Pattern`, the experiment's length, the traces and a seed; gives whole numbers that the plan can
carry: bit/s, ns, or a probability.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from rushhour.quantities.units import Duration, Probability, Rate, UnitError
from rushhour.spec.trace import TraceError, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.spec.pattern import Pattern, Value

FINEST_NS = 1_000_000  # between two changes: a thread wakes for each
MOST = 20_000  # changes of one pattern
LONGEST_OUTAGE_NS = 60 * 10**9  # htb forgets what it owes after a minute
_LEAST_BPS = 8
_DEFAULT_BIN_NS = 100_000_000
_PARTS = 50  # of a period or a ramp, where the pattern does not say how often

Course = tuple[tuple[int, float], ...]
Path = tuple[str | int, ...]


class CourseError(ValueError):
    """A pattern that makes no sense: the key to blame within it, what is wrong, what to do."""

    def __init__(self, path: Path, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


def quantity(key: str, value: Value, path: Path) -> float:
    """Read a value of a key as bit/s, ns or a probability. Raises CourseError for a word of another unit."""
    try:
        if key == "rate":
            return float(Rate.parse(value).bps)
        if key == "loss":
            return Probability.parse(value).p
        return float(Duration.parse(value).ns)
    except UnitError as error:
        raise CourseError(path, str(error)) from error


def course(pattern: Pattern, span_ns: int, traces: Mapping[str, str], seed: int) -> Course:
    """Give the course of a pattern within the experiment: ascending instants in ns, values from then on.

    Values that equal the one before them are left out. Raises CourseError.
    """
    rough = _WAYS[pattern.way](pattern, span_ns, traces, seed)
    if not rough:
        raise CourseError(
            (pattern.way,), "has no instant", 'for example [["0s", "100mbit"], ["5s", "20mbit"]]'
        )
    changes = [(t_ns, value) for t_ns, value in rough if t_ns < span_ns]
    if not changes:
        raise CourseError(
            (pattern.way,),
            f"begins at {rough[0][0] / 1e9:g} s, when the experiment of {span_ns / 1e9:g} s is over",
            "let it begin earlier, or the experiment last longer",
        )
    kept = [
        now
        for before, now in zip([None, *changes], changes, strict=False)
        if before is None or before[1] != now[1]
    ]
    _check(pattern, kept, span_ns)
    return tuple(kept)


def _check(pattern: Pattern, changes: list[tuple[int, float]], span_ns: int) -> None:
    way = (pattern.way,)
    if len(changes) > MOST:
        raise CourseError(
            way, f"changes {len(changes)} times, at most {MOST} are possible", "change less often"
        )
    if pattern.key == "rate" and changes and changes[0] == (0, 0.0):
        raise CourseError(
            way, "begins with an outage: the link could not be calibrated", "let it begin a little later"
        )
    ends = [t_ns for t_ns, _ in changes[1:]] + [span_ns]
    for (begin, value), end in zip(changes, ends, strict=True):
        if end - begin < FINEST_NS and end < span_ns:
            raise CourseError(
                way, f"changes at {begin / 1e6:g} ms and {end / 1e6:g} ms", "1 ms or more must lie between"
            )
        if pattern.key == "rate" and 0 < value < _LEAST_BPS:
            raise CourseError(way, f"a rate of {value:g} bit/s carries nothing", 'at least "8bit", or "0bit"')
        if pattern.key == "rate" and value == 0 and end - begin > LONGEST_OUTAGE_NS:
            raise CourseError(
                way,
                f"an outage of {(end - begin) / 1e9:g} s is longer than a shaper can wait, 60 s",
                'a pattern of loss = "100%" has no limit',
            )


def _steps(pattern: Pattern, span_ns: int, _traces: Mapping[str, str], _seed: int) -> list[tuple[int, float]]:
    changes: list[tuple[int, float]] = []
    for index, (instant, value) in enumerate(pattern.steps or ()):
        if changes and instant.ns <= changes[-1][0]:
            raise CourseError(
                ("steps", index), f'"{instant}" does not come after the step before it', "in order"
            )
        changes.append((instant.ns, quantity(pattern.key, value, ("steps", index, 1))))
    if pattern.length is None:
        if pattern.at_end in ("repeat", "error"):
            raise CourseError(
                ("at_end",),
                f'"{pattern.at_end}": steps alone have no length',
                'give it, for example length = "20s"',
            )
        return changes
    if changes and changes[-1][0] >= pattern.length.ns:
        raise CourseError(("length",), f'"{pattern.length}" ends before the last step', "make it longer")
    return _to_the_end(pattern, changes, pattern.length.ns, span_ns)


def _trace(pattern: Pattern, span_ns: int, traces: Mapping[str, str], _seed: int) -> list[tuple[int, float]]:
    name = pattern.trace or ""
    if name not in traces:
        raise CourseError(
            ("trace",), f'there is no trace "{name}"', "a file beside the scenario, or a key of [trace]"
        )
    every = pattern.every.ns if pattern.every else _DEFAULT_BIN_NS
    if every < FINEST_NS:
        raise CourseError(("every",), f'"{pattern.every}" is less than 1 ms')
    try:
        changes, length_ns = read_trace(traces[name], pattern.key, every)
    except TraceError as error:
        raise CourseError(("trace",), f"{name}, line {error.line}: {error}", error.hint) from error
    return _to_the_end(pattern, changes, pattern.length.ns if pattern.length else length_ns, span_ns)


def _to_the_end(
    pattern: Pattern, changes: list[tuple[int, float]], length_ns: int, span_ns: int
) -> list[tuple[int, float]]:
    """What becomes of a pattern of known length: as `at_end` says where the experiment is longer."""
    inside = [(t_ns, value) for t_ns, value in changes if t_ns < length_ns]
    if length_ns >= span_ns or pattern.at_end == "hold" or not inside:
        return inside
    if pattern.at_end == "repeat":
        if length_ns < FINEST_NS:
            raise CourseError(("at_end",), f"a pattern of {length_ns} ns is too short to repeat")
        passes = range(-(-span_ns // length_ns))
        if len(passes) * len(inside) > 2 * MOST:
            raise CourseError(("at_end",), f"repeats {len(passes)} times", "make the pattern longer")
        return [(t_ns + number * length_ns, value) for number in passes for t_ns, value in inside]
    raise CourseError(
        (pattern.way,),
        f"lasts {length_ns / 1e9:g} s, the experiment {span_ns / 1e9:g} s",
        'shorten the experiment, or say at_end = "hold" or "repeat"',
    )


def _sine(pattern: Pattern, span_ns: int, _traces: Mapping[str, str], _seed: int) -> list[tuple[int, float]]:
    sine = pattern.sine
    assert sine is not None
    mean = quantity(pattern.key, sine.mean, ("sine", "mean"))
    amplitude = quantity(pattern.key, sine.amplitude, ("sine", "amplitude"))
    if amplitude > mean or (pattern.key == "loss" and mean + amplitude > 1):
        limit = f"the mean, {sine.mean}" if amplitude > mean else "what is left to 100 %"
        raise CourseError(
            ("sine", "amplitude"), f"{sine.amplitude} is more than {limit}: the sine leaves its range"
        )
    every = _every(sine.every, sine.period, ("sine", "every"), ("sine", "period"))

    def value(t_ns: float) -> float:
        return mean + amplitude * math.sin(2 * math.pi * (t_ns / sine.period.ns + sine.phase))

    return _sampled(pattern, value, every, span_ns)


def _ramp(pattern: Pattern, span_ns: int, _traces: Mapping[str, str], _seed: int) -> list[tuple[int, float]]:
    ramp = pattern.ramp
    assert ramp is not None
    first = quantity(pattern.key, ramp.from_, ("ramp", "from"))
    last = quantity(pattern.key, ramp.to, ("ramp", "to"))
    over = ramp.over or Duration(span_ns)
    every = _every(ramp.every, over, ("ramp", "every"), ("ramp", "over"))
    changes = _sampled(
        pattern, lambda t_ns: first + (last - first) * t_ns / over.ns, every, min(over.ns, span_ns)
    )
    return [*changes, (over.ns, last)]


def _square(
    pattern: Pattern, span_ns: int, _traces: Mapping[str, str], _seed: int
) -> list[tuple[int, float]]:
    square = pattern.square
    assert square is not None
    high = quantity(pattern.key, square.high, ("square", "high"))
    low = quantity(pattern.key, square.low, ("square", "low"))
    length = square.period.ns
    if length < 2 * FINEST_NS:
        raise CourseError(("square", "period"), f'"{square.period}" is less than 2 ms')
    passes = range(min(MOST, -(-span_ns // length)))
    return [
        change
        for begin in (number * length for number in passes)
        for change in ((begin, high), (begin + round(length * square.duty), low))
    ]


def _walk(pattern: Pattern, span_ns: int, _traces: Mapping[str, str], seed: int) -> list[tuple[int, float]]:
    walk = pattern.walk
    assert walk is not None
    start, step, low, high = (
        quantity(pattern.key, getattr(walk, name), ("walk", name)) for name in ("start", "step", "min", "max")
    )
    if not low <= start <= high:
        raise CourseError(("walk", "start"), f"{walk.start} is not between {walk.min} and {walk.max}")
    if step > high - low:
        raise CourseError(("walk", "step"), f"{walk.step} is more than the way from {walk.min} to {walk.max}")
    if walk.every.ns < FINEST_NS:
        raise CourseError(("walk", "every"), f'"{walk.every}" is less than 1 ms')
    changes, value = [], start
    for number in range(min(MOST + 1, -(-span_ns // walk.every.ns))):
        changes.append((number * walk.every.ns, _rounded(pattern.key, value)))
        value += step * (2 * _uniform(seed, pattern.label, number) - 1)
        value = 2 * low - value if value < low else 2 * high - value if value > high else value
    return changes


def _uniform(seed: int, name: str, number: int) -> float:
    """The same number from 0 to below 1 for the same words, on every machine."""
    digest = hashlib.sha256(f"walk/{seed}/{name}/{number}".encode()).digest()
    return (int.from_bytes(digest[:8]) >> 11) / 2**53


def _every(every: Duration | None, whole: Duration, path: Path, whole_path: Path) -> int:
    if whole.ns < 2 * FINEST_NS:
        raise CourseError(whole_path, f'"{whole}" is less than 2 ms')
    if every is None:
        return max(FINEST_NS, whole.ns // _PARTS)
    if every.ns < FINEST_NS or every.ns > whole.ns // 2:
        raise CourseError(path, f'"{every}" is not between "1ms" and the half of "{whole}"')
    return every.ns


def _sampled(
    pattern: Pattern, value: Callable[[float], float], every: int, until: int
) -> list[tuple[int, float]]:
    """The value in the middle of each interval, from its beginning on: the mean of a period is exact."""
    count = min(MOST + 1, -(-until // every))
    return [
        (number * every, _rounded(pattern.key, max(0.0, value((number + 0.5) * every))))
        for number in range(count)
    ]


def _rounded(key: str, value: float) -> float:
    return value if key == "loss" else float(round(value))


_WAYS: dict[str, Callable[[Pattern, int, Mapping[str, str], int], list[tuple[int, float]]]] = {
    "steps": _steps,
    "trace": _trace,
    "sine": _sine,
    "ramp": _ramp,
    "square": _square,
    "walk": _walk,
}
