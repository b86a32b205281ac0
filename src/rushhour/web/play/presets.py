"""Experiments to begin with: an address each, and one sentence of what to look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A first experiment: its name in an address, its title, its query, what to look at."""

    name: str
    title: str
    query: str
    look: str


PRESETS = (
    Preset(
        "sharing",
        "Sharing a link",
        "flow=cubic&flow=reno,start=1s",
        "The second flow comes a second later: how long until both have half of the link?",
    ),
    Preset(
        "bufferbloat",
        "Bufferbloat",
        "rate=10mbit&rtt=20ms&buffer=200ms&duration=12s&flow=cubic",
        "The link is full either way, but the round trip grows until the buffer is. Make the buffer smaller.",
    ),
    Preset(
        "codel",
        "CoDel's answer",
        "rate=10mbit&rtt=20ms&buffer=200ms&queue=fq_codel&duration=12s&flow=cubic",
        "The same buffer under fq_codel: the queue stays near 5 ms. Pin this, then set the queue to fifo.",
    ),
    Preset(
        "window",
        "Window too small",
        "rate=50mbit&rtt=100ms&flow=cubic,rcvbuf=128kB",
        "Goodput is one receiver's window per round trip, whatever the link can carry. Halve the RTT.",
    ),
    Preset(
        "reno-cubic",
        "Reno against CUBIC",
        "rate=50mbit&rtt=100ms&duration=25s&flow=cubic&flow=reno",
        "CUBIC grows by the clock, Reno by the round trip: who gets more? Then try a round trip of 10 ms.",
    ),
    Preset(
        "rtt-unfair",
        "RTT unfairness",
        "buffer=0.5bdp&duration=20s&flow=reno,rtt=20ms,name=near&flow=reno,rtt=100ms,name=far",
        "Both are Reno. The one with the shorter round trip grows more often, and takes the larger share.",
    ),
    Preset(
        "lossy",
        "A lossy path",
        "rtt=80ms&loss=0.5%25&duration=10s&flow=reno",
        "One packet in 200 is lost on the wire, and Reno takes each for congestion. Change it to bbr.",
    ),
    Preset(
        "bbr-cubic",
        "BBR against CUBIC",
        "buffer=4bdp&duration=15s&flow=cubic&flow=bbr,start=1s",
        "CUBIC fills the buffer, BBR keeps to its model of the path. Make the buffer 0.5bdp: who wins then?",
    ),
    Preset(
        "slow-start",
        "Slow start",
        "rate=100mbit&rtt=100ms&buffer=0.2bdp&duration=3s&flow=cubic",
        "The window doubles each round trip until it overruns the buffer: look at drops and retransmits.",
    ),
    Preset(
        "ecn",
        "Marks instead of drops",
        "buffer=2bdp&queue=fq_codel&ecn=1&duration=8s&flow=cubic&flow=cubic,start=1s",
        "With ECN the queue marks and nothing is dropped: no retransmits at all. Switch ECN off and compare.",
    ),
    Preset(
        "udp",
        "UDP does not yield",
        "duration=8s&flow=cubic&flow=udp,rate=12mbit,start=2s,duration=3s",
        "For three seconds 12 Mbit/s of datagrams come: TCP gives way and comes back. Send 25 Mbit/s.",
    ),
    Preset(
        "parking-lot",
        "Parking lot",
        "preset=chain&size=3&buffer=0.5bdp&duration=15s&flow=reno,name=long&flow=reno&flow=reno&flow=reno",
        "One flow crosses three bottlenecks, the others one each: the long one pays at every one of them.",
    ),
    Preset(
        "incast",
        "Incast",
        "preset=star&rate=200mbit&rtt=1ms&buffer=64kB&duration=2s" + 8 * "&flow=cubic",
        "Eight senders, one port, a small buffer: look at the drops and the shares. Try a larger buffer.",
    ),
)


def preset(name: str) -> Preset | None:
    """The preset of this name."""
    return next((one for one in PRESETS if one.name == name), None)
