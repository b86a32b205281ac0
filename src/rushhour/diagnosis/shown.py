"""Values in words, short enough for a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.quantities.short import binary, rate
from rushhour.quantities.words import plural
from rushhour.record.facts_file import Offload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.facts_file import Qdisc, Way

PAGE = 4096
_NO_LIMIT = 0xFFFF_FFFF


def plain(value: Any) -> str:
    """A setting as the kernel writes it."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def sizes(value: list[int] | int) -> str:
    """Least, default and greatest, as tcp_rmem has them: `4K 128K 6M`."""
    values = value if isinstance(value, list) else [value]
    return " ".join(binary(one).replace(" ", "").replace("iB", "").replace("B", "") for one in values)


def pages(value: list[int] | int) -> str:
    """Pages as bytes, for tcp_mem."""
    values = value if isinstance(value, list) else [value]
    return sizes([one * PAGE for one in values])


def mbps(value: float) -> str:
    """A link's speed, which the kernel tells in Mbit/s."""
    return rate(value * 1e6)


def switch(value: Offload | int | None) -> str:
    """On or off, `[fixed]` where it cannot be changed, as ethtool writes it."""
    if isinstance(value, Offload):
        return ("on" if value.on else "off") + (" [fixed]" if value.fixed else "")
    return "on" if value else "off"


def packets(value: int) -> str:
    """A number of packets."""
    return plural(value, "packet")


def counted(value: Mapping[str, int]) -> str:
    """Names with how many: `powersave`, or `powersave 6, performance 2`."""
    return next(iter(value)) if len(value) == 1 else ", ".join(f"{name} {n}" for name, n in value.items())


def counts(value: Mapping[str, int]) -> str:
    """What was counted: `none`, or each with how often."""
    return ", ".join(f"{name} {count}" for name, count in value.items()) or "none"


def limit(value: int) -> str:
    """A size whose greatest value means none."""
    return "none" if value >= _NO_LIMIT else binary(value)


def ecn(value: int) -> str:
    """tcp_ecn (`Documentation/networking/ip-sysctl.rst`)."""
    return {0: "off", 1: "asked for", 2: "if asked"}.get(value, str(value))


def probing(value: int) -> str:
    """tcp_mtu_probing (`Documentation/networking/ip-sysctl.rst`)."""
    return {0: "off", 1: "after a black hole", 2: "always"}.get(value, str(value))


def route(value: Way) -> str:
    """The way packets take: gateway, and what the route fixes."""
    words = [f"via {value.gateway}" if value.gateway is not None else "direct"]
    fixed = {"mtu": value.mtu, "window": value.window, "initcwnd": value.initcwnd, "congctl": value.congctl}
    words += [f"{name} {one}" for name, one in fixed.items() if one is not None]
    return " ".join(words)


def qdisc(value: Qdisc) -> str:
    """A queue discipline with its rate or its limit: `tbf 50 Mbit/s`."""
    options, words = value.options, [value.kind]
    if options.rate_bps:
        words.append(rate(options.rate_bps))
    if options.limit_packets:
        words.append(f"{options.limit_packets}p")
    elif options.limit_bytes:
        words.append(binary(options.limit_bytes))
    return " ".join(words)
