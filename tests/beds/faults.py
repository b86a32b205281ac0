"""Paths with exactly one fault each, and what a diagnosis has to say of them.

A fault is a function that breaks a sound path; `FAULTS` has them all by name:

    with FAULTS["small_receive_buffer"].path() as p:
        ...

A is the end that sends where a direction matters.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path as File
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import kills

from beds.path import GATEWAYS, Path, Wanted, path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from beds.net import Namespace

    Break = Callable[[Path, ExitStack], None]

SMALL = "4096 16384 32768"


@dataclass(frozen=True)
class Fault:
    """A fault and its diagnosis.

    Attributes:
        says: What is wrong, for people.
        first: Keys of findings of which one has to come first.
        where: Where that finding has to be; None: anywhere.
        layer: The layer of the bottleneck; None: nothing was limited that anybody would miss.
        grave: Whether a person must be told (critical or warning), or a note is right.
        alone: Whether its path needs the whole machine.
    """

    name: str
    says: str
    first: frozenset[str]
    where: str | None
    layer: str | None
    grave: bool
    alone: bool
    wanted: Wanted
    breaks: Break = field(repr=False)

    @contextmanager
    def path(self) -> Iterator[Path]:
        """A path that has it."""
        with ExitStack() as stack:
            built = stack.enter_context(path(self.wanted))
            self.breaks(built, stack)
            yield built


FAULTS: dict[str, Fault] = {}


def fault(
    *first: str,
    where: str | None = None,
    layer: str | None = None,
    grave: bool = True,
    alone: bool = False,
    **wanted: Any,
) -> Callable[[Break], Break]:
    """Enter a function as a fault of a path like `wanted`."""

    def enter(breaks: Break) -> Break:
        says = (breaks.__doc__ or "").strip()
        FAULTS[breaks.__name__] = Fault(
            breaks.__name__, says, frozenset(first), where, layer, grave, alone, Wanted(**wanted), breaks
        )
        return breaks

    return enter


@fault(grave=False)
def none(_: Path, __: ExitStack) -> None:
    """Nothing is wrong."""


# --- the ends' buffers and TCP


@fault("receive-buffer-too-small", where="b", layer="socket")
def small_receive_buffer(p: Path, _: ExitStack) -> None:
    """B's receive buffers hold a tenth of what the path does."""
    p.nodes["b"].sysctl("net.ipv4.tcp_rmem", SMALL)


@fault("receive-autotuning-off", where="b", layer="socket", rtt="40ms")
def receive_buffer_not_tuned(p: Path, _: ExitStack) -> None:
    """B's receive buffers do not grow with the flow."""
    p.nodes["b"].sysctl("net.ipv4.tcp_moderate_rcvbuf", 0)


@fault("send-buffer-too-small", where="a", layer="socket")
def small_send_buffer(p: Path, _: ExitStack) -> None:
    """A's send buffers hold a tenth of what the path does."""
    p.nodes["a"].sysctl("net.ipv4.tcp_wmem", SMALL)


@fault("window-scaling-off", where="b", layer="tcp", rtt="40ms")
def scaling_off(p: Path, _: ExitStack) -> None:
    """B refuses window scaling: 64 KiB in flight at most."""
    p.nodes["b"].sysctl("net.ipv4.tcp_window_scaling", 0)


@fault("window-scaling-off", layer="path", rtt="40ms")
def scaling_stripped(p: Path, _: ExitStack) -> None:
    """A firewall strips the option: both ends offer it, no connection has it."""
    p.nodes["left"].nft(
        "chain forward { type filter hook forward priority 0; tcp flags syn reset tcp option window; }"
    )


@fault("sack-off", where="b", layer="tcp", rtt="40ms", buffer="8ms")
def sack_off(p: Path, _: ExitStack) -> None:
    """B has no selective acknowledgements, before a queue that drops many at once."""
    p.nodes["b"].sysctl("net.ipv4.tcp_sack", 0)


@fault("timestamps-off", where="b", grave=False)
def timestamps_off(p: Path, _: ExitStack) -> None:
    """B has no timestamps: worth a note, no more."""
    p.nodes["b"].sysctl("net.ipv4.tcp_timestamps", 0)


@fault("ecn-mismatch", where="b", grave=False)
def ecn_refused(p: Path, _: ExitStack) -> None:
    """A asks for congestion marks, b refuses."""
    p.nodes["a"].sysctl("net.ipv4.tcp_ecn", 1)
    p.nodes["b"].sysctl("net.ipv4.tcp_ecn", 0)


@fault("reno-on-a-long-path", where="a", layer="tcp", rtt="120ms", line="drop 1500", line_back="")
def reno_on_a_long_path(p: Path, _: ExitStack) -> None:
    """A sends by Reno over 120 ms, and one packet is lost."""
    p.nodes["a"].ip(f"route replace default via {GATEWAYS['a']} congctl reno")
    p.nodes["a"].sysctl("net.ipv4.tcp_congestion_control", "reno")


