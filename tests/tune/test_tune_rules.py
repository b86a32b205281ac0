"""What is advised for a path: by formulas whose answers are known, and nothing where all is well."""

from dataclasses import replace
from typing import Any

import pytest

from rushhour.causes import buffers
from rushhour.causes.table import CAUSES
from rushhour.diagnosis.case import Case
from rushhour.diagnosis.case import Path as Way
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.measured import Measured, Tcp, Train, Udp
from rushhour.lab.profile import find_profile
from rushhour.tune.plan import Plan, advise, of_profile, persistent

MIB = 1 << 20
# The defaults of Linux 6.12 on a machine with 8 GiB.
DEFAULTS: dict[str, Any] = {
    "net.ipv4.tcp_rmem": [4096, 131072, 6 * MIB],
    "net.ipv4.tcp_wmem": [4096, 16384, 4 * MIB],
    "net.ipv4.tcp_mem": [93000, 124000, 186000],
    "net.core.rmem_max": 4 * MIB,
    "net.core.wmem_max": 4 * MIB,
    "net.core.netdev_max_backlog": 1000,
    "net.core.netdev_budget": 300,
    "net.core.netdev_budget_usecs": 8000,
    "net.core.optmem_max": 131072,
    "net.core.default_qdisc": "fq_codel",
    "net.ipv4.tcp_moderate_rcvbuf": 1,
    "net.ipv4.tcp_window_scaling": 1,
    "net.ipv4.tcp_sack": 1,
    "net.ipv4.tcp_dsack": 1,
    "net.ipv4.tcp_timestamps": 1,
    "net.ipv4.tcp_mtu_probing": 0,
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_available_congestion_control": "reno cubic bbr",
}
LINK: dict[str, Any] = {
    "dev": "eth0",
    "mtu": 1500,
    "max_mtu": 9000,
    "txqlen": 1000,
    "offloads": {name: {"on": True, "fixed": False} for name in ("tso", "gso", "gro", "sg", "tx", "rx")},
}


def facts(release: str = "6.12.9", link: dict[str, Any] | None = None, **sysctls: Any) -> Facts:
    changed = {f"net.{name.replace('__', '.')}": value for name, value in sysctls.items()}
    queue = {"qdiscs": [{"kind": "fq_codel", "parent": "root"}]}
    sections = {
        "host": {"kernel": release},
        "sysctl": DEFAULTS | changed,
        "link": LINK | (link or {}),
        "route": {"found": {"dev": "eth0", "gateway": "10.0.0.1"}},
        "qdisc": {"eth0": queue},
        "memory": {"total": 8 << 30},
        "cpu": {"governor": {"performance": 4}},
    }
    return Facts("alice", sections)


def advised(
    a: Facts | None = None, *, rtt_ms: float = 1, rate_bps: float = 100e6, mtu: int | None = None,
    memory: int | None = None,
) -> dict[tuple[str, str], Any]:  # fmt: skip
    way = Way(int(rtt_ms * 1e6), {"a→b": rate_bps, "b→a": rate_bps}, mtu)
    found = advise(Case(a or facts(), facts(), path=way), memory=memory)
    assert all(one.reason and one.source == CAUSES[one.cause].source for one in found)
    return {
        (one.end, one.setting): one.change["value"] for one in found if one.change and "value" in one.change
    }


def test_a_short_path_with_the_kernels_defaults_needs_nothing() -> None:
    assert advised() == {}


def test_buffers_hold_the_window_of_a_long_path_twice() -> None:
    # 1 Gbit/s for 187 ms (Giannoulatos, 3.6) are 23.4 MB; twice that as a window takes 4 x 23.4 MB of buffer.
    found = advised(rtt_ms=187, rate_bps=1e9)
    held = 1e9 * 0.187 / 8
    for end in ("a", "b"):
        assert found[end, "net.ipv4.tcp_rmem"] == [4096, 131072, buffers.rounded(4 * held)]
        assert found[end, "net.ipv4.tcp_wmem"] == [4096, 16384, buffers.rounded(4 * held)]
        assert found[end, "net.core.rmem_max"] == buffers.rounded(2 * held)


def test_what_is_large_enough_is_left_alone() -> None:
    mine = facts(ipv4__tcp_rmem=[4096, 131072, 128 * MIB], ipv4__tcp_wmem=[4096, 16384, 128 * MIB])
    found = advised(mine, rtt_ms=187, rate_bps=1e9)
    assert ("a", "net.ipv4.tcp_rmem") not in found
    assert ("b", "net.ipv4.tcp_rmem") in found


def test_memory_bounds_what_buffers_may_take() -> None:
    found = advised(rtt_ms=187, rate_bps=1e9, memory=64 * MIB)
    assert found["a", "net.ipv4.tcp_rmem"][2] == 16 * MIB


