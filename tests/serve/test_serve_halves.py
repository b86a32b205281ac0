"""Halves of plans, carried out by agents in namespaces: both sides meet, errors help, nothing is left."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kills
import pytest
from beds.net import Namespace
from waiting import until

from rushhour.errors import HostError
from rushhour.lab.host.session import Session
from rushhour.record.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

# In real time: what a plan asks for in 600 ms is done in them where nothing else wants the CPUs.
pytestmark = [pytest.mark.host, pytest.mark.alone]

ADDRESS = {"a": "10.9.1.1", "b": "10.9.2.1"}
MS = 10**6
# A start is asked for this long before it is due: on a loaded machine the way to the agents takes 200 ms.
LEAD_NS = 1_000 * MS
INSTANCES = Path("/sys/kernel/tracing/instances")


class Bed:
    """a ── router ── b, a session in each."""

    def __init__(self) -> None:
        self.nodes = {name: Namespace(name) for name in ("a", "router", "b")}
        for name, number in (("a", 1), ("b", 2)):
            far = self.nodes["router"]
            self.nodes[name].ip(
                f"link add eth0 type veth peer name to-{name} netns {far.path}",
                f"address add {ADDRESS[name]}/24 dev eth0",
                "link set eth0 up",
            )
            far.ip(f"address add 10.9.{number}.254/24 dev to-{name}", f"link set to-{name} up")
            self.nodes[name].ip(f"route add default via 10.9.{number}.254")
        self.nodes["router"].sysctl("net.ipv4.ip_forward", 1)
        self.sessions: dict[str, Session] = {}

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            self.sessions[name] = Session.open(self.nodes[name].place, patience_s=5)
        return self.sessions[name]

    def close(self) -> None:
        for session in self.sessions.values():
            session.close()
        for node in self.nodes.values():
            node.close()

    def queues(self) -> str:
        """What tc, ip and ethtool say of the router's queues and devices."""
        devices = self.nodes["router"].run("ip", "-brief", "link").splitlines()
        offloads = self.nodes["router"].run("ethtool", "-k", "to-b")
        queues = self.nodes["router"].run("tc", "qdisc", "show")
        return queues + " ".join(line.split()[0] for line in devices) + offloads


@pytest.fixture(name="bed")
def a_bed() -> Iterator[Bed]:
    bed = Bed()
    try:
        yield bed
    finally:
        bed.close()


def flow(number: int, kind: str = "tcp", way: str = "ab", **more: Any) -> dict[str, Any]:
    one, other = way[0], way[1]
    return {
        "id": number,
        "name": f"flow{number}",
        "kind": kind,
        "from": one,
        "to": other,
        "src": ADDRESS[one],
        "dst": ADDRESS[other],
        "sport": 33000 + number,
        "dport": 5001 + number,
        "start_ns": 0,
        **more,
    }


def plan(*flows: dict[str, Any], duration_ms: int = 600, **more: Any) -> dict[str, Any]:
    wanted = ("tcp_probe", "events", "tcp_info", "qdisc", "interface")
    return {
        "format": "rushhour-plan/1",
        "seed": 1,
        "duration_ns": duration_ms * MS,
        "sample_ns": 50 * MS,
        "nodes": [{"name": name} for name in ("a", "b", "router")],
        "links": [],
        "flows": list(flows),
        "readings": {**dict.fromkeys(wanted, True), "sojourn": False},
        "watch": [{"node": "a", "dev": "eth0", "end": 0}, {"node": "b", "dev": "eth0", "end": 1}],
        **more,
    }


def begun(bed: Bed, asked: dict[str, Any], names: str = "ab") -> dict[str, Future[dict[str, Any]]]:
    """Both have prepared and know when to start."""
    for name in names:
        bed.session(name).call("prepare", plan=asked, here=name)
    start = time.monotonic_ns() + LEAD_NS
    return {name: bed.session(name).begin("run", start_clock_ns=start) for name in names}