# --- packet sizes


@fault("mtu-mismatch", where="b")
def wrong_mtu(p: Path, _: ExitStack) -> None:
    """B takes packets of 1400 bytes at most, and its router does not know."""
    p.nodes["b"].ip("link set dev eth0 mtu 1400")


@fault("mtu-black-hole", layer="ip", line="mtu 1400")
def black_hole(_: Path, __: ExitStack) -> None:
    """A switch on the way loses packets above 1400 bytes without a word."""


@fault("mtu-black-hole", where="a→b", layer="ip")
def icmp_filtered(p: Path, _: ExitStack) -> None:
    """A link of 1400 bytes on the way, and a router that may not say so."""
    p.nodes["left"].ip("link set dev right mtu 1400")
    p.nodes["left"].nft(
        "chain out { type filter hook output priority 0; icmp type destination-unreachable drop; }"
    )


@fault("mtu-probing-off", "path-mtu-learned", grave=False)
def narrow_link(p: Path, _: ExitStack) -> None:
    """A link of 1400 bytes on the way, properly told: it works as long as ICMP does."""
    for router, device in (("left", "right"), ("right", "left")):
        p.nodes[router].ip(f"link set dev {device} mtu 1400")


@fault("route-mtu", where="a")
def route_mtu(p: Path, _: ExitStack) -> None:
    """A's route forgot to forget that there was a tunnel once."""
    p.nodes["a"].ip(f"route replace default via {GATEWAYS['a']} congctl cubic mtu lock 600")


@fault("large-packets-lost", layer="ip")
def jumbo_at_the_ends(p: Path, _: ExitStack) -> None:
    """Both ends were given jumbo frames, and what is between them was not."""
    for end in ("a", "b"):
        p.nodes[end].ip("link set dev eth0 mtu 9000")


@fault("segments-clamped")
def segments_clamped(p: Path, _: ExitStack) -> None:
    """A router clamps segments as if every path were the narrowest."""
    p.nodes["right"].nft(
        "chain forward { type filter hook forward priority 0; tcp flags syn tcp option maxseg size set 536; }"
    )


# --- rates


@fault("asymmetric-path", where="b→a", layer="path", rate_back="40mbit")
def half_speed(_: Path, __: ExitStack) -> None:
    """A link of the way back is slower than it should be."""


@fault("asymmetric-path", where="a→b", layer="path", rate="5mbit", rate_back="50mbit")
def asymmetric(_: Path, __: ExitStack) -> None:
    """What one calls ADSL."""


@fault("shaper-on-the-sender", where="a", layer="queue")
def forgotten_shaper(p: Path, _: ExitStack) -> None:
    """A tbf of an old experiment is left on a's device."""
    p.nodes["a"].tc("qdisc add dev eth0 root tbf rate 20mbit burst 3000 limit 120000")


@fault("shaper-on-the-sender", where="b", layer="queue")
def forgotten_class(p: Path, _: ExitStack) -> None:
    """An htb with one class is left on b's device."""
    p.nodes["b"].tc(
        "qdisc add dev eth0 root handle 1: htb default 10",
        "class add dev eth0 parent 1: classid 1:10 htb rate 10mbit",
    )


@fault("policer", where="a→b", layer="path")
def policer(p: Path, _: ExitStack) -> None:
    """A router drops what exceeds 20 Mbit/s."""
    # A bucket of 30 kB and no room to wait: a policer, on a kernel that has no action of that name.
    p.nodes["right"].tc("qdisc add dev b root tbf rate 20mbit burst 30000 limit 1600")


# --- queues


@fault("bufferbloat", where="a→b", layer="queue", rate="20mbit", buffer="1s", buffer_back="25ms")
def bufferbloat(_: Path, __: ExitStack) -> None:
    """A modem with a queue of a second."""


@fault("shallow-queue", where="a→b", layer="queue", rtt="40ms", buffer="5kB", buffer_back="25ms")
def shallow_queue(_: Path, __: ExitStack) -> None:
    """A switch with room for three packets."""


@fault("drops-in-the-own-queue", "shaper-on-the-sender", where="a", layer="queue", rtt="40ms")
def own_queue_too_short(p: Path, _: ExitStack) -> None:
    """A's own shaper is as fast as the path, and holds two packets."""
    p.nodes["a"].tc("qdisc add dev eth0 root tbf rate 95mbit burst 3000 limit 4500")


# --- losses and what looks like it


@fault("random-loss", where="a→b", layer="path")
def random_loss(p: Path, _: ExitStack) -> None:
    """A router loses one packet of a hundred."""
    # Behind the line, where what was one large packet to the sender's device is many: of these one is lost.
    p.nodes["right"].nft(
        'chain forward { type filter hook forward priority 0; oifname "b" numgen random mod 100 == 0 drop; }'
    )


