"""Settings of a host, in a namespace of its own: changed, verified, and put back however it ends."""

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import kills
import pytest
from beds.net import Namespace
from waiting import until

from rushhour.errors import HostError
from rushhour.lab.host import settings
from rushhour.lab.host.answers import Journal
from rushhour.lab.host.session import Session

pytestmark = pytest.mark.host

JOURNALS = Path("/run/rushhour")
EVERYTHING: list[dict[str, Any]] = [
    {"kind": "qdisc", "dev": "eth0", "words": "bfifo limit 30000"},
    {"kind": "qdisc", "dev": "eth1", "words": "pfifo limit 7"},
    {"kind": "sysctl", "name": "net.ipv4.tcp_rmem", "value": [4096, 87380, 67108864]},
    {"kind": "sysctl", "name": "net.ipv4.tcp_sack", "value": 0},
    {"kind": "ethtool-feature", "dev": "eth0", "name": "tso", "value": False},
    {"kind": "ethtool-feature", "dev": "eth0", "name": "tx-checksumming", "value": False},
    {"kind": "mtu", "dev": "eth0", "value": 9000},
    {"kind": "txqueuelen", "dev": "eth0", "value": 10000},
    {"kind": "channels", "dev": "eth0", "rx": 2, "tx": 2},
    {"kind": "coalesce", "dev": "tun0", "rx-frames": 12},
]


@pytest.fixture
def host() -> Iterator[Namespace]:
    """Two cables and a tunnel; a queue that somebody made with a number and options of its own."""
    made = Namespace("host")
    for dev, peer in (("eth0", "far0"), ("eth1", "far1")):
        made.ip(f"link add {dev} numtxqueues 4 numrxqueues 4 type veth peer name {peer}")
        made.ip(f"link set {dev} up", f"link set {peer} up")
    made.run("ip", "tuntap", "add", "tun0", "mode", "tun")
    made.tc("qdisc add dev eth1 root handle 5: tbf rate 10mbit burst 3000 limit 40000")
    yield made
    made.close()


def dump(host: Namespace) -> dict[str, str]:
    """Everything that settings could change here: all sysctls, queues, links, features."""

    def sysctls() -> dict[str, str]:
        found = {}
        for path in Path("/proc/sys/net").rglob("*"):
            with suppress(OSError):
                if path.is_file() and path.name != "nf_conntrack_count":
                    found[str(path)] = path.read_text()
        return found

    told: dict[str, str] = host.inside(sysctls)
    told["queues"] = host.run("tc", "qdisc", "show")
    told["links"] = host.run("ip", "-o", "link", "show")
    for dev in ("eth0", "eth1"):
        told[f"features of {dev}"] = host.run("ethtool", "-k", dev)
        told[f"channels of {dev}"] = host.run("ethtool", "-l", dev)
    told["moderation"] = host.run("ethtool", "-c", "tun0")
    return told


def processes(host: Namespace, word: str) -> set[int]:
    """Processes of the agent in this namespace, by the word they were started with."""
    mine = Path(host.path).readlink()
    found = set()
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if word.encode() in words[1:2] and (entry / "ns/net").readlink() == mine:
                found.add(int(entry.name))
    return found


def journals(host: Namespace) -> list[Journal]:
    with Session.open(host.place) as session:
        return settings.left(session)


def kept_anywhere(text: str) -> bool:
    """Whether a journal of ours (by its `who`) lies around."""
    return any(f'"who":"{text}"' in path.read_text() for path in JOURNALS.glob("*.journal"))


def test_every_kind_is_changed_verified_and_put_back(host: Namespace) -> None:
    before = dump(host)
    with Session.open(host.place) as session:
        looked = settings.check(session, EVERYTHING)
        assert [row.error for row in looked] == [None] * len(EVERYTHING)
        assert dump(host) == before
        done = settings.apply(session, EVERYTHING, who="every kind")
        assert len(done.applied) == len(EVERYTHING)
        changed = dump(host)
        assert "bfifo" in changed["queues"]
        assert "pfifo" in changed["queues"]
        assert "mtu 9000" in changed["links"]
        assert "qlen 10000" in changed["links"]
        assert "tcp-segmentation-offload: off" in changed["features of eth0"]
        assert "rx-frames:12" in "".join(changed["moderation"].split())
        assert host.read("net.ipv4.tcp_rmem").split() == ["4096", "87380", "67108864"]
        assert all(row.same for row in settings.check(session, EVERYTHING) if row.change["kind"] != "qdisc")
        outcomes = {entry["outcome"] for entry in done.restore()}
    assert outcomes <= {"restored", "already"}
    assert dump(host) == before
    assert not kept_anywhere("every kind")


