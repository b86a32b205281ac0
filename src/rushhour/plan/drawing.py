"""The topology as text, for people: a drawing, what its links do, who talks to whom.

Takes a `Scenario`, gives lines of Unicode box drawing. Presets have a picture each, a free graph that is a
path or a tree one of that, every other graph a list of its links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.plan.drawn_flows import flow_lines, pattern_lines, table
from rushhour.plan.loads import load_row
from rushhour.plan.presets import resolve
from rushhour.plan.programs import program_row
from rushhour.quantities.units import Duration, Rate, Size
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.plan.graph import Direction, Graph, Link, Policer, Queue, Wire
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.topology import Topology

MOST_HOSTS = 6  # drawn at one side; of more the first, the second and the last
MOST_ROUTERS = 5
MOST_LINKS = 60


def drawing(scenario: Scenario) -> str:
    """Draw the scenario: topology, conditions on its links, flows."""
    graph = resolve(scenario)
    if scenario.topology is None:
        parts = [_free(graph), _between(graph)]
    elif scenario.topology.preset == "chain":
        parts = [_chain(scenario.topology), _conditions(graph, scenario.topology)]
    else:
        parts = [_fan(graph, scenario.topology), _conditions(graph, scenario.topology)]
    parts += [flow_lines(scenario), pattern_lines(scenario)]
    parts += [table([load_row(load, scenario) for load in scenario.load])]
    parts += [table([program_row(program) for program in scenario.program])]
    return "\n\n".join("\n".join(line.rstrip() for line in lines) for lines in parts if lines) + "\n"


# Presets ------------------------------------------------------------------------------------------------


def _fan(graph: Graph, topology: Topology) -> list[str]:
    """Hosts fanned in on the left, the common link, hosts fanned out on the right (one, in a star)."""
    star = topology.preset == "star"
    near, far = ("hub", "r1") if star else ("left", "right")
    common = next(link for link in graph.links if (link.a, link.b) == (near, far))
    left = _few(topology.senders)
    right = _few(topology.receivers)
    height = max(len(left), len(right))
    there, back = _captions(common)
    width = max(12, len(there) + 4, len(back) + 4)
    middle = height // 2
    rows = []
    for row in range(height):
        main = row == middle
        line = _comb(left, row, height) + (f" {near} " if main else " " * (len(near) + 2))
        if main:
            line += "═" * width + f" {far}"
        else:
            caption = there if row == middle - 1 else back if row == middle + 1 else ""
            line += f"{caption:^{width}}" + " " * (len(far) + 1)
        if not star:
            line += " " + _comb(right, row, height, mirrored=True)
        rows.append(line)
    margin = " " * (max(map(len, left)) + len("───") + 1 + len(f" {near} "))
    if middle == 0:
        rows.insert(0, margin + f"{there:^{width}}")
    if middle == height - 1 and back:
        rows.append(margin + f"{back:^{width}}")
    return rows


def _few(names: Sequence[str]) -> list[str]:
    """Names to draw, an even number made odd by a gap, so that the middle row meets the router."""
    if len(names) > MOST_HOSTS:
        return [names[0], names[1], "⋮", names[-2], names[-1]]
    half = len(names) // 2
    return list(names) if len(names) % 2 else [*names[:half], "", *names[half:]]


def _comb(names: list[str], row: int, height: int, *, mirrored: bool = False) -> str:
    """One row of the bracket that joins hosts to a router."""
    wide = max(map(len, names))
    name = names[row]
    real = name not in ("", "⋮")
    if height == 1:
        joint = "─"
    elif row in (0, height - 1):
        joint = ("┌┐" if row == 0 else "└┘")[not mirrored]
    elif row == height // 2:
        joint = "┼" if real else "┤├"[not mirrored]
    else:
        joint = ("├┤"[not mirrored]) if real else "│"
    arm = "─" if real else " "
    if mirrored:
        return f"{'─' if row == height // 2 else ' '}{joint}{arm} {name:<{wide}}"
    return f"{name:>{wide}} {arm}{joint}{'─' if row == height // 2 else ' '}"


def _chain(topology: Topology) -> list[str]:
    """Routers in a row, the long pair at its ends, cross traffic hung below."""
    routers = list(topology.routers)
    last = len(routers) - 1
    shown = list(range(len(routers)))
    if len(routers) > MOST_ROUTERS:
        shown = [0, 1, 2, last - 1, last]
    line, below, hosts = "s0 ── ", "", ""
    for position, number in enumerate(shown):
        if position:
            line += " ════ ⋯ ════ " if number != shown[position - 1] + 1 else " ══════════ "
        column = len(line)
        line += routers[number]
        cross = [f"r{number}"] if number else []
        cross += [f"s{number + 1}"] if number < last else []
        text = " ".join(cross)
        below = below.ljust(column) + "│"
        hosts = hosts.ljust(max(0, column - (len(text) // 2 if len(cross) > 1 else 0))) + text
    return [f"{line} ── r0", below, hosts]


def _captions(link: Link) -> tuple[str, str]:
    """What stands over and under the common link: one text where both directions are alike."""
    there, back = (
        ", ".join(part for part in (_queue_words(way.queue), _policer_words(way.policer)) if part)
        for way in (link.forward, link.reverse)
    )
    if there == back:
        return there, ""
    return f"→ {there or 'no limit'}", f"← {back or 'no limit'}"


def _conditions(graph: Graph, topology: Topology) -> list[str]:
    """What holds on the paths of a preset, a line each."""
    rows: list[tuple[str, str]] = []
    if topology.preset == "chain":
        common = next(link for link in graph.links if link.a == topology.routers[0])
        rows.append(("each hop", " ".join(_captions(common)).strip() or "no limit"))
    if topology.shape_at == "sender":
        rows.append(("senders' queue", _queue_words(graph.links[0].forward.queue) or "none"))
    if topology.rtts:
        listed = ", ".join(str(rtt) for rtt in topology.rtts[:8]) + (", …" if len(topology.rtts) > 8 else "")
        rows.append(("base RTT", f"{listed} (by pair)"))
    elif graph.rtt_ns:
        rows.append(("base RTT", str(Duration(graph.rtt_ns))))
    rows += _impairments(graph, topology)
    if topology.access_rate:
        rows.append(("hosts' links", str(topology.access_rate)))
    if topology.access_rates:
        listed = ", ".join(map(str, topology.access_rates[:8]))
        rows.append(
            ("hosts' links", listed + (", …" if len(topology.access_rates) > 8 else "") + " (by pair)")
        )
    rows += _link_options(graph.links[0])
    return table([[name, text] for name, text in rows])


def _impairments(graph: Graph, topology: Topology) -> list[tuple[str, str]]:
    """Jitter, loss and netem's words of a preset."""
    rows: list[tuple[str, str]] = []
    there = next(link.forward.wire for link in graph.links if link.forward.wire)
    back = next(link.reverse.wire for link in graph.links if link.reverse.wire)
    if there.jitter_ns:
        rows.append(("jitter", f"0 … {Duration(there.jitter_ns)} each way, seeded" + _reorder(there)))
    for name, wire in (("loss", there), ("reverse loss", back)):
        if wire.loss or wire.drop:
            rows.append((name, _loss_words(wire)))
    for name, words in (("netem", topology.netem), ("reverse netem", topology.reverse_netem)):
        if words:
            rows.append((name, words))
    return rows