def carried_out(bed: Bed, asked: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: future.result(60) for name, future in begun(bed, asked).items()}


def by_number(result: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {one["id"]: one for one in result["flows"]}


def test_both_sides_of_every_kind_of_flow_meet(bed: Bed, tmp_path: Path) -> None:
    asked = plan(
        flow(0, bytes=300_000, cc="reno"),
        flow(1, "udp", rate_bps=4_000_000, packet_bytes=500, stop_ns=500 * MS),
        flow(2, "rr", count=20, request_bytes=10, response_bytes=2000),
        flow(3, "ping", interval_ns=100 * MS, stop_ns=500 * MS),
        flow(4, "crr", "ba", count=5, request_bytes=1, response_bytes=1),
        flow(5, "tcp", "ba", cc="cubic"),
        calibration={
            "paths": [
                {"from": "a", "to": "b", "src": ADDRESS["a"], "dst": ADDRESS["b"], "pings": 3, "size": 56}
            ]
        },
    )
    results = carried_out(bed, asked)
    a, b = (by_number(results[name]) for name in "ab")
    assert [one["error"] for side in (a, b) for one in side.values()] == [None] * 12
    assert a[0]["bytes_sent"] == b[0]["bytes_received"] == 300_000
    # Beside a greedy flow a queue on the way may be full, and a sender that is late hands over some at once.
    assert 400 < b[1]["packets_received"] <= a[1]["packets_sent"] <= 500 + 16
    assert a[2]["packets_sent"] == b[2]["packets_received"] == 20
    assert a[3]["packets_received"] == 5
    assert b[4]["packets_sent"] == a[4]["packets_received"] == 5
    assert 0 < a[5]["bytes_received"] <= b[5]["bytes_sent"]
    assert len(results["a"]["calibration"]["pings"][0]["rtt_ns"]) == 3
    assert min(results["a"]["calibration"]["pings"][0]["rtt_ns"]) > 0
    assert results["b"]["calibration"]["pings"] == []
    assert set(results["a"]["counters"]) == {"a"}
    tables = {name: fetched(bed.session(name), tmp_path / name) for name in "ab"}
    assert len(tables["b"]["udp"]) == b[1]["packets_received"]
    assert set(tables["a"]["tcp_info"]["flow"]) <= {0, 2, 4, 5}
    assert set(tables["a"]["interface"]["end"]) == {0}
    probe = tables["b"]["tcp_probe"]
    assert 5 in set(probe["flow"])
    assert not set(probe["flow"]) & {0, 2}
    assert (probe["t_ns"][1:] >= probe["t_ns"][:-1]).all()


def fetched(session: Session, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    found = {}
    for table in session.call("tables")["tables"]:
        name = table["name"].removeprefix("raw/")
        assert session.download(table["name"], folder / name) == table["bytes"]
        found[name.removesuffix(".rh")] = read_table(folder / name).rows
    return found


def test_one_experiment_after_the_other_takes_the_same_ports(bed: Bed) -> None:
    # The first one's connection is closed by its sender, whose port then is in TIME_WAIT.
    asked = plan(flow(0, bytes=300_000), duration_ms=600)
    for _ in range(3):
        results = carried_out(bed, asked)
        assert by_number(results["a"])[0]["error"] is None
        sent, came = (by_number(results[n])[0] for n in "ab")
        assert sent["bytes_sent"] == came["bytes_received"] > 0
        for name in "ab":
            bed.session(name).call("forget")


def test_an_experiment_is_stopped_at_once_and_another_one_follows(bed: Bed) -> None:
    asked = plan(flow(0), flow(1, "udp", rate_bps=10**6), flow(2, start_ns=50_000 * MS), duration_ms=60_000)
    running = begun(bed, asked)
    time.sleep(0.3)
    before = time.monotonic()
    for name in "ab":
        bed.session(name).call("stop")
    for future in running.values():
        with pytest.raises(HostError, match="stopped before its end"):
            future.result(20)
    assert time.monotonic() - before < 10
    for name in "ab":
        bed.session(name).call("forget")
    carried_out(bed, plan(flow(0), flow(1), flow(2), duration_ms=100))


def refusal(session: Session, verb: str, **arguments: Any) -> str:
    with pytest.raises(HostError) as caught:
        session.call(verb, **arguments)
    return f"{caught.value} {caught.value.hint}"


def test_what_cannot_be_prepared_says_why(bed: Bed) -> None:
    a, b = bed.session("a"), bed.session("b")
    with listening(bed.nodes["b"], 5001):
        text = refusal(b, "prepare", plan=plan(flow(0)), here="b")
        assert "10.9.2.1:5001" in text
        assert "Address already in use" in text
        assert f"pid {os.getpid()}" in text
    text = refusal(a, "prepare", plan=plan(flow(0, src="10.1.2.3")), here="a")
    assert "10.1.2.3" in text
    assert "address" in text
    text = refusal(a, "prepare", plan=plan(flow(0, cc="cubik")), here="a")
    assert "'cubik'" in text.replace('"', "'")
    assert "Did you mean cubic?" in text
    watched = [{"node": "a", "dev": "eth7", "end": 0}]
    assert '"eth7"' in refusal(a, "prepare", plan=plan(flow(0), watch=watched), here="a")
    assert '"nobody"' in refusal(a, "prepare", plan=plan(flow(0)), here="nobody")
    assert "nothing is prepared" in refusal(a, "run", start_clock_ns=0)
    assert "no tables" in refusal(a, "tables")
    a.call("prepare", plan=plan(flow(0)), here="a")
    assert "forget it first" in refusal(a, "prepare", plan=plan(flow(0)), here="a")
    assert "ms ago" in refusal(a, "run", start_clock_ns=time.monotonic_ns() - 5 * MS)


@contextmanager
def listening(node: Namespace, port: int) -> Iterator[None]:
    with node.inside(lambda: socket.create_server(("", port))):
        yield


def test_a_peer_that_is_not_there_is_the_flows_own_error(bed: Bed) -> None:
    bed.nodes["b"].nft("chain in { type filter hook input priority 0; tcp dport 5002 drop; }")
    asked = plan(flow(0), flow(1), flow(2, "rr", count=3, request_bytes=1, response_bytes=1), duration_ms=300)
    bed.session("a").call("prepare", plan=asked, here="a")
    result = bed.session("a").begin("run", start_clock_ns=time.monotonic_ns() + LEAD_NS).result(30)
    errors = {number: one["error"] for number, one in by_number(result).items()}
    assert "Connection refused" in errors[0]
    assert "no answer before its end" in errors[1]
    assert "firewall" in errors[1]
    assert "Connection refused" in errors[2]


EMULATOR = [
    {
        "node": "router",
        "dev": "to-b",
        "end": 2,
        "qdiscs": ["root handle 1: tbf rate 20mbit burst 3000b limit 50000b"],
        "filters": [],
    },
    {
        "node": "router",
        "dev": "to-b",
        "ifb": "rush3",
        "end": 3,
        "qdiscs": ["root handle 1: tbf rate 5mbit burst 3000b limit 20000b"],
        "filters": [],
    },
    {"node": "router", "dev": "to-a", "end": 4, "qdiscs": ["root handle 1: pfifo limit 100"], "filters": []},
]


def test_an_emulator_has_its_queues_for_the_experiment_and_its_own_again_afterwards(
    bed: Bed, tmp_path: Path
) -> None:
    bed.nodes["router"].tc("qdisc add dev to-a root handle 7: tbf rate 900mbit burst 100k limit 300k")
    bed.nodes["router"].run("ethtool", "-K", "to-b", "gro", "on")
    before = bed.queues()
    asked = plan(flow(0, "tcp"), flow(1, "tcp", "ba"), duration_ms=1500, egress=EMULATOR)
    bed.session("router").call("prepare", plan=asked, here="router")
    assert "rate 20Mbit" in bed.queues()
    assert "rush3" in bed.queues()
    assert "generic-receive-offload: off" in bed.queues()
    running = begun(bed, asked)
    there = bed.session("router").begin("run", start_clock_ns=time.monotonic_ns() + LEAD_NS)
    results = {name: by_number(future.result(60)) for name, future in running.items()}
    told = there.result(60)
    # tbf never lets pass more than rate and bucket (tc-tbf(8)); payload is 1448 of 1514 bytes at most.
    for sender, receiver, number, rate in (("a", "b", 0, 20e6), ("b", "a", 1, 5e6)):
        came = results[receiver][number]["bytes_received"]
        assert results[sender][number]["error"] is None
        assert 0 < came * 8 <= (rate * 1.5 + 8 * 3000) * 1448 / 1514
    assert {one["end"] for one in told["calibration"]["qdiscs"] if one["kind"] == "tbf"} == {2, 3}
    queues = fetched(bed.session("router"), tmp_path / "router")["qdisc"]
    assert {2, 3, 4} <= set(queues["end"])
    bed.session("router").call("forget")
    assert bed.queues() == before


@pytest.mark.parametrize("faulty", range(3))
def test_an_emulator_that_cannot_be_built_leaves_all_as_it_was(bed: Bed, faulty: int) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"dev": "eth9"}, "eth9"),
        ({"qdiscs": ["root handle 1: codle"]}, "codle"),
        ({"ifb": "to-a"}, "to-a"),
    ]
    change, word = wrong[faulty]
    before = bed.queues()
    egress = [*EMULATOR, {**EMULATOR[-1], "end": 5, **change}]
    assert word in refusal(bed.session("router"), "prepare", plan=plan(egress=egress), here="router")
    assert bed.queues() == before
    bed.session("router").call("prepare", plan=plan(egress=EMULATOR), here="router")


