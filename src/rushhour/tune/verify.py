"""Whether it helped: the same measurements before and after, without differences that may be chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.diagnosis.case import DIRECTIONS

if TYPE_CHECKING:
    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.measured import Measured

DIFFERS = 0.1
"""Smaller changes of a rate may be chance: two short transfers over the same path differ by some percent."""
QUEUE_DIFFERS_NS = 5e6


def compared(before: Case, after: Case) -> dict[str, object]:
    """What was measured before and after in each direction, and the verdict: better, worse or same."""
    ways = {}
    for way in DIRECTIONS:
        one, other = before.measured.get(way), after.measured.get(way)
        if one is None or other is None:
            continue
        then, now = _numbers(one), _numbers(other)
        ways[way] = {"before": then, "after": now, "verdict": _verdict(then, now)}
    verdicts = {entry["verdict"] for entry in ways.values()}
    whole = "worse" if "worse" in verdicts else "better" if "better" in verdicts else "same"
    return {"verdict": whole if ways else "unknown", "directions": ways}


def _numbers(one: Measured) -> dict[str, float | None]:
    single = one.single
    return {
        "single_bps": max(single.steady_bps, single.goodput_bps) if single is not None else None,
        "several_bps": one.several_bps,
        "loaded_rtt_ns": one.loaded_rtt_ns,
        "retransmit_share": single.retransmit_share if single is not None else None,
    }


def _verdict(then: dict[str, float | None], now: dict[str, float | None]) -> str:
    """By one flow's rate, then by several's; then by the round trip under load."""
    for name in ("single_bps", "several_bps"):
        before, after = then[name], now[name]
        if before and after is not None and abs(after - before) > DIFFERS * before:
            return "better" if after > before else "worse"
    before, after = then["loaded_rtt_ns"], now["loaded_rtt_ns"]
    if before and after and abs(after - before) > max(QUEUE_DIFFERS_NS, DIFFERS * before):
        return "better" if after < before else "worse"
    return "same"
