"""Rules on facts: each finds its fault on otherwise good machines, and good machines draw no warning."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentences import is_said
from servers import MIB, changed, server

from rushhour.causes.cause import LAYERS, SEVERITIES
from rushhour.causes.finding import PLACES, Finding
from rushhour.causes.table import CAUSES
from rushhour.diagnosis import rules
from rushhour.diagnosis.case import Case, Path
from rushhour.diagnosis.facts import Facts
from rushhour.diagnosis.measured import Cpu, Measured, Sizes, Tcp
from rushhour.diagnosis.rules import (
    device,
    host,
    link,
    packet_filter,
    queue,
    route,
    sizes,
    socket,
    system,
    tcp,
)

GIGABIT = Path(20_000_000, {"a→b": 1e9, "b→a": 1e9})
WAYS = ("a→b", "b→a")
ON_FACTS = [
    one
    for module in (device, host, link, packet_filter, queue, route, sizes, socket, system, tcp)
    for one in module.RULES
]


def find(case: Case) -> list[Finding]:
    return [finding for rule in ON_FACTS for finding in rule(case)]


def measured(way: str, counters: dict[str, float] | None = None, **more: Any) -> Measured:
    """A direction in which counters of the receiver rose."""
    return Measured(way, counters={} if counters is None else {way[-1]: counters}, **more)


def queues(kind: str, **options: Any) -> list[dict[str, Any]]:
    return [{"kind": kind, "handle": "1:", "parent": "root", "options": options, "drops": 0, "overlimits": 9}]


def fault(key: str) -> Case:
    changes, seen, *_ = FAULTS[key]
    alice = changed(server("alice"), **AT_A.get(key, {}))
    return Case(alice, changed(server("bob"), **changes), seen, GIGABIT)


def slow(rate: float, retransmits: int = 0) -> Tcp:
    return Tcp(goodput_bps=rate, steady_bps=rate, segments=10_000, retransmits=retransmits)


# What is changed at b, what was measured, what is found, how grave, where.
FAULTS: dict[str, tuple[dict[str, Any], dict[str, Measured], str, str]] = {
    "receive-buffer-too-small": ({"sysctl__net.ipv4.tcp_rmem": [4096, 87380, 174760]}, {}, "critical", "b"),
    "receive-autotuning-off": ({"sysctl__net.ipv4.tcp_moderate_rcvbuf": 0}, {}, "critical", "b"),
    "send-buffer-too-small": ({"sysctl__net.ipv4.tcp_wmem": [4096, 16384, 65536]}, {}, "critical", "b"),
    "rmem-max-small": ({"sysctl__net.core.rmem_max": 212992}, {}, "note", "b"),
    "wmem-max-small": ({"sysctl__net.core.wmem_max": 212992}, {}, "note", "b"),
    "tcp-memory-pressure": ({"sockets__tcp_mem": 510_000}, {}, "critical", "b"),
    "tcp-mem-too-small": ({"sysctl__net.ipv4.tcp_mem": [300, 400, 600]}, {}, "warning", "b"),
    "udp-receive-buffer-full": (
        {}, {"a→b": measured("a→b", {"snmp.Udp.RcvbufErrors": 812})}, "warning", "b"),
    "window-scaling-off": ({"sysctl__net.ipv4.tcp_window_scaling": 0}, {}, "critical", "b"),
    "sack-off": (
        {"sysctl__net.ipv4.tcp_sack": 0}, {"a→b": measured("a→b", single=slow(1e8, 50))}, "warning", "b"),
    "timestamps-off": ({"sysctl__net.ipv4.tcp_timestamps": 0}, {}, "warning", "b"),
    "dsack-off": (
        {"sysctl__net.ipv4.tcp_dsack": 0}, {"a→b": measured("a→b", single=slow(1e8, 50))}, "note", "b"),
    "ecn-mismatch": ({"sysctl__net.ipv4.tcp_ecn": 1}, {}, "note", "a"),
    "reno-on-a-long-path": ({"sysctl__net.ipv4.tcp_congestion_control": "reno"}, {}, "warning", "b"),
    "odd-congestion-control": (
        {"sysctl__net.ipv4.tcp_congestion_control": "lp"},
        {"b→a": measured("b→a", single=slow(1e8))}, "warning", "b"),
    "congestion-control-missing": (
        {"sysctl__net.ipv4.tcp_available_congestion_control": "reno cubic htcp",
         "sysctl__net.ipv4.tcp_congestion_control": "htcp"}, {}, "note", "a"),
    "mtu-probing-off": ({}, {"b→a": measured("b→a", sizes=Sizes(1400, 1500))}, "warning", "b"),
    "segments-clamped": (
        {}, {"a→b": measured("a→b", single=Tcp(mss=300, goodput_bps=1e9, steady_bps=1e9))}, "warning", "a→b"),
    "path-mtu-discovery-off": ({"sysctl__net.ipv4.ip_no_pmtu_disc": 1}, {}, "note", "b"),
    "tcp-limit-output-bytes-small": ({"sysctl__net.ipv4.tcp_limit_output_bytes": 4096}, {}, "warning", "b"),
    "tcp-notsent-lowat-small": ({"sysctl__net.ipv4.tcp_notsent_lowat": 4096}, {}, "warning", "b"),
    "tcp-pacing-ca-ratio-small": ({"sysctl__net.ipv4.tcp_pacing_ca_ratio": 50}, {}, "warning", "b"),
    "half-duplex": ({"link__duplex": "half", "link__autoneg": False}, {}, "critical", "b"),
    "collisions": ({}, {"a→b": measured("a→b", {"link.eno1.collisions": 300})}, "warning", "b"),
    "link-below-its-speed": ({"link__speed_mbps": 1000}, {}, "critical", "b"),
    "speeds-differ": ({"link__speed_mbps": 1000, "link__supported_mbps": 1000}, {}, "note", "b"),
    "damaged-frames": ({"link__errors": {"rx_crc_errors": 90_000}}, {}, "warning", "b"),
    "link-flaps": ({}, {"a→b": measured("a→b", {"link.eno1.carrier_changes": 2})}, "critical", "b"),
    "receive-ring-overflow": (
        {}, {"a→b": measured("a→b", {"driver.eno1.rx_no_buffer_count": 77})}, "critical", "b"),
    "paused-by-the-network": (
        {}, {"a→b": measured("a→b", {"driver.eno1.rx_flow_control_xoff": 5})}, "warning", "b"),
    "mtu-mismatch": ({"link__mtu": 9000}, {"b→a": measured("b→a", sizes=Sizes(1500, 9000))}, "warning", "a"),
    "small-mtu": ({"link__mtu": 576}, {}, "warning", "b"),
    "offloads-off": ({"link__offloads__tso": {"on": False, "fixed": False}}, {}, "warning", "b"),
    "emulated-card": (
        {"link__driver__name": "e1000", "virtualisation__hypervisor": True}, {}, "warning", "b"),
    "transmit-queue-too-short": (
        {"link__txqlen": 5, "qdisc__eno1__qdiscs": queues("pfifo_fast", bands=3)},
        {"b→a": Measured("b→a", counters={"b": {"qdisc.eno1.pfifo_fast.root.drops": 9}})}, "warning", "b"),
    "flow-control-one-sided": (
        {"link__pause": {"autoneg": False, "rx": False, "tx": True}}, {}, "note", "b"),
    "line-is-full": ({}, {"b→a": measured("b→a", single=slow(9.3e9))}, "note", "b→a"),
    "shaper-on-the-sender": (
        {"qdisc__eno1__qdiscs": queues("tbf", rate_bps=50_000_000, limit_bytes=50_000, burst_bytes=5000)},
        {"b→a": measured("b→a", single=slow(47e6))}, "critical", "b"),
    "netem-on-the-device": (
        {"qdisc__eno1__qdiscs": queues("netem", delay_us=40_000, loss=0.01, limit_packets=1000)},
        {}, "critical", "b"),
    "policer-on-the-device": (
        {"qdisc__eno1__filters": [{"hook": "ingress", "kind": "u32", "priority": 1, "actions": [
            {"kind": "police", "options": {"rate_bps": 10_000_000, "burst_bytes": 10_000}}]}]},
        {}, "critical", "b"),
    "queue-too-long": (
        {"qdisc__eno1__qdiscs": queues("tbf", rate_bps=10_000_000, limit_bytes=4 * MIB, burst_bytes=5000)},
        {}, "warning", "b"),
    "drops-in-the-own-queue": (
        {"qdisc__eno1__qdiscs": queues("pfifo", limit_packets=10)},
        {"b→a": Measured("b→a", counters={"b": {"qdisc.eno1.pfifo.root.drops": 90}})}, "warning", "b"),
    "fifo-before-a-slow-line": (
        {"link__speed_mbps": 100, "qdisc__eno1__qdiscs": queues("pfifo_fast", bands=3)}, {}, "note", "b"),
    "route-mtu": ({"route__entry__mtu": 1200}, {}, "warning", "b"),
    "path-mtu-learned": ({"route__found__mtu": 1400, "route__found__expires_s": 500}, {}, "note", "b"),
    "route-window": ({"route__found__window": 32768}, {}, "critical", "b"),
    "route-cwnd": ({"route__found__cwnd": 10, "route__found__locked": ["cwnd"]}, {}, "critical", "b"),
    "initial-window-small": ({"route__entry__initcwnd": 2}, {}, "warning", "b"),
    "initial-window-large": ({"route__entry__initcwnd": 200}, {}, "note", "b"),
    "route-advmss": ({"route__entry__advmss": 536}, {}, "warning", "b"),
    "route-rto-min": ({"route__entry__rto_min": 3000}, {}, "warning", "b"),
    "asymmetric-route": ({"route__found__gateway": None}, {}, "note", "a→b"),
    "next-hop-silent": ({"route__neighbour__state": "failed"}, {}, "critical", "b"),
    "next-hop-set-by-hand": (
        {"route__neighbour__state": "permanent"}, {"a→b": measured("a→b", single=Tcp(error="timed out"))},
        "critical", "b"),
    "packets-live-too-short": (
        {"sysctl__net.ipv4.ip_default_ttl": 2}, {"a→b": measured("a→b", single=Tcp(error="timed out"))},
        "critical", "b"),
    "route-congestion-control": ({"route__entry__congctl": "htcp"}, {}, "note", "b"),
    "stolen-time": ({"cpu__mean__steal": 0.3}, {}, "critical", "b"),
    "machine-busy": ({"cpu__mean__busy": 0.9}, {}, "note", "b"),
    "processor-kept-slow": (
        {"cpu__governor": {"powersave": 16}, "cpu__frequency_driver": "acpi-cpufreq"}, {}, "warning", "b"),
    "deep-idle-states": ({"cpu__idle_states_us": {"C1": 2, "C6": 6000}}, {}, "note", "b"),
    "received-by-one-processor": (
        {"link__channels": {"combined": 1, "combined-max": 63}},
        {"a→b": measured("a→b", cpu={"b": Cpu(16, 1.0, 0.08, softirq=0.95)})}, "warning", "b"),
    "interrupts-on-the-far-node": ({"pcie__eno1__local_cpus": "8-15"}, {}, "warning", "b"),
    "slot-too-narrow": (
        {"pcie__eno1": {"bus": "0000:03:00.0", "speed_gts": 2.5, "width": 1, "max_speed_gts": 5.0,
                        "max_width": 8, "carries_bps": 1_680_000_000}}, {}, "critical", "b"),
    "backlog-overflow": ({}, {"a→b": measured("a→b", {"softnet.3.dropped": 40})}, "warning", "b"),
    "budget-used-up": (
        {}, {"a→b": measured("a→b", {"softnet.3.time_squeeze": 400}, cpu={"b": Cpu(16, 1.0, 0.1, 0.9)})},
        "note", "b"),
    "memory-short": ({}, {"a→b": measured("a→b", {"vm.pswpout": 4000})}, "critical", "b"),
    "cpu-quota": ({"memory__cgroup": {"cpus": 0.5, "throttled": 3}}, {}, "note", "b"),
    "memory-limit": ({"memory__cgroup": {"memory": 32 * MIB}}, {}, "note", "b"),
    "few-segments-at-once": ({"link__gso_max_segs": 1, "link__gso_max_size": 65536}, {}, "warning", "b"),
    "member-down": (
        {"link__under": {"eno2": {"master": "bond0", "state": "down", "kind": "veth"}}}, {}, "warning", "b"),
    "unusual-settings": ({"sysctl__net.ipv4.tcp_early_retrans": 0}, {}, "note", "b"),
    "packet-filter-drops": (
        {"firewall__dropping": [{"family": "ip", "table": "t", "chain": "in", "handle": 4,
                                 "expressions": ["limit", "counter", "immediate"], "packets": 5,
                                 "limit": {"a_second": 1000.0, "of": "packets", "over": True}}]},
        {"a→b": measured("a→b", {"filter.ip.t.in.4": 77}, single=slow(1e8, 90))}, "critical", "b"),
    "packet-filter-closed": (
        {"firewall__chains": [{"family": "inet", "table": "t", "chain": "in", "hook": "input",
                               "policy": "drop"}]},
        {"a→b": measured("a→b", single=Tcp(error="timed out"))}, "critical", "b"),
    "filter-on-the-device": (
        {"qdisc__eno1__filters": [{"hook": "egress", "kind": "bpf", "priority": 1, "actions": []}]},
        {}, "note", "b"),
    "slow-clock": ({"time__clocksource": "hpet"}, {}, "warning", "b"),
    "connection-table-full": ({"firewall__conntrack_count": 262_000}, {}, "critical", "b"),
}  # fmt: skip
# What must be otherwise at a for the fault to be one.
AT_A = {"ecn-mismatch": {"sysctl__net.ipv4.tcp_ecn": 0}}


@pytest.mark.parametrize("key", FAULTS)
def test_a_fault_is_found_and_nothing_worse_is_said(key: str) -> None:
    _, _, severity, where = FAULTS[key]
    found = find(fault(key))
    mine = [one for one in found if one.key == key]
    assert [one.severity for one in mine] == [severity], [(one.key, one.severity) for one in found]
    assert "b" in mine[0].where or where != "b"
    assert mine[0].evidence
    assert mine[0].source
    assert mine[0].title.endswith(".")
    assert all(is_said(one) for one in found), found
    order: list[str] = list(SEVERITIES)
    assert all(order.index(one.severity) >= order.index(CAUSES[one.key].worst) for one in found)
    worse = [one.key for one in found if order.index(one.severity) < order.index(severity)]
    # What one fault brings with it may be graver than itself, but only these.
    assert set(worse) <= {"link-below-its-speed", "received-by-one-processor"}, worse


def test_every_finding_of_these_rules_has_a_fault_that_draws_it() -> None:
    written = set()
    for module in (device, host, link, packet_filter, queue, route, sizes, socket, system, tcp):
        for node in ast.walk(ast.parse(File(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "finding":
                texts = (one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant))
                written |= {text for text in texts if text in CAUSES}
    assert len(written) > 50
    assert written <= {*FAULTS}, written - {*FAULTS}


@pytest.mark.parametrize(
    "path",
    [Path(), Path(200_000, dict.fromkeys(WAYS, 9.4e9)), GIGABIT, Path(20_000_000, dict.fromkeys(WAYS, 1e8)),
     Path(100_000_000, dict.fromkeys(WAYS, 1e7)), Path(20_000_000, dict.fromkeys(WAYS, 9.4e9))],
)  # fmt: skip
def test_well_kept_machines_draw_no_warning(path: Path) -> None:
    seen = {way: measured(way, single=slow(0.95 * path.rate_bps.get(way, 1e6))) for way in WAYS}
    for measurements in ({}, seen):
        case = Case(changed(server("alice")), changed(server("bob")), measurements, path)
        assert [(one.key, one.where) for one in find(case) if one.severity != "note"] == []


def test_a_small_buffer_on_a_short_path_is_nothing() -> None:
    small = {
        "sysctl__net.ipv4.tcp_rmem": [4096, 87380, 174760],
        "sysctl__net.ipv4.tcp_wmem": [4096, 16384, 131072],
    }
    near = Path(500_000, dict.fromkeys(WAYS, 1e8))
    case = Case(changed(server("alice"), **small), changed(server("bob"), **small), {}, near)
    assert find(case) == []


def test_a_limit_that_was_not_reached_while_measuring_is_a_note() -> None:
    tcp_ = Tcp(goodput_bps=2e8, steady_bps=2e8, segments=100, shares={"receiver": 0.01, "losses": 0.9})
    bob = changed(server("bob"), **{"sysctl__net.ipv4.tcp_rmem": [4096, 87380, 174760]})
    case = Case(changed(server("alice")), bob, {"a→b": measured("a→b", single=tcp_)}, GIGABIT)
    assert [one.severity for one in find(case) if one.key == "receive-buffer-too-small"] == ["note"]


def test_commands_can_be_pasted() -> None:
    for key in FAULTS:
        for found in find(fault(key)):
            assert found.layer in LAYERS
            assert found.where in PLACES
            for command in found.fix:
                words = shlex.split(command.text, comments=True)
                assert words, found.key
                assert command.end in {"a", "b"}
                assert "None" not in command.text, (found.key, command.text)
                assert "DEVICE" not in command.text, (found.key, command.text)


def test_a_route_is_changed_in_nothing_but_what_is_wrong_with_it() -> None:
    entry = {"dev": "eno1", "gateway": "192.0.2.254", "to": "0.0.0.0/0", "table": 254, "metric": 100,
             "source": "192.0.2.1", "mtu": 600, "locked": ["mtu"], "initcwnd": 2, "rto_min": 40,
             "congctl": "reno"}  # fmt: skip
    case = Case(changed(server("alice")), changed(server("bob"), route__entry=entry), {}, GIGABIT)
    fixes = {one.key: one.fix[0].text for one in find(case) if one.fix}
    same = "ip route change 0.0.0.0/0 via 192.0.2.254 dev eno1 src 192.0.2.1 metric 100"
    assert fixes["route-mtu"] == f"{same} initcwnd 2 rto_min 40ms congctl reno"
    assert fixes["initial-window-small"] == f"{same} mtu lock 600 rto_min 40ms congctl reno"


def test_a_locked_window_that_was_surpassed_limits_nothing() -> None:
    held = {"route__found__cwnd": 10, "route__found__locked": ["cwnd"]}
    case = Case(changed(server("alice")), changed(server("bob"), **held),
                {"b→a": measured("b→a", single=slow(9e8))}, GIGABIT)  # fmt: skip
    assert "route-cwnd" not in {one.key for one in find(case)}


@pytest.mark.parametrize(
    ("queue", "replaced"),
    [
        (queues("pfifo", limit_packets=10), True),
        (queues("tbf", rate_bps=50_000_000, limit_bytes=50_000, burst_bytes=5000), False),
    ],
)
def test_no_shaper_is_taken_away_for_what_it_dropped(queue: list[dict[str, Any]], *, replaced: bool) -> None:
    dropped = {"b": {f"qdisc.eno1.{queue[0]['kind']}.root.drops": 90.0}}
    bob = changed(server("bob"), qdisc__eno1__qdiscs=queue)
    case = Case(changed(server("alice")), bob, {"b→a": Measured("b→a", counters=dropped)}, GIGABIT)
    (found,) = (one for one in find(case) if one.key == "drops-in-the-own-queue")
    assert bool(found.fix) == replaced


def test_a_shaper_tells_what_it_held_back_while_the_path_was_measured() -> None:
    shaped = {"qdisc__eno1__qdiscs": queues("tbf", rate_bps=50_000_000, limit_bytes=50_000)}
    rose = {"a→b": Measured("a→b"),
            "b→a": measured("b→a", single=slow(47e6), counters={})}  # fmt: skip
    rose["a→b"] = Measured("a→b", counters={"b": {"qdisc.eno1.tbf.root.overlimits": 812.0}})
    case = Case(changed(server("alice")), changed(server("bob"), **shaped), rose, GIGABIT)
    [found] = [one for one in find(case) if one.key == "shaper-on-the-sender"]
    assert [one.value for one in found.evidence if "overlimits" in one.what] == ["812"]


def test_no_name_of_a_device_becomes_a_command_of_its_own() -> None:
    """The kernel forbids only blanks, slashes and colons in them (dev_valid_name)."""
    pasted = 0
    for changes, seen, *_ in FAULTS.values():
        odd = {"link__dev": "eth0;reboot", "route__found__dev": "eth0;reboot"}
        named = changed(server("bob"), **(changes | odd))
        for found in find(Case(changed(server("alice")), named, seen, GIGABIT)):
            for command in found.fix:
                words = list(shlex.shlex(command.text, posix=True, punctuation_chars=True))
                pasted += any("reboot" in word for word in words)
                assert "reboot" not in words, (found.key, command.text)
    assert pasted


def test_the_fix_of_a_buffer_holds_the_path_twice() -> None:
    bob = changed(server("bob"), **{"sysctl__net.ipv4.tcp_rmem": [4096, 87380, 174760]})
    found = next(one for one in find(Case(changed(server("alice")), bob, {}, GIGABIT)) if one.where == "b")
    most = int(shlex.split(found.fix[0].text)[-1].split()[-1])
    # 1 Gbit/s for 20 ms are 2.5 MB; half of a buffer becomes window (tcp_win_from_space).
    assert 2 * 2 * 2_500_000 <= most <= 12 * MIB


# What `gather` gives whole or not at all.
WHOLE = {"tso", "gso", "gro", "rx", "tx", "sg", "pause", "mean", "pressure_pct", "neighbour", "eno1"}


def _leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(value, dict) or (path[-1:] and path[-1] in WHOLE):
        return [path]
    return [path, *(leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key)))]


PLACES_OF_VALUES = [path for path in _leaves(server()) if path and path[0] not in {"format", "place"}]


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(PLACES_OF_VALUES), max_size=30), st.sampled_from(list(FAULTS)))
def test_missing_facts_never_stop_a_rule(gone: set[tuple[str, ...]], key: str) -> None:
    changes, seen, *_ = FAULTS[key]
    document = changed(server("bob"), **changes).document()
    for *folders, last in gone:
        place: Any = document
        for name in folders:
            place = place.get(name, {})
        place.pop(last, None)
    case = Case(changed(server("alice")), Facts.from_document(document), seen, GIGABIT)
    assert all(one.key for one in find(case))
    assert all(one.key for one in find(Case(case.b, case.a, {}, Path())))


@pytest.mark.parametrize("section", [name for name in server() if name not in {"format", "place"}])
def test_a_section_may_be_empty(section: str) -> None:
    bob = changed(server("bob"), **{section: {}})
    found = find(Case(changed(server("alice")), bob, {}, GIGABIT))
    assert [one.key for one in found if one.severity != "note"] == []


def test_nothing_known_is_nothing_said() -> None:
    nobody = Facts("nowhere", {})
    assert rules.judge(Case(nobody, nobody)) == []
