"""The topology as a small SVG: nodes by their place on the paths of the flows, links with what they do."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from rushhour.explain import policers
from rushhour.quantities.words import plural, quantity, shortened
from rushhour.record import classes, courses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.record.context import End, LinkClass
    from rushhour.record.record import Record

MAX_ROWS = 8
"""Nodes drawn one under another; of more, the first ones and the last, and how many are left out is said."""
_WIDTH, _ROW, _BOX, _MARGIN = 960, 46, 28, 16
_NAME = 14
"""Letters of a node's name that its box has room for."""
_LETTER = 6.3
"""Width of a letter of a label, about."""


@dataclass(frozen=True)
class _Node:
    name: str
    x: float
    y: float
    half: float
    router: bool


def topology_svg(record: Record) -> str:
    """An SVG drawing (classes only, coloured by the page) of the nodes and links the flows use."""
    links = _links(record)
    layers = _layers(record, links)
    if not layers:
        return ""
    places, hidden = _places(layers, _passing(record))
    rows = max(min(len(names), MAX_ROWS) for names in layers.values())
    height = 2 * _MARGIN + rows * _ROW + 22
    limiting = {end for flow in record.context.flows.values() for end in flow.bottleneck_ends}
    drawn = [(places[a], places[b], ends) for (a, b), ends in links.items() if a in places and b in places]
    parts = [_link(a, b, any(end.end in limiting for cable in ends for end in cable)) for a, b, ends in drawn]
    parts += _labels(drawn, _withdrawn(record))
    parts += [_box(node) for node in places.values()]
    parts += [
        f'<text class="t-more" x="{x:.0f}" y="{height - 6}">and {count} more</text>' for x, count in hidden
    ]
    title = "Topology: " + ", ".join(f"{a} to {b}" for a, b in list(links)[:12])
    return (
        f'<svg class="topology" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        + "".join(parts)
        + "</svg>"
    )


def _passing(record: Record) -> set[str]:
    """Routers and switches: what is no host."""
    routers = {node.name for node in record.plan.nodes if node.forward}
    return routers | {device.node for device in record.plan.devices if device.bond is None}


def _emulators(record: Record) -> set[str]:
    # Between the pieces LINK:0, LINK:1 … of a link stand the emulators LINK.1 …; they are part of it.
    pieces = Counter(link.name.rpartition(":")[0] for link in record.plan.links)
    return {f"{link}.{number}" for link, count in pieces.items() if link for number in range(1, count)}


def _links(record: Record) -> dict[tuple[str, str], list[list[End]]]:
    """Pairs of visible nodes with what is between them: of each cable the ends in the data's direction.

    Emulators are folded in. Several cables are those of a bond, or links that a node balances over.
    """
    context, emulators = record.context, _emulators(record)
    found: dict[tuple[str, str], dict[int, list[End]]] = {}
    for way in dict.fromkeys(way for flow in context.flows.values() for way in flow.ways):
        start: str | None = None
        ends: list[End] = []
        for index in way:
            end = context.ends.get(index)
            if end is None:
                break
            if index >= 2 * len(record.plan.links):  # at the ingress of the node that was reached
                ends.append(end)
                continue
            if start is None or end.node not in emulators:
                start, ends = end.node, []
            ends.append(end)
            target = _target(record, index)
            if target is None:
                break
            if target not in emulators:
                found.setdefault((start, target), {}).setdefault(ends[0].end, ends)
    return {pair: list(cables.values()) for pair, cables in found.items()}


