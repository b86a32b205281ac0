"""netem's words: what they say about delay and rate, and the limit they must not go without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.plan.cells import derive_seed
from rushhour.plan.queues import NS, U32, value_after
from rushhour.quantities.tc_units import RATES, TIMES, scaled

if TYPE_CHECKING:
    from rushhour.plan.graph import Direction, Graph

LEAST = 1000  # packets; netem's own default limit, which a fast link with a delay exceeds at once


def delay_ns(words: str) -> tuple[int, int]:
    """Give the mean delay and the jitter (its deviation, both ways) that netem's words ask for.

    A packet that waits for its slot counts as jitter.
    """
    split = words.split()
    slot = _slot_ns(split)
    for key in ("delay", "latency"):
        if (first := scaled(value_after(split, key), TIMES)) is not None:
            at = split.index(key) + 2
            return first, slot + ((scaled(split[at], TIMES) or 0) if at < len(split) else 0)
    return 0, slot


def _slot_ns(split: list[str]) -> int:
    """Longest wait for a slot: `slot MIN [MAX]`, or `slot distribution NAME DELAY JITTER` with both."""
    if "slot" not in split:
        return 0
    after = split[split.index("slot") + 1 :]
    if after[:1] == ["distribution"]:
        return sum(scaled(word, TIMES) or 0 for word in after[2:4])
    return max((scaled(word, TIMES) or 0 for word in after[:2]), default=0)


def rate_bps(words: str) -> int | None:
    """Give the rate that netem's words ask for, if they do."""
    return scaled(value_after(words.split(), "rate"), RATES)


def loss(words: str) -> float:
    """Give the probability that netem's words lose a packet by, of independent losses; of others 0."""
    split = words.split()
    word = value_after(split, "loss")
    if word == "random":
        word = value_after(split, "random")
    try:
        return min(1.0, float((word or "0").removesuffix("%")) / 100)
    except ValueError:
        return 0.0


def line(words: str, fastest_bps: int, frame: int) -> str:
    """Give netem's line with an explicit limit: twice what is on its way at the fastest rate, and 1000.

    netem's default of 1000 packets is a hidden drop-tail queue as soon as rate · delay exceeds it.
    """
    if "limit" in words.split():
        return f"root handle 1: netem {words}"
    mean, jitter = delay_ns(words)
    under_way = (rate_bps(words) or fastest_bps) * (mean + jitter) // (8 * NS * frame)
    return f"root handle 1: netem limit {min(U32, 2 * under_way + LEAST)} {words}".rstrip()


def seeded(graph: Graph) -> bool:
    """Whether a netem of the graph has a seed."""
    return any(_redrawn(way, 1) != way for link in graph.links for way in (link.forward, link.reverse))


def with_draws(graph: Graph, first: int, seed: int) -> Graph:
    """Give the graph whose seeded netems draw for the run with this seed.

    The first repetition, whose seed is the scenario's, draws by the seed that stands in the words; each other
    by one of its own, as wires do: what one seed happens to draw is no property of a kernel.
    """
    if seed == first:
        return graph
    links = (
        replace(link, forward=_redrawn(link.forward, seed), reverse=_redrawn(link.reverse, seed))
        for link in graph.links
    )
    return replace(graph, links=tuple(links))


def _redrawn(way: Direction, seed: int) -> Direction:
    queue = way.queue
    if queue is not None and queue.words.split()[:1] == ["netem"]:
        queue = replace(queue, words=_with_seed(queue.words, seed))
    return replace(way, queue=queue, netem=None if way.netem is None else _with_seed(way.netem, seed))


def _with_seed(words: str, seed: int) -> str:
    split = words.split()
    asked = value_after(split, "seed")
    if asked is None or not asked.isdecimal():
        return words
    split[split.index("seed") + 1] = str(derive_seed(int(asked), seed))
    return " ".join(split)