def test_an_emulator_does_not_take_what_it_could_not_put_back(bed: Bed) -> None:
    bed.nodes["router"].tc(
        "qdisc add dev to-b root handle 1: htb default 1",
        "class add dev to-b parent 1: classid 1:1 htb rate 1mbit",
    )
    before = bed.queues()
    text = refusal(bed.session("router"), "prepare", plan=plan(egress=EMULATOR), here="router")
    assert "could not be put back" in text
    assert "tc qdisc del dev to-b root" in text
    assert bed.queues() == before


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_left_when_an_agent_is_killed(bed: Bed, seed: int) -> None:
    dice = random.Random(seed)
    before = bed.queues()
    asked = plan(flow(0), flow(1, "udp", rate_bps=10**6), duration_ms=30_000, egress=EMULATOR)
    sessions = {name: bed.session(name) for name in ("router", "a", "b")}
    pids = [session.hello["pid"] for session in sessions.values()]
    for name, session in sessions.items():
        session.begin("prepare", plan=asked, here=name)
    if seed % 2:
        time.sleep(0.3)
        start = time.monotonic_ns() + 20 * MS
        for session in sessions.values():
            session.begin("run", start_clock_ns=start)
    time.sleep(dice.random() * 0.3)
    for pid in pids:
        kills.send(pid)
    assert until(lambda: bed.queues() == before), "something is left"
    assert until(lambda: not any([*INSTANCES.glob(f"rushhour-*{pid}")] or agents_of(pid) for pid in pids)), (
        "something is left"
    )


def agents_of(pid: int) -> bool:
    """Whether a process is there that this agent was, or started."""
    said = subprocess.run(["ps", "-o", "pid=,ppid=,stat=", "-A"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in said.stdout.splitlines()]
    return any(str(pid) in row[:2] and not row[2].startswith("Z") for row in rows)
