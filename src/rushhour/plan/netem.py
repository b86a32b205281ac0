"""netem's words: what they say about delay and rate, and the limit they must not go without."""

from __future__ import annotations

from rushhour.plan.queues import NS, U32, value_after
from rushhour.quantities.tc_units import RATES, TIMES, scaled

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
