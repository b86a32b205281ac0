"""Real paths on this machine, for everything that has to work on real paths.

    with path(rate="100mbit", rtt="20ms") as p:
        Session.open(Place.parse(p.a))        # p.a, p.b: places; p.address_a, p.address_b
        p.nodes["b"].sysctl("net.ipv4.tcp_rmem", "4096 8192 16384")

    a ─── left ═══ line ═══ right ─── b

`left` and `right` are routers; on their way to each other sits the bottleneck (tbf) of each direction.
The line between them is the agent's (`rushhour-agent line`): a process that delays, loses, and so on, frame
by frame.
Everything is held by this process and is gone with it.
Nobody asks for addresses: a packet that waits for the answer may be overtaken by the next one.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import kills

from beds.net import Namespace
from rushhour.lab import agent
from rushhour.quantities.units import Duration, Rate, Size

if TYPE_CHECKING:
    from collections.abc import Iterator

ADDRESSES = {"a": "10.77.1.2", "b": "10.77.3.2"}
GATEWAYS = {"a": "10.77.1.1", "b": "10.77.3.1"}
SOUND: dict[str, str | int] = {
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.tcp_no_metrics_save": 1,
}
"""What an end of a sound path has: the kernel's own defaults, and no memory of the transfer before."""
ETHERNET = 14
LARGEST_BUCKET_NS = 250_000


@dataclass(frozen=True)
class Wanted:
    """How a path is to be. `rate_back`, `buffer_back` and `line_back` are as the others where not said.

    `buffer` is the queue at the bottleneck, in bytes or as time; `line` the line's words beside its delay.
    """

    rate: str | None = "100mbit"
    rtt: str | None = "20ms"
    buffer: str = "25ms"
    rate_back: str | None = None
    buffer_back: str | None = None
    line: str = ""
    line_back: str | None = None
    delay_share: float = 0.5
    """Part of the round trip that the way from a to b takes."""
    mtu: int = 1500
    cc: str = "cubic"
    """Congestion control, by the route: as a default a namespace may only have what all users may."""
    sysctl: dict[str, str | int] = field(default_factory=dict)


@dataclass
class Path:
    """A path that is there. `nodes`: a, left, right, b."""

    nodes: dict[str, Namespace]
    wanted: Wanted
    line: subprocess.Popen[str] | None = None

    @property
    def a(self) -> str:
        """A place."""
        return self.nodes["a"].place

    @property
    def b(self) -> str:
        """A place."""
        return self.nodes["b"].place

    @property
    def address_a(self) -> str:
        """Where b reaches a."""
        return ADDRESSES["a"]

    @property
    def address_b(self) -> str:
        """Where a reaches b."""
        return ADDRESSES["b"]

    def line_report(self) -> dict[str, Any]:
        """End the line; what each direction did (`Report` in agent/src/path/line/carry.rs)."""
        assert self.line is not None, "this path has no line"
        self.line.terminate()
        return dict(json.loads(self.line.communicate(timeout=10)[0]))


@contextmanager
def path(wanted: Wanted | None = None, **keys: Any) -> Iterator[Path]:
    """Build a path; it is gone when the block ends, or this process."""
    wanted = wanted or Wanted(**keys)
    with ExitStack() as stack:
        nodes = {}
        for name in ("a", "left", "right", "b", "line"):
            nodes[name] = Namespace(name)
            stack.callback(nodes[name].close)
        between = nodes.pop("line")
        built = Path(nodes, wanted)
        _ends(built)
        _middle(built, between)
        for side, other, rate, buffer in (
            ("left", "right", wanted.rate, wanted.buffer),
            ("right", "left", wanted.rate_back or wanted.rate, wanted.buffer_back or wanted.buffer),
        ):
            if rate is not None:
                nodes[side].tc(f"qdisc add dev {other} root handle 1: {shaper(rate, buffer, wanted.mtu)}")
        if _has_line(wanted):
            built.line = stack.enter_context(_line(wanted, between))
        yield built