def test_the_end_of_a_session_puts_everything_back(host: Namespace) -> None:
    before = dump(host)
    with Session.open(host.place) as session:
        settings.apply(session, EVERYTHING[:4], who="first")
        settings.apply(session, EVERYTHING[4:], who="second")
        assert dump(host) != before
    assert dump(host) == before
    assert not processes(host, "keep")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "sysctl", "name": "net.ipv4.tcp_rmen", "value": 1}, "nearest it has is net.ipv4.tcp_"),
        ({"kind": "sysctl", "name": "net.ipv4.tcp_ecn", "value": 99}, "put back"),
        ({"kind": "sysctl", "name": "net.ipv4.tcp_congestion_control", "value": "cubik"}, "It has:"),
        ({"kind": "mtu", "dev": "eth7", "value": 1500}, "no device"),
        ({"kind": "mtu", "dev": "eth1", "value": 999999}, "put back"),
        ({"kind": "ring", "dev": "eth0", "rx": 4096}, "no ring sizes"),
        ({"kind": "channels", "dev": "eth1", "tx": 64}, "at most 4"),
        ({"kind": "ethtool-feature", "dev": "eth0", "name": "tsu", "value": True}, "Did you mean"),
        (
            {"kind": "qdisc", "dev": "eth0", "words": "htb default 1"},
            "cannot be the queue of a device by itself",
        ),
        ({"kind": "governor", "value": "performance"}, "whole machine"),
        ({"kind": "service", "name": "irqbalance", "state": "stopped"}, "whole machine"),
        ({"kind": "sysctl", "name": "vm.swappiness", "value": 1}, "whole machine"),
        ({"kind": "sysctl", "name": "net.core.netdev_max_backlog", "value": 1}, "netdev_max_backlog"),
        (
            {"kind": "sysctl", "name": "kernel.core_pattern", "value": "|/bin/sh"},
            "does not change sysctl",
        ),
    ],
)
def test_what_cannot_be_done_changes_nothing_and_says_why(
    host: Namespace, wrong: dict[str, Any], words: str
) -> None:
    before = dump(host)
    with Session.open(host.place) as session:
        with pytest.raises(HostError) as caught:
            settings.apply(session, [*EVERYTHING, wrong], who="half")
        assert words in str(caught.value)
        assert dump(host) == before
        assert settings.left(session) == []


def test_queues_that_could_not_be_put_back_are_left_alone(host: Namespace) -> None:
    host.tc("qdisc add dev far0 root handle 1: htb default 1",
            "class add dev far0 parent 1: classid 1:1 htb rate 1mbit")  # fmt: skip
    before = dump(host)
    with Session.open(host.place) as session, pytest.raises(HostError, match="could not be put back"):
        settings.apply(session, [{"kind": "qdisc", "dev": "far0", "words": "pfifo"}], who="x")
    assert dump(host) == before


def test_what_somebody_else_changed_meanwhile_is_left_alone_and_told(host: Namespace) -> None:
    with Session.open(host.place) as session:
        done = settings.apply(session, EVERYTHING[3:4] + EVERYTHING[6:7], who="x")
        host.ip("link set eth0 mtu 4000")
        told = {entry["change"]["kind"]: entry for entry in done.restore()}
    assert told["mtu"]["outcome"] == "changed"
    assert "4000" in told["mtu"]["detail"]
    assert told["sysctl"]["outcome"] == "restored"
    assert "mtu 4000" in host.run("ip", "-o", "link", "show", "eth0")
    assert host.read("net.ipv4.tcp_sack") == "1"


