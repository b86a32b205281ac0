"""netem's words: what they say about delay and rate, and the limit they must not go without."""

from __future__ import annotations

import re

from rushhour.plan.queues import NS, U32, value_after

_TIME = {"s": 10**9, "sec": 10**9, "secs": 10**9, "ms": 10**6, "msec": 10**6, "msecs": 10**6}
_TIME |= {"us": 10**3, "usec": 10**3, "usecs": 10**3, "ns": 1, "nsec": 1, "nsecs": 1, "": 10**3}
_RATE = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12, "": 1}
_RATE |= {"kibit": 2**10, "mibit": 2**20, "gibit": 2**30, "tibit": 2**40}
_RATE |= {"bps": 8, "kbps": 8 * 10**3, "mbps": 8 * 10**6, "gbps": 8 * 10**9}
_NUMBER = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")
LEAST = 1000  # packets; netem's own default limit, which a fast link with a delay exceeds at once


def delay_ns(words: str) -> tuple[int, int]:
    """Give the mean delay and the jitter (its deviation, both ways) that netem's words ask for.

    A packet that waits for its slot counts as jitter.
    """
    split = words.split()
    slot = _slot_ns(split)
    for key in ("delay", "latency"):
        if (first := _scaled(value_after(split, key), _TIME)) is not None:
            at = split.index(key) + 2
            return first, slot + ((_scaled(split[at], _TIME) or 0) if at < len(split) else 0)
    return 0, slot


def _slot_ns(split: list[str]) -> int:
    """Longest wait for a slot: `slot MIN [MAX]`, or `slot distribution NAME DELAY JITTER` with both."""
    if "slot" not in split:
        return 0
    after = split[split.index("slot") + 1 :]
    if after[:1] == ["distribution"]:
        return sum(_scaled(word, _TIME) or 0 for word in after[2:4])
    return max((_scaled(word, _TIME) or 0 for word in after[:2]), default=0)


def rate_bps(words: str) -> int | None:
    """Give the rate that netem's words ask for, if they do."""
    return _scaled(value_after(words.split(), "rate"), _RATE)


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


def _scaled(word: str | None, units: dict[str, int]) -> int | None:
    match = _NUMBER.fullmatch(word) if word else None
    if match is None or match[2].lower() not in units:
        return None
    try:
        return round(float(match[1]) * units[match[2].lower()])
    except (ValueError, OverflowError):
        return None