@fault("random-loss", "losses", where="a→b", layer="path", line="loss 0.8% burst 5 seed 5", line_back="")
def burst_loss(_: Path, __: ExitStack) -> None:
    """Radio: five packets at once."""


@fault("random-loss", where="b→a", layer="path", line="", line_back="loss 4% seed 7")
def loss_on_the_way_back(_: Path, __: ExitStack) -> None:
    """What b sends is lost: data, and acknowledgements of a's."""


@fault("reordering", where="a→b", layer="path", line="jitter 8ms reorder", line_back="")
def reordering(_: Path, __: ExitStack) -> None:
    """Packets overtake each other by up to 8 ms."""


@fault("duplicates", where="a→b", line="duplicate 5%", line_back="")
def duplicates(_: Path, __: ExitStack) -> None:
    """A bridge loop sends one packet of twenty twice."""


@fault("corruption", where="a→b", layer="path", line="corrupt 1%", line_back="")
def corruption(_: Path, __: ExitStack) -> None:
    """A bad cable turns bits over."""


# --- closed ways


@fault("port-blocked", where="a→b", layer="ip")
def port_blocked(p: Path, _: ExitStack) -> None:
    """B's firewall drops connections."""
    p.nodes["b"].nft("chain in { type filter hook input priority 0; tcp flags syn / syn,ack drop; }")


@fault("unreachable", layer="ip")
def unreachable(p: Path, _: ExitStack) -> None:
    """A router forwards nothing."""
    p.nodes["left"].nft("chain forward { type filter hook forward priority 0; drop; }")


@fault("next-hop-set-by-hand", "unreachable", layer="ip")
def no_way_back(p: Path, _: ExitStack) -> None:
    """B has a neighbour's address that nobody has any more."""
    p.nodes["b"].ip(f"neighbour replace {GATEWAYS['b']} lladdr 02:00:00:00:00:99 dev eth0 nud permanent")


@fault("udp-blocked", where="a→b")
def udp_blocked(p: Path, _: ExitStack) -> None:
    """A firewall lets TCP and echoes pass, datagrams not."""
    p.nodes["right"].nft(
        'chain forward { type filter hook forward priority 0; iifname "left" ip protocol udp drop; }'
    )


# --- the ends themselves


@fault("offloads-off", where="a", grave=False, alone=True, rate="200mbit", rtt=None, buffer="5ms")
def offloads_off(p: Path, _: ExitStack) -> None:
    """A's device cuts nothing and joins nothing."""
    p.nodes["a"].run("ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off")


@fault("slow-writer", "slow-reader", "cpu-busy", where="a", layer="application")
def slow_writer(p: Path, stack: ExitStack) -> None:
    """Who writes at a runs ten times a second, and its buffer holds less; it also reads so what b sends."""
    p.nodes["a"].sysctl("net.ipv4.tcp_wmem", "4096 16384 600000")
    stack.enter_context(_halting(p.nodes["a"]))


TALK = """
import socket, sys, time
if sys.argv[1] == "read":
    with socket.create_server(("0.0.0.0", 7002)) as server:
        print("ready", flush=True)
        peer, _ = server.accept()
        while peer.recv(20_000):
            time.sleep(0.1)
else:
    with socket.create_connection((sys.argv[2], 7002)) as peer:
        print("ready", flush=True)
        while True:
            peer.sendall(bytes(1 << 16))
"""


@fault("connection-slow-reader", where="b", layer="application")
def program_reads_slowly(p: Path, stack: ExitStack) -> None:
    """The path is sound; a program at b takes 200 kB a second of what one at a sends.

    (The agent's own reader cannot be the slow one: it would have to stand still, and with it who watches.)
    """
    for end, words in (("b", ["read"]), ("a", ["send", p.address_b])):
        command = p.nodes[end].words(sys.executable, "-c", TALK, *words)
        program = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(program.kill)
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"


@fault("machine-busy", grave=False, alone=True)
def busy_machine(_: Path, stack: ExitStack) -> None:
    """Other programs keep the processors of this machine busy."""
    for _cpu in range(os.cpu_count() or 1):
        stack.enter_context(_program(sys.executable, "-c", "while True: pass"))


@contextmanager
def _program(*words: str) -> Iterator[None]:
    with kills.at_the_end(subprocess.Popen(words)):
        yield


@contextmanager
def _halting(at: Namespace, runs_s: float = 0.005, stands_s: float = 0.095) -> Iterator[None]:
    """Let the agent at an end stand still for most of the time."""
    done = Event()

    def work() -> None:
        while not done.is_set():
            agents = list(_agents(at))
            for number in (signal.SIGSTOP, signal.SIGCONT):
                for pid in agents:
                    kills.send(pid, number)
                time.sleep(stands_s if number == signal.SIGSTOP else runs_s)

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _agents(at: Namespace) -> Iterator[int]:
    """The agents that serve here."""
    for entry in File("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and at.path.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)