@pytest.mark.parametrize(
    ("release", "scale", "space"),
    [
        ("6.12.9", 1, 2000),  # TCP_DEFAULT_SCALING_RATIO: a half, whatever the sysctl says
        ("6.6.0", 2, 2000),
        ("6.5.13", 1, 2000),  # tcp_win_from_space: space - space/2
        ("6.1.0-49-amd64", 2, 1333),  # three quarters
        ("5.10.0", -2, 4000),  # space/4
    ],
)
def test_the_space_of_a_window_follows_the_kernels_formula(release: str, scale: int, space: int) -> None:
    needed, words = buffers.receive_space(1000, release, scale)
    assert needed == space
    assert words


def test_what_is_off_is_switched_on() -> None:
    mine = facts(ipv4__tcp_sack=0, ipv4__tcp_window_scaling=0, ipv4__tcp_timestamps=0)
    assert advised(mine) == {
        ("a", "net.ipv4.tcp_sack"): 1,
        ("a", "net.ipv4.tcp_window_scaling"): 1,
        ("a", "net.ipv4.tcp_timestamps"): 1,
    }


def test_a_long_path_is_not_for_reno() -> None:
    mine = facts(ipv4__tcp_congestion_control="reno")
    assert advised(mine, rtt_ms=50)["a", "net.ipv4.tcp_congestion_control"] == "cubic"
    assert advised(mine, rtt_ms=1) == {}


def test_an_algorithm_that_ignores_losses_is_advised_only_where_chance_takes_packets() -> None:
    """Segments that are sent again for another reason, a short queue, say nothing for it."""
    lost = Tcp(
        goodput_bps=5e6, steady_bps=5e6, segments=1000, retransmits=20, shares={"losses": 0.9}, cc="cubic"
    )
    rest: dict[str, Any] = {"idle_rtt_ns": 40_000_000, "single": lost, "several": Tcp(steady_bps=9e7)}
    chance = Measured("a→b", udp=Udp(4e6, 4e6, 2500, 2450), **rest)
    queue = Measured("a→b", train=Train(192, 40, 98e6), udp=Udp(4e6, 4e6, 2500, 2500), **rest)
    found = []
    for m in (chance, queue):
        case = Case(facts(), facts(), {"a→b": m})
        found.append({one.cause: one.wanted for one in advise(case) if "congestion" in one.setting})
    assert found == [{"random-loss": "bbr"}, {}]


def test_a_driver_that_chooses_the_frequency_itself_is_left_alone() -> None:
    known = facts()
    way = Way(1_000_000, {"a→b": 1e9, "b→a": 1e9})
    found = []
    for driver in ("acpi-cpufreq", "intel_pstate"):
        cpu = {"governor": {"powersave": 4}, "frequency_driver": driver}
        mine = Facts("alice", {**known.sections, "cpu": cpu})
        advice = advise(Case(mine, facts(), path=way))
        found.append([one.end for one in advice if one.cause == "processor-kept-slow"])
    assert found == [["a"], []]


def test_probing_is_advised_where_large_packets_may_vanish() -> None:
    assert advised(mtu=1400) == {(end, "net.ipv4.tcp_mtu_probing"): 1 for end in ("a", "b")}
    assert advised(facts(link={"mtu": 9000})) == {("a", "net.ipv4.tcp_mtu_probing"): 1}


def test_a_fast_path_needs_room_for_packets() -> None:
    found = advised(rate_bps=10e9)
    # 833 333 packets of 1500 bytes a second: 8334 in 10 ms.
    assert found["a", "net.core.netdev_max_backlog"] == 9000
    assert found["a", "net.core.netdev_budget"] == 6700


def test_offloads_and_rings_that_could_be_on_are_advised() -> None:
    off = {"offloads": {"tso": {"on": False, "fixed": False}, "gro": {"on": False, "fixed": True}}}
    link = off | {"rings": {"rx": 256, "rx-max": 4096, "tx": 256, "tx-max": 256}}
    way = Way(1_000_000, {"a→b": 1e9, "b→a": 1e9})
    found = [one.change for one in advise(Case(facts(link=link), facts(), path=way)) if one.end == "a"]
    assert {"kind": "ring", "dev": "eth0", "rx": 4096} in found
    assert {"kind": "ethtool-feature", "dev": "eth0", "name": "tso", "value": True} in found
    assert not any(change and change.get("name") == "gro" for change in found)


def test_what_persists_is_written_as_sysctl_reads_it() -> None:
    found = tuple(of_profile(find_profile("giannoulatos-3.3"), "a", "eth1", optional=False))
    plan = Plan("now", {"a": "alice", "b": "bob"}, None, {}, found)
    lines = persistent(plan, "a").splitlines()
    assert "net.ipv4.tcp_rmem = 4096 87380 67108864" in lines
    assert "# txqueuelen eth1: 10000" in lines
    assert all(line.startswith("#") for line in persistent(plan, "b").splitlines())
    assert persistent(plan, "b").startswith("# bob: nothing to change\n")
    queue = tuple(one for one in found if one.change and one.change["kind"] == "txqueuelen")
    (first, *_) = persistent(replace(plan, advice=queue), "a").splitlines()
    assert first.startswith("# For alice's network manager, "), "no file of no settings"