def test_one_setting_is_held_by_one_session(host: Namespace) -> None:
    with Session.open(host.place) as first, Session.open(host.place) as second:
        settings.apply(first, EVERYTHING[3:4], who="the first one")
        with pytest.raises(HostError, match="the first one"):
            settings.apply(second, EVERYTHING[2:4], who="the second one")
        settings.apply(second, EVERYTHING[2:3], who="the second one")
    assert host.read("net.ipv4.tcp_sack") == "1"


def test_what_is_kept_outlives_its_session_until_it_is_reverted(host: Namespace) -> None:
    before = dump(host)
    with Session.open(host.place) as session:
        settings.apply(session, EVERYTHING, who="a path", keep=True)
    kept = dump(host)
    assert kept != before
    with Session.open(host.place) as session:
        (journal,) = settings.left(session)
        assert (journal["who"], journal["kept"], len(journal["changes"])) == ("a path", True, len(EVERYTHING))
        with pytest.raises(HostError, match="a path"):
            settings.apply(session, [{"kind": "mtu", "dev": "eth0", "value": 8000}], who="x", keep=True)
        # For a while it may be something else.
        done = settings.apply(session, [{"kind": "mtu", "dev": "eth0", "value": 8000}], who="x")
        done.restore()
        assert settings.revert(session, kept=False) == []
    assert dump(host) == kept
    with Session.open(host.place) as session:
        assert {entry["outcome"] for entry in settings.revert(session, kept=True)} <= {"restored", "already"}
        assert settings.left(session) == []
    assert dump(host) == before


@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_any_moment_leaves_every_setting_as_it_was(host: Namespace, seed: int) -> None:
    dice = random.Random(seed)
    before = dump(host)
    victims = [["serve"], ["keep"], ["serve", "keep"], ["keep", "serve"]][seed % 4]
    session = Session.open(host.place)
    try:
        applying = session.begin("apply", changes=EVERYTHING, who=f"kill {seed}")
        # Ten changes take some milliseconds, and the process that makes them a few more to start.
        time.sleep(dice.uniform(0, 0.03))
        doomed = set().union(*(processes(host, word) for word in victims))
        kills.all_at_once(doomed)
        with suppress(HostError):
            applying.result(20)
    finally:
        session.close()
    assert until(lambda: not processes(host, "serve") and not processes(host, "keep"))
    if len(victims) == 2:
        # Nobody of that session is left who could: the next one to come does it.
        with Session.open(host.place) as after:
            settings.revert(after, kept=False)
    assert dump(host) == before
    assert journals(host) == []
    assert not kept_anywhere(f"kill {seed}")


def test_the_next_who_changes_settings_puts_back_what_two_deaths_left(host: Namespace) -> None:
    before = dump(host)
    session = Session.open(host.place)
    settings.apply(session, EVERYTHING, who="left behind")
    kills.all_at_once(processes(host, "serve") | processes(host, "keep"))
    session.close()
    assert dump(host) != before
    with Session.open(host.place) as after:
        done = settings.apply(after, [{"kind": "sysctl", "name": "net.ipv4.tcp_ecn", "value": 1}], who="y")
        assert len(done.put_back) == len(EVERYTHING)
    assert dump(host) == before


def test_a_keeper_that_is_killed_is_replaced(host: Namespace) -> None:
    before = dump(host)
    with Session.open(host.place) as session:
        settings.apply(session, EVERYTHING, who="replaced")
        changed = dump(host)
        (keeper,) = processes(host, "keep")
        kills.send(keeper)
        assert until(lambda: bool(processes(host, "keep") - {keeper}))
        (journal,) = settings.left(session)
        assert (journal["in_use"], dump(host)) == (True, changed)
    assert dump(host) == before


def test_the_journal_of_a_namespace_that_is_gone_goes_too() -> None:
    gone, other = Namespace("gone"), Namespace("other")
    with Session.open(gone.place) as session:
        settings.apply(session, EVERYTHING[3:4], who="of a namespace that is gone", keep=True)
    assert journals(other) == []
    assert kept_anywhere("of a namespace that is gone")
    gone.close()
    # The kernel takes it apart in its own time, but it cannot be found from now on.
    assert until(lambda: journals(other) == [] and not kept_anywhere("of a namespace that is gone"))
    other.close()