def _target(record: Record, index: int) -> str | None:
    """The node at the other end; None where the plan does not know one."""
    ends = record.plan.links[index // 2].ends
    return ends[1 - index % 2].node if index >= 0 and len(ends) > 1 else None


def _layers(record: Record, links: dict[tuple[str, str], list[list[End]]]) -> dict[int, list[str]]:
    """Nodes by column: the longest way from a source, along the data's direction (loops end the search)."""
    column: dict[str, int] = defaultdict(int)
    for _ in range(min(64, len(links) + 1)):
        changed = False
        for a, b in links:
            if column[b] < column[a] + 1 <= 64:
                column[b] = column[a] + 1
                changed = True
        if not changed:
            break
    # A source stands just before the nearest node it sends to.
    for source in {a for a, _ in links} - {b for _, b in links}:
        column[source] = min(column[b] for a, b in links if a == source) - 1
    deepest = max(column.values(), default=0)
    if deepest > 12:
        return {}
    order = {node.name: place for place, node in enumerate(record.plan.nodes)}
    layers: dict[int, list[str]] = defaultdict(list)
    named = {name for pair in links for name in pair}
    for name in sorted(named, key=lambda name: (order.get(name, -1), name)):
        layers[column[name]].append(name)
    return dict(sorted(layers.items()))


def _places(
    layers: dict[int, list[str]], routers: set[str]
) -> tuple[dict[str, _Node], list[tuple[float, int]]]:
    rows = max(min(len(names), MAX_ROWS) for names in layers.values())
    step = (_WIDTH - 2 * _MARGIN - 110) / max(1, len(layers) - 1)
    places, hidden = {}, []
    for place, names in enumerate(layers.values()):
        x = _MARGIN + 55 + place * step
        shown = names if len(names) <= MAX_ROWS else [*names[: MAX_ROWS - 1], names[-1]]
        if len(shown) < len(names):
            hidden.append((x, len(names) - len(shown)))
        top = _MARGIN + 18 + (rows - len(shown)) * _ROW / 2
        for row, name in enumerate(shown):
            half = max(22.0, 4.2 * min(len(name), _NAME) + 10)
            places[name] = _Node(name, x, top + row * _ROW + _ROW / 2, half, name in routers)
    return places, hidden


def _withdrawn(record: Record) -> dict[int, str]:
    """By end when its node has no route over it, in words."""
    spans: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
    for change in record.plan.changes:
        if change.key != "route":
            continue
        if not change.value:
            spans[change.end].append((change.t_ns, None))
        elif spans[change.end]:
            spans[change.end][-1] = (spans[change.end][-1][0], change.t_ns)
    return {end: _spans(found) for end, found in spans.items() if found}


def _spans(spans: list[tuple[int, int | None]]) -> str:
    if len(spans) > 2:
        return f"no route {len(spans)} times"
    said = [
        f"from {quantity(begin / 1e3, 'µs')} "
        + ("on" if done is None else f"to {quantity(done / 1e3, 'µs')}")
        for begin, done in spans
    ]
    return f"no route {' and '.join(said)}"


def _said_of_all(
    cables: list[list[End]], withdrawn: Mapping[int, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands beside a link; of several cables that are alike how many they are, else what each does."""
    texts = list(dict.fromkeys(_said(ends, withdrawn) for ends in cables))
    if len(texts) > 1:
        return tuple(" · ".join((*above, *below)) for above, below in texts), ()
    above, below = texts[0]
    if len(cables) > 1:
        above = (f"{len(cables)} × {above[0]}" if above else f"{len(cables)} cables", *above[1:])  # noqa: RUF001 the sign is meant
    return above, below


def _said(ends: list[End], withdrawn: Mapping[int, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Above a link: its rate, queue and policer. Below it: delay, loss, and when no route leads over it."""
    shaped = [end for end in ends if end.rate_bps and end.role != "police"]
    above = [_between(end, "rate_bps", 1.0, "bit/s") for end in shaped]
    above += [text for end in shaped for text in _queues(end)]
    above += [policers.said(end) for end in ends if end.role == "police"]
    below = [_between(end, "delay_ns", 1e-3, "µs") for end in ends if end.delay_ns]
    below += [f"loss {_between(end, 'loss', 100.0, '%')}" for end in ends if end.loss]
    below += [withdrawn[end.end] for end in ends if end.end in withdrawn]
    return tuple(above), tuple(below)


def _between(end: End, name: str, factor: float, unit: str) -> str:
    """A setting in words, with both ends of what a pattern makes of it."""
    said = dict.fromkeys(quantity(value * factor, unit) for value in courses.extent(end, name))
    return " … ".join(said)


def _queues(end: End) -> list[str]:
    """Discipline and limit of the queue at an end; with classes their scheduler, then each that differs."""
    held = classes.queues(end)
    texts = [f"{one.queue or ''} {_buffer(one)}".strip() for one in held]
    scheduler = end.queue or "" if held != (end,) else ""
    return [text for text in dict.fromkeys([scheduler, *texts]) if text]


def _buffer(held: End | LinkClass) -> str:
    if held.buffer_bytes:
        return quantity(float(held.buffer_bytes), "bytes")
    return plural(held.buffer_packets, "packet") if held.buffer_packets else ""


def _link(a: _Node, b: _Node, limiting: bool) -> str:  # noqa: FBT001 - a property of the link
    x1, x2 = _sides(a, b)
    kind = "t-link t-narrow" if limiting else "t-link"
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{a.y:.1f}" x2="{x2:.1f}" y2="{b.y:.1f}"/>'


def _sides(a: _Node, b: _Node) -> tuple[float, float]:
    return (a.x + a.half, b.x - b.half) if a.x < b.x else (a.x, b.x)


def _labels(drawn: list[tuple[_Node, _Node, list[list[End]]]], withdrawn: Mapping[int, str]) -> list[str]:
    """What links do, beside the first of those that do the same between the same columns."""
    alike: dict[tuple[float, float, tuple[tuple[str, ...], ...]], list[tuple[_Node, _Node]]] = defaultdict(
        list
    )
    for a, b, ends in drawn:
        alike[a.x, b.x, _said_of_all(ends, withdrawn)].append((a, b))
    heights = [node.y for a, b, _ in drawn for node in (a, b)]
    middle = (min(heights, default=0) + max(heights, default=0)) / 2
    parts = []
    for (_, _, (above, below)), pairs in alike.items():
        a, b = pairs[0]
        x1, x2 = _sides(a, b)
        room = max(8, int((x2 - x1) / _LETTER))
        if a.y == b.y:
            parts += _lines((x1 + x2) / 2, a.y - 9, _stacked(above, room)[::-1], -14)
            parts += _lines((x1 + x2) / 2, a.y + 17, _stacked(below, room), 14)
        elif above or below:
            # Beside a slanted line there is room on its outer side only.
            said = [*above, *below]
            said[-1] += " each" if len(pairs) > 1 else ""
            lines, x, y = _stacked(said, room), (x1 + x2) / 2, (a.y + b.y) / 2
            parts += _lines(x, y + 22, lines, 14) if y > middle else _lines(x, y - 14, lines[::-1], -14)
    return parts


def _stacked(parts: Sequence[str], room: int) -> list[str]:
    """The parts in as few lines of `room` letters as they need; what is too long for two of them is cut."""
    lines: list[str] = []
    whole = [
        line
        for part in parts
        for line in wrap(part, room, max_lines=2, placeholder=" …", break_long_words=False)
    ]
    for part in whole:
        if lines and len(lines[-1]) + 3 + len(part) <= room:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def _lines(x: float, y: float, lines: list[str], step: int) -> list[str]:
    return [
        f'<text class="t-said" x="{x:.1f}" y="{y + step * place:.1f}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    ]


def _box(node: _Node) -> str:
    corner = 4 if node.router else 14
    place = f'x="{node.x - node.half:.1f}" y="{node.y - _BOX / 2:.1f}"'
    box = f'{place} width="{2 * node.half:.1f}" height="{_BOX}"'
    name = escape(shortened(node.name, _NAME))
    text = f'<text class="t-name" x="{node.x:.1f}" y="{node.y + 5:.1f}">{name}</text>'
    return f'<g><title>{escape(node.name)}</title><rect class="t-node" {box} rx="{corner}"/>{text}</g>'