# Free graphs --------------------------------------------------------------------------------------------


def _free(graph: Graph) -> list[str]:
    degree = {name: len(around) for name, around in graph.neighbours.items()}
    if (
        not graph.links
        or len(graph.links) != len(graph.nodes) - 1
        or len(graph.links) > MOST_LINKS
        or not _connected(graph)
    ):
        return _link_list(graph)
    if max(degree.values()) > 2:
        return _tree(graph, max(degree, key=lambda name: degree[name]))
    start = next(node.name for node in graph.nodes if degree[node.name] < 2)
    names, previous = [start], ""
    while True:
        ahead = [peer for peer, _ in graph.neighbours[names[-1]] if peer != previous]
        if not ahead:
            break
        previous = names[-1]
        names.append(ahead[0])
    line = " ═══ ".join(names)
    return [line, "", *_link_list(graph)] if len(line) <= 100 else _link_list(graph)


def _between(graph: Graph) -> list[str]:
    """What nodes do that are no plain hosts or routers."""
    rows = [f"{node.name} is a switch" for node in graph.nodes if node.switch]
    return rows + [f"{node.name} balances by {node.balance}" for node in graph.nodes if node.balance]


def _connected(graph: Graph) -> bool:
    seen, ahead = set(), [graph.nodes[0].name]
    while ahead:
        node = ahead.pop()
        if node not in seen:
            seen.add(node)
            ahead += [peer for peer, _ in graph.neighbours[node]]
    return len(seen) == len(graph.nodes)


