"""Checks of links and of the presets' common link: what a queue and a wire can be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.quantities.units import Buffer, Size
from rushhour.quantities.words import plural
from rushhour.spec.check.classes import check_control
from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.topology import MAX_NODES, PRESET_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.quantities.units import Rate
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.topology import Direction, Link, LinkKeys, Topology

MAX_DROPS = 4096  # as many as the seeded element keeps
_LONGEST_JITTER = 4 * 10**9  # ns; the seeded element draws 32 bits
DEFAULT_MTU = Size(1500)
_ETHERNET_HEADER = 14
_SMALLEST_MTU = {"ipv4": 576, "ipv6": 1280}  # RFC 791, RFC 8200 section 5
_LARGEST_MTU = 65535
# What stands behind netem's words for times, and its shares.
_TIMES = re.compile(r"\b(?:delay|latency|slot)((?:\s+-?[0-9.]+[A-Za-z%]*)+)")
_SHARE = re.compile(r"(-?[0-9]+\.?[0-9]*)%")


def check_topology(scenario: Scenario) -> Iterator[Problem]:
    """Check the preset's common link, or every link of the graph."""
    top = scenario.topology
    if top is not None:
        for key in ("pause", "withdrawn"):
            if getattr(top, key) is not None:
                yield Problem(("topology", key), "is of a single link", "draw the graph with [[link]] tables")
        yield from _check_preset(top)
        yield from _check_link(scenario, top, ("topology",))
        yield from _check_direction(top, top, ("topology",))
        yield from check_control(scenario, top, _frame(top), ("topology",))
        yield from _check_buffer(
            top.reverse_buffer, top.reverse_rate or top.rate, top, ("topology", "reverse_buffer")
        )
        for key in ("reverse_rate", "access_rate"):
            yield from _check_rate(getattr(top, key), ("topology", key))
        for rate in top.access_rates or ():
            yield from _check_rate(rate, ("topology", "access_rates"))
    for index, link in enumerate(scenario.link):
        here = ("link", index)
        yield from _check_link(scenario, link, here)
        yield from _check_direction(link.direction(forward=True), link, here)
        for side in ("forward", "reverse"):
            own = link.direction(forward=side == "forward")
            if getattr(link, side).model_fields_set:
                yield from _check_direction(own, link, (*here, side))
            # What the link says for both directions is to blame once.
            given = {"classes", "scheduler", "police", "impair_at"} & getattr(link, side).model_fields_set
            if given or side == "forward":
                yield from check_control(scenario, own, _frame(link), (*here, side) if given else here)
        yield from _check_idle(link, here)
        yield from _check_rateless(link, here)


def _check_rateless(link: Link, here: Path) -> Iterator[Problem]:
    if not link.rate is link.forward.rate is link.reverse.rate is None:
        return
    if link.buffer is not None:
        yield Problem((*here, "buffer"), "there is no rate, so no queue builds", "give the link a rate")
    if link.serialise is not None:
        message = "there is no rate, so a packet takes no time to be sent"
        yield Problem((*here, "serialise"), message, "give the link a rate")


def _check_idle(link: Link, here: Path) -> Iterator[Problem]:
    """A shaper or a buffer on directions that have nothing to shape."""
    ways = [(side, link.direction(forward=side == "forward")) for side in ("forward", "reverse")]
    if link.shaper is not None and all(own.rate is None for _, own in ways):
        yield Problem((*here, "shaper"), "there is no rate to keep", "give the link a rate")
    if link.pause and all(own.rate is None and own.queue is None for _, own in ways):
        yield Problem((*here, "pause"), "there is no rate, so no queue fills", "give the link a rate")
    for side, own in ways:
        given = getattr(link, side).model_fields_set
        if own.rate is not None:
            continue
        if "serialise" in given and own.serialise is not None:
            message = "there is no rate, so a packet takes no time to be sent"
            yield Problem((*here, side, "serialise"), message, "give the direction a rate")
        if "pause" in given and own.pause and own.queue is None:
            message = "there is no rate, so no queue fills"
            yield Problem((*here, side, "pause"), message, "give the direction a rate")
        if "shaper" in given and own.shaper is not None:
            yield Problem((*here, side, "shaper"), "there is no rate to keep", "give the direction a rate")
        if "buffer" in given and own.buffer is not None and own.queue in (None, "fifo"):
            message = "there is no rate, so no queue builds"
            yield Problem((*here, side, "buffer"), message, "give the direction a rate")


def _check_access(top: Topology) -> Iterator[Problem]:
    here = ("topology", "access_rates")
    if top.access_rates is None or top.preset == "chain":
        return
    if top.access_rate is not None:
        yield Problem(here, "says the same as access_rate", "keep one of access_rate and access_rates")
    if len(top.access_rates) != len(top.senders):
        message = f"has {plural(len(top.access_rates), 'value')} for {len(top.senders)}"
        yield Problem(here, message, "give one rate for each")


