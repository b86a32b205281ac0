"""Facts of real namespaces against what `ip`, `tc` and `ethtool` say of them."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from beds.net import Namespace

from rushhour.diagnosis import gather
from rushhour.diagnosis.gather import counters
from rushhour.lab.host.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.diagnosis.facts import Facts

pytestmark = [pytest.mark.host, pytest.mark.alone]
HERE, THERE = "10.78.0.1", "10.78.0.2"


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[Namespace, Namespace]]:
    """Two namespaces: at `a` a bridge over a veth, with settings of every kind changed."""
    with ExitStack() as stack:
        a, b = (stack.enter_context(_namespace(name)) for name in "ab")
        a.ip(
            f"link add eth0 mtu 1400 txqueuelen 77 type veth peer name eth0 netns {b.path}",
            "link add br0 type bridge",
            "link set eth0 master br0",
            "link set eth0 up",
            "link set br0 up mtu 1400",
            f"addr add {HERE}/24 dev br0",
            f"route add 10.79.0.0/16 via {THERE} mtu lock 1300 initcwnd 4 window 20000 metric 7",
        )
        b.ip("link set eth0 up mtu 1400", f"addr add {THERE}/24 dev eth0")
        a.tc(
            "qdisc add dev eth0 root handle 1: htb default 16",
            "class add dev eth0 parent 1: classid 1:10 htb rate 50mbit ceil 80mbit quantum 1600",
            "qdisc add dev br0 root tbf rate 30mbit burst 20000 limit 60000",
        )
        a.run("ethtool", "-K", "eth0", "tso", "off")
        a.sysctl("net.ipv4.tcp_sack", 0)
        a.sysctl("net.ipv4.tcp_rmem", "4096 50000 100000")
        yield a, b


class _namespace(ExitStack):  # noqa: N801 - a context, called like a function
    def __init__(self, name: str) -> None:
        super().__init__()
        self.made = Namespace(name)
        self.callback(self.made.close)

    def __enter__(self) -> Any:
        return self.made


@pytest.fixture(scope="module")
def facts(ends: tuple[Namespace, Namespace]) -> Facts:
    with Session.open(ends[0].place) as session:
        return gather.gather(session, THERE, wait=lambda _: None)


def test_the_device_and_what_lies_under_it(facts: Facts, ends: tuple[Namespace, Namespace]) -> None:
    assert facts.link.dev == "br0"
    assert (facts.link.kind, facts.link.mtu) == ("bridge", 1400)
    under = facts.link.under["eth0"]
    shown = json.loads(ends[0].run("ip", "-j", "-d", "link", "show", "eth0"))[0]
    assert (under.mtu, under.txqlen) == (1400, 77)
    for ours, theirs in (("address", "address"), ("mtu", "mtu"), ("gso_max_size", "gso_max_size")):
        assert under[ours] == shown[theirs]
    assert under.master == "br0"


def test_features_are_those_that_ethtool_shows(facts: Facts, ends: tuple[Namespace, Namespace]) -> None:
    shown = ends[0].run("ethtool", "-k", "eth0")
    offloads = facts.link.under["eth0"].offloads
    for word, name in (
        ("tso", "tx-tcp-segmentation"), ("gso", "generic-segmentation-offload"),
        ("gro", "generic-receive-offload"), ("sg", "tx-scatter-gather"), ("rx", "rx-checksumming"),
    ):  # fmt: skip
        match = re.search(rf"^\s*{name}: (on|off)( \[fixed\])?", shown, re.MULTILINE)
        assert match, name
        assert offloads[word] == {"on": match[1] == "on", "fixed": match[2] is not None}, name
    assert not offloads["tso"].on


def test_queues_are_those_that_tc_shows(facts: Facts) -> None:
    (tbf,) = facts.qdisc["br0"].qdiscs
    assert (tbf.kind, tbf.parent, tbf.options.rate_bps) == ("tbf", "root", 30_000_000)
    assert tbf.options.limit_bytes == 60_000
    assert tbf.options.burst_bytes == pytest.approx(20_000, rel=1e-3)
    (class_,) = facts.qdisc["eth0"].classes
    assert class_.options == {"rate_bps": 50_000_000, "ceil_bps": 80_000_000}


def test_settings_of_the_namespace_are_read_and_not_the_machines(facts: Facts) -> None:
    assert facts.number("net.ipv4.tcp_sack") == 0
    assert facts.sizes("net.ipv4.tcp_rmem") == [4096, 50_000, 100_000]


def test_a_route_tells_what_it_fixes(ends: tuple[Namespace, Namespace]) -> None:
    with Session.open(ends[0].place) as session:
        way = gather.gather(session, "10.79.1.1", wait=lambda _: None).sections["route"]
        nowhere = gather.gather(session, "203.0.113.9", wait=lambda _: None)
    assert way["entry"]["to"] == "10.79.0.0/16"
    for name, value in {
        "mtu": 1300,
        "initcwnd": 4,
        "metric": 7,
        "window": 20_000,
        "gateway": THERE,
        "locked": ["mtu"],
    }.items():
        assert way["entry"][name] == value
    assert way["found"]["source"] == HERE
    assert "unreachable" in nowhere.unknown["route"]
    assert nowhere.link.mtu is None


def test_counters_rise_by_what_was_sent(ends: tuple[Namespace, Namespace], facts: Facts) -> None:
    with Session.open(ends[0].place) as session:
        before = gather.recount(session, facts)
        for _ in range(3):
            _datagram(ends[0])
        risen = counters.rise(before, gather.recount(session, facts))
    assert risen["snmp.Udp.OutDatagrams"] == 3
    assert risen["link.br0.tx_packets"] >= 3
    assert risen["qdisc.br0.tbf.root.packets"] >= 3
    assert not [name for name in risen if name.startswith("snmp.Tcp.")]


def test_rules_that_drop_are_told_and_counted(ends: tuple[Namespace, Namespace]) -> None:
    a, b = ends
    b.nft(
        "chain i {\n type filter hook input priority 0; policy accept;\n"
        " udp dport 9 limit rate over 1/hour burst 1 packets counter drop\n tcp dport 1 accept\n}"
    )
    with Session.open(b.place) as session:
        facts = gather.gather(session, HERE, wait=lambda _: None)
        for _ in range(4):
            _datagram(a)
        risen = counters.rise(facts.counters, gather.recount(session, facts))
    (rule,) = facts.firewall.dropping
    assert (rule.table, rule.chain, rule.limit and rule.limit.over) == ("bed", "i", True)
    assert {"limit", "counter", "immediate"} <= set(rule.expressions)
    assert facts.firewall.chains[0].hook == "input"
    # One passes by the burst; of the other three each is dropped and counted.
    assert risen[f"filter.ip.bed.i.{rule.handle}"] == 3
    b.run("nft", "delete", "table", "ip", "bed")


def _datagram(end: Namespace) -> None:
    import socket  # noqa: PLC0415 - in the namespace's own thread

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.sendto(b"x", (THERE, 9))

    end.inside(send)
