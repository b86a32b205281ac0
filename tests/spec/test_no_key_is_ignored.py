"""No key is accepted and ignored: wherever it stands it changes the plan, or it is refused.

Each key is set, to what is no default, in experiments of every kind: each preset and a drawn graph, flows of
each kind. What says something about the run instead of the network is named below with its reason.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from rushhour.errors import RushHourError
from rushhour.plan import lower
from rushhour.spec.arrivals import Arrivals
from rushhour.spec.check import problems
from rushhour.spec.control import Class, Later
from rushhour.spec.pattern import Pattern
from rushhour.spec.scenario import Readings, Scenario
from rushhour.spec.topology import Bond, Direction, Link, Node, Topology
from rushhour.spec.workload import Flow

Document = dict[str, Any]

# Of the run, of its judgement or of its presentation: no part of the network.
ABOUT = {
    "title", "question", "description", "guards", "source", "labs", "repeat", "seed", "sweep", "quick",
    "expect", "judge", "figure", "readings", "topology", "node", "link", "flow", "pattern", "load", "trace",
    "file", "root",
}  # fmt: skip
EXPERIMENT: Document = {
    "duration": "7s", "warmup": "1s", "sample": "3ms", "family": "ipv6", "ecn": True,
    "timestamps": "us",
    "sysctl": {"net.ipv4.tcp_sack": "0"}, "program": [{"node": "s1", "command": "sh"}],
}  # fmt: skip
READINGS: Document = {
    "tcp_probe": False, "events": False, "tcp_info": False, "qdisc": False, "interface": False,
    "sojourn": True,
}  # fmt: skip
CLASS = [{"name": "one", "flows": ["f"], "rate": "1mbit"}, {"name": "two", "rate": "1mbit"}]
DIRECTION: Document = {
    "rate": "7mbit", "delay": "7ms", "buffer": "77kB", "queue": "fq_codel", "shaper": "htb", "jitter": "77us",
    "loss": "7%", "drop": [7], "netem": "duplicate 7%", "reorder": True, "impair_at": "ingress",
    "serialise": False, "pause": True, "withdrawn": [["1s", "2s"]],
    "class": CLASS,
    "scheduler": "hfsc", "police": {"rate": "7mbit", "burst": "30kB", "peak": "9mbit"},
}  # fmt: skip
LINK: Document = DIRECTION | {"mtu": "1400B", "offload": True, "receive_offload": True, "shape_at": "sender"}
TOPOLOGY: Document = LINK | {
    "rtt": "77ms", "rtts": ["7ms", "77ms"], "reverse_rate": "7mbit", "reverse_buffer": "77kB",
    "reverse_queue": "fq_codel", "reverse_loss": "7%", "reverse_netem": "duplicate 7%",
    "access_rate": "77mbit",
    "access_rates": ["77mbit", "78mbit"], "pairs": 3, "hops": 3, "leaves": 3,
}  # fmt: skip
NODE: Document = {
    "role": "switch", "balance": "packet", "sysctl": {"net.ipv4.tcp_sack": "0"}, "drop_input": "7%",
    "initcwnd": 7, "initrwnd": 7,
}  # fmt: skip
FLOW: Document = {
    "start": "1s", "duration": "2s", "count": 2, "cc": "reno", "receiver_cc": "reno", "ecn": True,
    "bytes": "77kB", "rate": "7mbit", "pacing": "7mbit", "message": "77B", "packet": "77B", "interval": "7ms",
    "patience": "7s",
    "datagrams": 7, "transactions": 7, "request": "77B", "response": "77B", "in_flight": 7,
    "read_rate": "7mbit", "read_interval": "7ms", "read_class": True, "sndbuf": "77kB",
    "rcvbuf": "77kB", "dscp": 7, "mss": "777B",
    "nodelay": True, "on": "1s", "off": "1s", "burst": 7, "gso": True, "last_packet": "77B", "gro": True,
    "generator": "iperf3",
    "arrivals": {"process": "poisson", "rate": "7/s"}, "paths": ["one", "two"], "backup": ["one"],
    "announced": ["three"],
    "keepalive": True, "keepalive_time": "7s", "keepalive_interval": "7s", "keepalive_probes": 7,
    "user_timeout": "777ms",
    "fastopen": True, "zerocopy": True, "verify": True, "open": "both", "close": "leave",
    "receiver_leaves": "3s",
}  # fmt: skip
KINDS: dict[str, Document] = {
    "tcp": {}, "udp": {"rate": "1mbit"}, "ping": {}, "rr": {}, "crr": {},
    "tcp of a size": {"kind": "tcp", "bytes": "10kB"},
    "tcp that asks": {"kind": "tcp", "keepalive": True},
    "rr that asks": {"kind": "rr", "keepalive": True},
    "udp by number": {"kind": "udp", "rate": "1mbit", "datagrams": 5},
    "udp on and off": {"kind": "udp", "rate": "1mbit", "on": "1500ms", "off": "2s"},
}  # fmt: skip
GRAPH: Document = {
    "link": [
        {"between": ["s1", "m"], "rate": "10mbit", "delay": "5ms"},
        {"between": ["m", "r1"], "delay": "1ms"},
    ]
}
PLACES: dict[str, Document] = {
    "dumbbell": {"topology": {"preset": "dumbbell", "rate": "10mbit", "rtt": "20ms"}},
    "chain": {"topology": {"preset": "chain", "rate": "10mbit", "rtt": "20ms"}},
    "star": {"topology": {"preset": "star", "rate": "10mbit", "rtt": "20ms"}},
    "impaired": {
        "topology": {"preset": "dumbbell", "rate": "10mbit", "rtt": "20ms", "netem": "duplicate 1%"}
    },
}


def base(place: str = "dumbbell", flow: Document | None = None) -> Document:
    ends = {"from": "s0", "to": "r0"} if place == "chain" else {"from": "s1", "to": "r1"}
    where = GRAPH if place == "graph" else PLACES[place]
    return {"duration": "5s", "flow": [{"name": "f", **ends, **(flow or {})}], **deepcopy(where)}


def outcome(document: Document) -> tuple[Any, Any] | None:
    """The plan and the context; None where the scenario is refused."""
    try:
        scenario = Scenario.model_validate(document)
        if problems(scenario):
            return None
        lowered = lower(scenario, 1)
    except (ValidationError, RushHourError):
        return None
    return lowered.plan, lowered.context


def ignored(before: Document, after: Document, *, meaning: bool = False) -> bool:
    """Whether both are accepted, and are the same experiment (or mean the same)."""
    one, two = outcome(before), outcome(after)
    assert one is not None, before
    return two is not None and (one == two if meaning else one[0] == two[0])


def names(model: Any) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_every_key_is_here() -> None:
    """A key that is added has to be added to these tables too."""
    assert names(Scenario) == ABOUT | set(EXPERIMENT)
    assert names(Readings) == set(READINGS)
    assert names(Direction) == set(DIRECTION)
    assert names(Topology) == set(TOPOLOGY) | {"preset"}
    assert names(Link) == set(LINK) | {"between", "name", "bond", "forward", "reverse"}
    assert names(Node) == set(NODE) | {"name"}
    assert names(Flow) == set(FLOW) | {"name", "kind", "from", "to", "size"} - {"size"} | names(Flow) & {
        "size"
    }
    assert names(Bond) == {"links", "mode", "hash"}
    assert names(Arrivals) == {"process", "rate", "load", "on", "off"}


@pytest.mark.parametrize("key", EXPERIMENT)
def test_keys_of_the_experiment(key: str) -> None:
    assert not ignored(base(), base() | {key: EXPERIMENT[key]}, meaning=key == "warmup")


@pytest.mark.parametrize("key", READINGS)
def test_keys_of_the_readings(key: str) -> None:
    assert not ignored(base(), base() | {"readings": {key: READINGS[key]}})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", TOPOLOGY)
def test_keys_of_a_preset(key: str, place: str) -> None:
    changed = base(place)
    changed["topology"][key] = TOPOLOGY[key]
    if key in ("rtts", "access_rates"):
        changed["topology"] |= {"rtt": None} if key == "rtts" else {}
        changed["topology"]["leaves" if place == "star" else "pairs"] = 2
    assert not ignored(base(place), changed)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("key", LINK)
def test_keys_of_a_link(key: str, number: int) -> None:
    changed = base("graph")
    changed["link"][number][key] = LINK[key]
    assert not ignored(base("graph"), changed)


@pytest.mark.parametrize("way", ["forward", "reverse"])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("key", DIRECTION)
def test_keys_of_a_direction(key: str, number: int, way: str) -> None:
    changed = base("graph")
    changed["link"][number][way] = {key: DIRECTION[key]}
    assert not ignored(base("graph"), changed)


@pytest.mark.parametrize("node", ["s1", "m", "r1"])
@pytest.mark.parametrize("key", NODE)
def test_keys_of_a_node(key: str, node: str) -> None:
    assert not ignored(base("graph"), base("graph") | {"node": [{"name": node, key: NODE[key]}]})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", FLOW)
def test_keys_of_a_flow(key: str, kind: str) -> None:
    flow = {"kind": kind, **KINDS[kind]}
    if key in flow and key != "kind":
        return  # it is there already; the same kind without it has its turn, too
    assert not ignored(base(flow=flow), base(flow=flow | {key: FLOW[key]}))


CLASS_KEYS: Document = {
    "parent": "two", "rate": "2mbit", "ceil": "7mbit", "prio": 3, "burst": "7kB", "quantum": "7000B",
    "weight": 7, "queue": "fq_codel", "buffer": "77kB", "curves": "sc rate 2mbit",
    "then": {"at": "3s", "gone": True},
}  # fmt: skip
THEN: Document = {
    "gone": True, "rate": "2mbit", "ceil": "7mbit", "prio": 3, "burst": "7kB", "quantum": "7000B",
    "weight": 7, "curves": "sc rate 2mbit",
}  # fmt: skip
SCHEDULERS: dict[str, Document] = {
    "htb": {"rate": "1mbit"}, "hfsc": {"rate": "1mbit"}, "drr": {}, "qfq": {}, "prio": {}, "ets": {},
    "ets by weight": {"weight": 2},
}  # fmt: skip
BOND: Document = {"links": 3, "mode": "balance-xor", "hash": "layer3+4"}
PATTERN: Document = {
    "link": "m-r1", "direction": "reverse", "every": "7ms", "length": "2s", "at_end": "repeat",
    "trace": "none.csv", "name": "none",
}  # fmt: skip
COURSES: dict[str, Document] = {
    "steps": {"steps": [["0s", "10mbit"], ["1s", "5mbit"]]},
    "sine": {"sine": {"mean": "10mbit", "amplitude": "5mbit", "period": "2s", "every": "100ms"}},
    "square": {"square": {"high": "10mbit", "low": "5mbit", "period": "2s"}},
    "ramp": {"ramp": {"from": "10mbit", "to": "5mbit", "every": "100ms"}},
}
INSIDE: dict[str, Document] = {
    "sine": {"phase": 0.7, "every": "70ms"}, "square": {"duty": 0.7}, "ramp": {"over": "2s", "every": "70ms"},
}  # fmt: skip


def divided(scheduler: str, **more: Any) -> Document:
    own = {key: value for key, value in SCHEDULERS[scheduler].items() if key not in more}
    other = SCHEDULERS[scheduler]
    classes = [{"name": "one", "flows": ["f"], **own, **more}, {"name": "two", **other}]
    document = base()
    document["topology"] |= {"scheduler": scheduler.split(maxsplit=1)[0], "class": classes}
    return document


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("key", CLASS_KEYS)
def test_keys_of_a_class(key: str, scheduler: str) -> None:
    assert names(Class) == set(CLASS_KEYS) | {"name", "flows"}
    assert not ignored(divided(scheduler), divided(scheduler, **{key: CLASS_KEYS[key]}))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("key", THEN)
def test_keys_of_what_becomes_of_a_class(key: str, scheduler: str) -> None:
    assert names(Later) == set(THEN) | {"at"}
    once, late = ({"at": at, key: THEN[key]} for at in ("3s", "4s"))
    assert not ignored(divided(scheduler), divided(scheduler, then=once))
    if outcome(divided(scheduler, then=once)) is not None:
        assert not ignored(divided(scheduler, then=once), divided(scheduler, then=late))


@pytest.mark.parametrize("mode", ["802.3ad", "balance-rr", "balance-xor", "active-backup"])
@pytest.mark.parametrize("key", BOND)
def test_keys_of_a_bond(key: str, mode: str) -> None:
    if (key, mode) == ("mode", BOND["mode"]):
        return
    plain, changed = base("graph"), base("graph")
    plain["link"][0]["bond"] = {"links": 2, "mode": mode}
    changed["link"][0]["bond"] = {"links": 2, "mode": mode, key: BOND[key]}
    assert not ignored(plain, changed)


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("key", PATTERN)
def test_keys_of_a_pattern(key: str, course: str) -> None:
    """Its name is what messages call it."""
    assert names(Pattern) == set(PATTERN) | set(COURSES) | {"key", "walk"}
    plain = {"key": "rate", "link": "s1-m", "direction": "both", **COURSES[course]}
    one, two = (
        base("graph") | {"pattern": [plain]},
        base("graph") | {"pattern": [plain | {key: PATTERN[key]}]},
    )
    assert ignored(one, two) == (key == "name")


@pytest.mark.parametrize(("course", "key"), [(course, key) for course in INSIDE for key in INSIDE[course]])
def test_keys_of_a_course(course: str, key: str) -> None:
    plain = {"key": "rate", **COURSES[course]}
    changed = {"key": "rate", course: COURSES[course][course] | {key: INSIDE[course][key]}}
    assert not ignored(base() | {"pattern": [plain]}, base() | {"pattern": [changed]})