def _check_preset(top: Topology) -> Iterator[Problem]:
    for key, presets in PRESET_KEYS.items():
        if getattr(top, key) is not None and top.preset not in presets:
            used = " and ".join(f'"{name}"' for name in presets)
            yield Problem(("topology", key), f'means nothing in a "{top.preset}"', f"it belongs to {used}")
    ways = [key for key in ("rtt", "rtts", "delay") if getattr(top, key) is not None]
    if not ways:
        yield Problem(
            ("topology", "rtt"), "the path has no rtt", 'write rtt = "20ms" (or delay = "10ms", one way)'
        )
    for key in ways[1:]:
        yield Problem(("topology", key), f"says the same as {ways[0]}", f"keep one of {' and '.join(ways)}")
    if top.rate is None:
        yield Problem(
            ("topology", "rate"), "the common link has no rate", 'write for example rate = "100mbit"'
        )
    given = {"dumbbell": top.pairs, "star": top.leaves}.get(top.preset)
    if top.rtts is not None and (not top.rtts or (given or len(top.rtts)) != len(top.rtts)):
        yield Problem(
            ("topology", "rtts"),
            f"has {plural(len(top.rtts), 'value')} for {given or 1}",
            "give one RTT for each",
        )
    yield from _check_access(top)
    count = len(top.senders) + len(top.routers) + len(top.receivers)
    if count > MAX_NODES:
        yield Problem(
            ("topology",), f"{count} nodes are more than {MAX_NODES}", "use several flows on a host"
        )


def _check_link(scenario: Scenario, link: LinkKeys, here: Path) -> Iterator[Problem]:
    if link.mtu is not None and not _SMALLEST_MTU[scenario.family] <= link.mtu.bytes <= _LARGEST_MTU:
        least = _SMALLEST_MTU[scenario.family]
        yield Problem(
            (*here, "mtu"), f'"{link.mtu}" is not between "{least}B" ({scenario.family}) and "65535B"'
        )
    if link.offload and link.receive_offload:
        message = "with offload = true bundles arrive whole: there is nothing to put together"
        yield Problem((*here, "receive_offload"), message, "leave out one of them")


def _check_direction(direction: Direction, link: LinkKeys, here: Path) -> Iterator[Problem]:
    yield from _check_rate(direction.rate, (*here, "rate"))
    yield from _check_buffer(direction.buffer, direction.rate, link, (*here, "buffer"))
    if direction.reorder and (direction.jitter is None or direction.jitter.ns == 0):
        yield Problem(
            (*here, "reorder"),
            "has no jitter that could reorder",
            'give a jitter, for example jitter = "5ms"',
        )
    if direction.jitter is not None and direction.jitter.ns > _LONGEST_JITTER:
        message = f'"{direction.jitter}" is more than the wire can draw'
        yield Problem((*here, "jitter"), message, 'at most "4s"; netem = "delay …" takes more')
    if direction.drop is not None and len(direction.drop) > MAX_DROPS:
        yield Problem((*here, "drop"), f"names more than {MAX_DROPS} packets", "use loss")
    yield from _check_words(direction.queue, (*here, "queue"), "a queue discipline")
    yield from _check_words(direction.netem, (*here, "netem"), "netem's words")
    yield from _check_netem(direction.netem, (*here, "netem"))


def _frame(link: LinkKeys) -> int:
    """Bytes of a full frame with its Ethernet header, as a qdisc counts them."""
    return (link.mtu or DEFAULT_MTU).bytes + _ETHERNET_HEADER


_WHERE = ("root", "parent", "handle", "dev")


def _check_words(words: str | None, path: Path, what: str) -> Iterator[Problem]:
    if words is not None and not words.strip():
        yield Problem(path, "is empty", f"name {what}, or leave the key out")
    for place, word in enumerate((words or "").split()):
        # Behind the name of a discipline "ingress" is a word of cake's.
        if word in _WHERE or (place == 0 and word in ("clsact", "ingress")):
            yield Problem(
                path, f'"{word}" says where a qdisc sits, which the plan decides', f"give {what} only"
            )


def _check_netem(words: str | None, path: Path) -> Iterator[Problem]:
    """Times and shares that cannot be; what else is wrong with the words the agent says."""
    for times in _TIMES.findall(words or ""):
        for word in times.split():
            if word.startswith("-"):
                yield Problem(path, f'"{word}" is negative', "a delay is zero or more")
    for word in (words or "").split():
        share = _SHARE.fullmatch(word)
        if share is not None and not 0 <= float(share[1]) <= 100:
            yield Problem(path, f'"{word}" is no share of packets', "from 0% to 100%")


def _check_rate(rate: Rate | None, path: Path) -> Iterator[Problem]:
    # tbf's rate is in bytes per second; below one the kernel refuses it.
    if rate is not None and rate.bps < 8:
        yield Problem(path, f'"{rate}" carries nothing', 'at least "8bit"')


def _check_buffer(buffer: Buffer | None, rate: Rate | None, link: LinkKeys, path: Path) -> Iterator[Problem]:
    """A buffer holds one packet at least; BDPs are judged by the plan, which knows the path."""
    if buffer is None:
        return
    packet = (link.mtu or DEFAULT_MTU).bytes
    size = buffer.bytes
    if buffer.time is not None and rate is not None:
        size = buffer.time.ns * rate.bps // (8 * 10**9)
    if size is not None and size < packet:
        yield Problem(
            path, f'"{buffer}" holds {size} bytes, less than one packet of {packet}', "nothing would pass"
        )
    if buffer.packets == 0 or buffer.bdp == 0:
        yield Problem(path, f'"{buffer}" holds no packet', "nothing would pass")