def shaper(rate: str, buffer: str, mtu: int = 1500) -> str:
    """A tbf in tc's words: a bucket of two frames, or 250 µs at high rates, when timers come late."""
    bps = Rate.parse(rate).bps
    if buffer.endswith("B"):
        limit = Size.parse(buffer).bytes
    else:
        limit = int(Duration.parse(buffer).ns * bps / 8e9)
    frame = mtu + ETHERNET
    bucket = max(2 * frame - 1, int(bps * LARGEST_BUCKET_NS / 8e9))
    return f"tbf rate {int(bps)}bit burst {bucket} limit {max(limit, bucket)}"


def _ends(built: Path) -> None:
    """Both hosts with their cables to the routers."""
    for end, router in (("a", "left"), ("b", "right")):
        host, gateway = built.nodes[end], built.nodes[router]
        host.ip(
            f"link add eth0 mtu {built.wanted.mtu} type veth peer name {end} mtu {built.wanted.mtu} "
            f"netns {gateway.path}",
            *_up("eth0", f"{ADDRESSES[end]}/24", GATEWAYS[end]),
        )
        gateway.ip(*_up(end, f"{GATEWAYS[end]}/24", ADDRESSES[end]))
        host.ip(f"route add default via {GATEWAYS[end]} congctl {built.wanted.cc}")
        gateway.sysctl("net.ipv4.ip_forward", 1)
        for name, value in (SOUND | built.wanted.sysctl).items():
            host.sysctl(name, value)


def _middle(built: Path, between: Namespace) -> None:
    """The cable between the routers: one, or two with the line between them."""
    left, right = built.nodes["left"], built.nodes["right"]
    mtu = built.wanted.mtu
    if _has_line(built.wanted):
        left.ip(f"link add right mtu {mtu} type veth peer name x mtu {mtu} netns {between.path}")
        right.ip(f"link add left mtu {mtu} type veth peer name y mtu {mtu} netns {between.path}")
        between.ip("link set dev x up", "link set dev y up")
        # What crosses the line is what would cross a cable: packets, not super-packets.
        for router, device in ((left, "right"), (right, "left")):
            router.run("ethtool", "-K", device, "tso", "off", "gso", "off")
    else:
        left.ip(f"link add right mtu {mtu} type veth peer name left mtu {mtu} netns {right.path}")
    for router, device, own, via, far in (
        (left, "right", "10.77.2.1", "10.77.2.2", "10.77.3.0/24"),
        (right, "left", "10.77.2.2", "10.77.2.1", "10.77.1.0/24"),
    ):
        router.ip(*_up(device, f"{own}/30", via), f"route add {far} via {via}")


def _up(device: str, address: str, neighbour: str) -> list[str]:
    """A device with its address, up, and its neighbour at the cable's other end, which has just answered."""
    return [
        f"link set dev {device} address {_ether(address.partition('/')[0])}",
        f"address add {address} dev {device}",
        f"link set dev {device} up",
        f"neighbour add {neighbour} lladdr {_ether(neighbour)} nud reachable dev {device}",
    ]


def _ether(address: str) -> str:
    """The Ethernet address of who has this IPv4 address: a local one that ends in the same four bytes."""
    return "02:00:" + ":".join(f"{int(byte):02x}" for byte in address.split("."))


def _has_line(wanted: Wanted) -> bool:
    return wanted.rtt is not None or bool(wanted.line or wanted.line_back)


@contextmanager
def _line(wanted: Wanted, between: Namespace) -> Iterator[subprocess.Popen[str]]:
    trip = Duration.parse(wanted.rtt).ns if wanted.rtt else 0
    there = int(trip * wanted.delay_share)
    back = wanted.line if wanted.line_back is None else wanted.line_back
    words = [f"delay {there}ns", wanted.line, "/", f"delay {trip - there}ns", back]
    binary = str(agent.find().binary)
    command = between.words(binary, "line", "x", "y", *" ".join(words).split())
    with kills.at_the_end(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "ready" in said, f"the line said {said!r}"
        yield process
