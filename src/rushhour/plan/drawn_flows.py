"""Flows and patterns of a scenario as text, for people, in aligned columns."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rushhour.quantities.units import Duration, Rate
from rushhour.quantities.words import plural
from rushhour.spec import conversations
from rushhour.spec.course import course

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.spec import Conversation
    from rushhour.spec.arrivals import TimeLaw
    from rushhour.spec.course import Course
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow

MOST_FLOWS = 24
_BARS = 40


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned, two spaces between them."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]


def flow_lines(scenario: Scenario) -> list[str]:
    """Who talks to whom: a line for each flow, up to `MOST_FLOWS`."""
    rows: list[list[str]] = []
    for _, talks in groupby(conversations(scenario), key=lambda talk: talk.position):
        if len(rows) == MOST_FLOWS:
            break
        rows.append(_flow_row(scenario, list(talks)))
    lines = table(rows)
    hidden = len(scenario.flow) - MOST_FLOWS
    return [*lines, f"… and {plural(hidden, 'more flow')}"] if hidden > 0 else lines


def pattern_lines(scenario: Scenario) -> list[str]:
    """What changes over time: each pattern as a line of bars over the experiment, with its range."""
    rows = []
    for pattern in scenario.pattern:
        changes = course(pattern, scenario.span.ns, scenario.trace, scenario.seed)
        where = " ".join(word for word in (pattern.link, pattern.direction) if word)
        low, high = (_said(pattern.key, pick(value for _, value in changes)) for pick in (min, max))
        extent = low if low == high else f"{low} … {high}"
        rows.append([f"{pattern.key} {where}".strip(), _bars(changes, scenario.span.ns), extent, pattern.way])
    return table(rows)


def _bars(changes: Course, span_ns: int) -> str:
    """The mean over each of forty equal times, a dot before the first instant."""
    top = max(value for _, value in changes) or 1.0
    ends = [t_ns for t_ns, _ in changes[1:]] + [span_ns]
    bars = ""
    for part in range(_BARS):
        begin, done = span_ns * part // _BARS, span_ns * (part + 1) // _BARS
        held = [
            (max(0, min(end, done) - max(t_ns, begin)), value)
            for (t_ns, value), end in zip(changes, ends, strict=True)
        ]
        known = sum(length for length, _ in held)
        mean = sum(length * value for length, value in held) / known if known else 0.0
        bars += "▁▂▃▄▅▆▇█"[min(7, int(8 * mean / top))] if known else "·"
    return bars


def _said(key: str, value: float) -> str:
    if key == "loss":
        return f"{100 * value:.3g}%"
    # Three digits tell enough of a value that comes from a sine.
    step = 10 ** max(0, len(str(int(value))) - 3)
    short = round(value / step) * step
    return str(Rate(short)) if key == "rate" else str(Duration(short))


def _from_to(names: list[str | None]) -> str:
    """The first and the last of the copies' ends, or the one that all share."""
    first, last = names[0] or "?", names[-1] or "?"
    return first if len(set(names)) == 1 else f"{first} … {last}"


def _flow_row(scenario: Scenario, talks: list[Conversation]) -> list[str]:
    """A flow's name, way, kind, time and limits."""
    keys = talks[0].flow
    sender, receiver = _from_to([talk.sender for talk in talks]), _from_to([talk.receiver for talk in talks])
    name = keys.label + (f" ×{keys.count}" if keys.count > 1 else "")  # noqa: RUF001 the sign is meant
    until = keys.start.ns + keys.duration.ns if keys.duration else scenario.span.ns
    endless = keys.duration is None and keys.arrivals is None
    open_end = endless and (keys.bytes or keys.datagrams or keys.transactions)
    time = f"{keys.start} → {'done' if open_end else Duration(until)}"
    limits = {
        "": keys.bytes,
        "at": keys.rate,
        "paced at": keys.pacing,
        "read at": keys.read_rate,
        "datagrams": keys.datagrams,
        "transactions": keys.transactions,
        "requests of": keys.request,
        "responses of": keys.response,
        "in flight": keys.in_flight,
        "on for": keys.on and _lasting(keys.on),
        "off for": keys.off and _lasting(keys.off),
        "receiver leaves at": keys.receiver_leaves,
    }
    more = ", ".join(f"{word} {value}".strip() for word, value in limits.items() if value is not None)
    more = ", ".join(part for part in (_arrivals(keys), more, "verified" if keys.verify else "") if part)
    return [name, f"{sender} → {receiver}", f"{keys.kind} {keys.cc or ''}".strip(), time, more]


def _lasting(law: TimeLaw) -> str:
    """A law of times in words: `100ms`, `exponential 100ms`."""
    return str(law.mean) if law.distribution == "fixed" else f"{law.distribution} {law.mean}"


def _arrivals(keys: Flow) -> str:
    """An arrival process in words: `poisson arrivals of load 0.6, pareto sizes of 100kB`."""
    if keys.arrivals is None or keys.size is None:
        return ""
    how = f"load {keys.arrivals.load:g}" if keys.arrivals.load is not None else f"{keys.arrivals.rate}"
    size = f"{keys.size.distribution} sizes" + (f" of {keys.size.mean}" if keys.size.mean else "")
    return f"{keys.arrivals.process} arrivals, {how}, {size}"