def _tree(graph: Graph, root: str) -> list[str]:
    """The graph as a tree hung from its most linked node, each branch with what its link does."""
    rows = [[root, ""]]

    def grow(node: str, parent: str, margin: str) -> None:
        children = [(peer, hop) for peer, hop in graph.neighbours[node] if peer != parent]
        for number, (peer, hop) in enumerate(children):
            final = number == len(children) - 1
            link = graph.links[hop.link]
            texts = _direction_texts(link, towards=peer == link.b)
            rows.append([f"{margin}{'└──' if final else '├──'} {peer}", texts[0]])
            under = margin + ("    " if final else "│   ")
            several = len(graph.neighbours[peer]) > 1
            rows.extend([[under + ("│" if several else ""), text] for text in texts[1:]])
            grow(peer, node, under)

    grow(root, "", "")
    return table(rows)


def _link_list(graph: Graph) -> list[str]:
    """Every link in a line of its own, two where its directions differ."""
    rows = []
    for link in graph.links[:MOST_LINKS]:
        first, *more = _direction_texts(link, towards=True)
        rows.append([link.a, "═══", link.b, first])
        rows += [["", "", "", text] for text in more]
    lines = table(rows)
    hidden = len(graph.links) - MOST_LINKS
    return [*lines, f"… and {plural(hidden, 'more link')}"] if hidden > 0 else lines


def _direction_texts(link: Link, *, towards: bool) -> list[str]:
    """What a link does: one text where both directions are alike, else one for each."""
    options = [f"{name} {text}" for name, text in _link_options(link)]
    there, back = _stage_words(link.forward), _stage_words(link.reverse)
    if not towards:
        there, back = back, there
    if there == back:
        return [" · ".join([*there, *options])]
    return [" · ".join([f"→ {', '.join(there) or 'plain'}", *options]), f"← {', '.join(back) or 'plain'}"]


# Words --------------------------------------------------------------------------------------------------


def _queue_words(queue: Queue | None) -> str:
    if queue is None:
        return ""
    if queue.rate_bps is None:
        return queue.words
    shaper = f" by {queue.shaper}" if queue.shaper != "tbf" else ""
    return f"{Rate(queue.rate_bps)}{shaper} · {queue.buffer} {queue.words}"


def _policer_words(policer: Policer | None) -> str:
    if policer is None:
        return ""
    if policer.rate_bps is None:
        return f"policed to {policer.per_s} packets/s, bucket {policer.burst}p"
    peak = f", peak {Rate(policer.peak_bps)}" if policer.peak_bps else ""
    return f"policed to {Rate(policer.rate_bps)}, bucket {Size(policer.burst)}{peak}"


def _stage_words(direction: Direction) -> list[str]:
    words = [_queue_words(direction.queue)] if direction.queue else []
    words += [_policer_words(direction.policer)] if direction.policer else []
    words += [f"netem {direction.netem}"] if direction.netem else []
    wire = direction.wire
    if wire is not None and wire.acts:
        words += [f"delay {Duration(wire.delay_ns)}"] if wire.delay_ns else []
        words += [f"jitter {Duration(wire.jitter_ns)}{_reorder(wire)}"] if wire.jitter_ns else []
        words += [f"loss {_loss_words(wire)}"] if wire.loss or wire.drop else []
    return words


def _reorder(wire: Wire) -> str:
    return " (reorders)" if wire.reorder else ""


def _loss_words(wire: Wire) -> str:
    words = [f"{wire.loss * 100:g} %, seeded"] if wire.loss else []
    if wire.drop:
        listed = ", ".join(str(number) for number in wire.drop[:8])
        words.append(f"packets {listed}" + (", …" if len(wire.drop) > 8 else ""))
    return " and ".join(words)


def _link_options(link: Link) -> list[tuple[str, str]]:
    """What is not as usual on a link."""
    options = [("MTU", f"{link.mtu}B")] if link.mtu != 1500 else []
    options += [("offloads", "on")] if link.offload else []
    options += [("receive offload", "on")] if link.receive_offload else []
    if link.bond is not None:
        hashed = f", {link.bond.hash}" if link.bond.hash else ""
        options.append(("each of", f"{link.bond.links} cables by {link.bond.mode}{hashed}"))
    return options + ([("shaped at", "the sender")] if link.own_egress else [])
