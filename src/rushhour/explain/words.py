"""What every sentence of an explanation is made of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.explain.finding import Remedy

if TYPE_CHECKING:
    from rushhour.explain.evidence import Evidence

NAMED = 3
_RATES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def rate(bps: float) -> str:
    """A rate: 18.3 Mbit/s."""
    return _scaled(bps, _RATES)


def size(count: float) -> str:
    """A size: 229 kB."""
    return _scaled(count, _SIZES)


def time(seconds: float) -> str:
    """A time: 42.9 ms."""
    return _scaled(seconds, _TIMES)


def percent(part: float) -> str:
    """A share; of small ones a digit that says something."""
    value = 100 * part
    if value == 0 or value >= 10:
        return f"{value:.0f} %"
    return f"{value:.1f} %" if value >= 1 else f"{value:.2g} %"


def rounded_up(value: float) -> int:
    """The next number above that has two significant digits: what a person would type."""
    if value <= 10:
        return max(1, math.ceil(value))
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / step) * step)


def rounded_down(value: float) -> float:
    """The next number below that has three digits, as rates are said."""
    if value <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / step) * step


def reached(e: Evidence) -> str:
    """How a sentence about a flow below its path's rate begins."""
    return f"{e.name} reached {of_possible(e)}"


def of_possible(e: Evidence) -> str:
    """What a flow had of what its bottleneck carries, and who else was there: 7.4 Mbit/s of 19.1 Mbit/s."""
    possible = f" of {rate(e.possible_bps)}" if e.possible_bps else ""
    return f"{rate(e.goodput_bps)}{possible}{shared(e)}{beside(e)}"


def shared(e: Evidence) -> str:
    """With how many lasting TCP flows it shares its bottleneck."""
    if not e.others:
        return ""
    if len(e.others) == 1:
        return f" that it shares with {e.others[0].name}"
    return f" that it shares with {len(e.others)} other TCP flows"


def beside(e: Evidence) -> str:
    """The traffic beside it that is no lasting TCP flow, the greatest three by name."""
    if not e.beside:
        return ""
    named = [f"{one.name} ({one.kind}) with {rate(one.rate_bps)}" for one in e.beside[:NAMED]]
    rest = e.beside[NAMED:]
    if rest:
        named.append(f"{len(rest)} more with {rate(sum(one.rate_bps for one in rest))}")
    return f", beside {' and '.join(named)}"


def part(e: Evidence, limit: str) -> str:
    """For how much of its time a limit held the flow."""
    return f"for {percent(e.shares.get(limit, 0.0))} of its time"


def sysctl(e: Evidence, advice: str, host: str, name: str, value: str) -> Remedy:
    """The remedy that sets a sysctl on `host`; `advice` says so."""
    return Remedy(advice, f"sysctl -w {name}='{value}'", {e.sysctl_key(host, name): value})


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    divisor, unit = next(((divisor, unit) for divisor, unit in steps if value >= divisor), steps[-1])
    scaled = value / divisor
    return f"{scaled:.3g} {unit}" if scaled < 999.5 else f"{scaled:.0f} {unit}"
