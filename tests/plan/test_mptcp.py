"""Connections of several paths: subflows as flows, the way of each, and what nodes are told of it."""

from typing import Any

import pytest
from networks import Edge, graph

from rushhour.errors import PlanError
from rushhour.plan import lower
from rushhour.plan.commands import commands
from rushhour.plan.onto import Seat, onto

PHONE = {"name": "phone", "role": "host"}
BULK = {"name": "bulk", "kind": "mptcp", "from": "phone", "to": "server", "paths": ["wifi", "lte"]}
LINKS: tuple[Edge, ...] = (
    (("phone", "ap"), {"name": "wifi", "rate": "20mbit", "delay": "10ms"}),
    (("phone", "mast"), {"name": "lte", "rate": "5mbit", "delay": "30ms"}),
    (("ap", "core"), {}),
    (("mast", "core"), {}),
    (("core", "server"), {}),
)


def lowered(*flows: dict[str, Any], **keys: Any) -> Any:
    return lower(graph(*LINKS, flows=flows or [BULK], nodes=[PHONE], **keys), 1)


def test_each_subflow_is_a_flow_that_comes_from_an_address_of_its_link() -> None:
    plan = lowered().plan
    of = {flow.name: flow for flow in plan.flows}
    assert list(of) == ["bulk", "bulk.wifi", "bulk.lte"]
    assert (of["bulk.wifi"].of, of["bulk.lte"].of, of["bulk"].of) == (0, 0, None)
    assert {of[name].dport for name in of} == {5001}
    ends = {end.dev: end.addresses[0].split("/")[0] for end in plan.link_ends if end.node == "phone"}
    assert (of["bulk"].src, of["bulk.wifi"].src, of["bulk.lte"].src) == (ends["ap"], ends["ap"], ends["mast"])


def test_what_comes_from_an_address_leaves_by_its_link_and_comes_back_by_it() -> None:
    plan = lowered().plan
    rules = {rule.from_: rule.table for rule in plan.rules}
    tables = {(route.node, route.table): route.dev for route in plan.routes if route.table}
    wifi, lte = (
        next(flow.src for flow in plan.flows if flow.name == f"bulk.{name}") for name in ("wifi", "lte")
    )
    assert tables["phone", rules[wifi]] == "ap"
    assert tables["phone", rules[lte]] == "mast"
    # The core would know neither of them otherwise.
    back = {route.to: route.dev for route in plan.routes if route.node == "core"}
    assert (back[f"{wifi}/32"], back[f"{lte}/32"]) == ("ap", "mast")


def test_every_router_on_a_path_knows_both_its_ends() -> None:
    plan = lowered().plan
    lte = next(flow for flow in plan.flows if flow.name == "bulk.lte")
    nodes = {route.node for route in plan.routes if route.to == f"{lte.dst}/32"}
    assert {"mast", "core", "lte.1"} - {"core"} <= nodes  # the core has the server beside it
    assert {"mast", "core"} <= {route.node for route in plan.routes if route.to == f"{lte.src}/32"}


def test_the_path_managers_are_told_limits_endpoints_and_backups() -> None:
    plan = lowered(BULK | {"backup": ["lte"]}).plan
    told = {node.name: node.mptcp for node in plan.nodes if node.mptcp is not None}
    assert set(told) == {"phone", "server"}
    assert (told["phone"].subflows, told["server"].subflows, told["server"].endpoints) == (1, 1, ())
    assert [endpoint.backup for endpoint in told["phone"].endpoints] == [False, True]
    lines = [line for line in commands(plan) if "mptcp" in line]
    assert lines[0] == "ip -n phone mptcp limits set subflows 1 add_addr_accepted 0"
    assert lines[2] == f"ip -n phone mptcp endpoint add {told['phone'].endpoints[1].address} subflow backup"
    assert any("rule add pref 201 from 10." in line for line in commands(plan))


def test_a_subflow_has_its_own_path_and_the_connection_has_all() -> None:
    flows = {flow.name: flow for flow in lowered().context.flows}
    wifi, lte, bulk = flows["bulk.wifi"], flows["bulk.lte"], flows["bulk"]
    assert (wifi.bottleneck_bps, lte.bottleneck_bps) == (20_000_000, 5_000_000)
    assert 60_000_000 <= (lte.base_rtt_ns or 0) < 65_000_000
    assert 20_000_000 <= (wifi.base_rtt_ns or 0) < 25_000_000
    assert bulk.ways == (wifi.ends, lte.ends)
    assert set(bulk.bottleneck_ends) == {wifi.bottleneck_end, lte.bottleneck_end}
    # RFC 8684, section 3.3: the data sequence signal takes 24 of a segment's bytes.
    assert {flow.payload_per_packet for flow in flows.values()} == {1424}


def test_copies_have_subflows_of_their_own() -> None:
    plan = lowered(BULK | {"count": 2}).plan
    assert [(flow.name, flow.of) for flow in plan.flows if flow.of is not None] == [
        ("bulk.1.wifi", 0), ("bulk.1.lte", 0), ("bulk.2.wifi", 1), ("bulk.2.lte", 1)
    ]  # fmt: skip
    assert len([rule for rule in plan.rules if rule.node == "phone"]) == 2


def test_a_plan_without_them_says_nothing_of_it() -> None:
    plan = lowered({"from": "phone", "to": "server"}).plan
    assert "rules" not in plan
    assert not any("mptcp" in node for node in plan.nodes)


def test_a_path_that_leads_back_through_its_sender_is_refused() -> None:
    links = (LINKS[0], (("phone", "mast"), {"name": "lte"}), LINKS[2], LINKS[4])
    with pytest.raises(PlanError, match=r"no path from mast to server|leads back through phone"):
        lower(graph(*links, flows=[BULK], nodes=[PHONE]), 1)


def test_machines_of_a_path_cannot_do_it() -> None:
    seats = {name: Seat(name, f"192.0.2.{n}", "eth0", 1500) for n, name in enumerate(("phone", "server"), 1)}
    with pytest.raises(PlanError, match="flow bulk over several paths"):
        onto(lowered(), seats, None)


def test_ipv6_is_the_same() -> None:
    plan = lowered(family="ipv6").plan
    assert all(rule.ipv6 and rule.from_.startswith("fd00:") for rule in plan.rules)
    assert any(route.to.endswith("/128") for route in plan.routes if route.node == "core")


ACCESS = {"name": "bulk", "kind": "mptcp", "from": "phone", "to": "server", "paths": ["access"]}
SECOND: tuple[Edge, ...] = (
    (("phone", "ap"), {"name": "access"}),
    (("ap", "server"), {"name": "dsl", "rate": "10mbit", "delay": "10ms"}),
    (("ap", "server"), {"name": "cable", "rate": "20mbit", "delay": "20ms"}),
)


def announcing(**keys: Any) -> Any:
    server = {"name": "server", "role": "host"}
    return lower(graph(*SECOND, flows=[ACCESS | {"announced": ["cable"]} | keys], nodes=[server]), 1)


def test_a_subflow_to_an_announced_address_goes_there_from_the_usual_one() -> None:
    plan = announcing().plan
    of = {flow.name: flow for flow in plan.flows}
    assert list(of) == ["bulk", "bulk.access", "bulk.cable"]
    cable = next(link for link in plan.links if link.name.startswith("cable") and "server" in
                 [end.node for end in link.ends])  # fmt: skip
    there = next(end for end in cable.ends if end.node == "server")
    assert of["bulk.cable"].dst == there.addresses[0].split("/")[0]
    assert of["bulk.cable"].src == of["bulk.access"].src == of["bulk"].src
    assert of["bulk.access"].dst == of["bulk"].dst != of["bulk.cable"].dst


def test_what_comes_from_an_announced_address_leaves_by_its_link() -> None:
    plan = announcing().plan
    dst = next(flow.dst for flow in plan.flows if flow.name == "bulk.cable")
    table = next(rule.table for rule in plan.rules if (rule.node, rule.from_) == ("server", dst))
    devices = {end.addresses[0].split("/")[0]: end.dev for end in plan.link_ends
               if end.node == "server" and end.addresses}  # fmt: skip
    own = [route.dev for route in plan.routes if route.node == "server" and route.table == table]
    assert own == [devices[dst]]
    # A kernel refuses a route that is there.
    routes = [(route.node, route.to, route.table) for route in plan.routes]
    assert len(routes) == len(set(routes))
    flows = {flow.name: flow for flow in announcing().context.flows}
    assert flows["bulk.cable"].bottleneck_bps == 20_000_000
    assert flows["bulk.access"].bottleneck_bps == 10_000_000


def test_the_path_managers_are_told_who_announces_and_who_takes_it() -> None:
    plan = announcing(backup=["cable"]).plan
    told = {node.name: node.mptcp for node in plan.nodes if node.mptcp is not None}
    assert [(one.subflows, one.accepted) for one in (told["phone"], told["server"])] == [(1, 1), (1, 0)]
    assert [(one.signal, one.backup) for one in told["server"].endpoints] == [(True, True)]
    lines = [line for line in commands(plan) if "mptcp" in line]
    assert "ip -n phone mptcp limits set subflows 1 add_addr_accepted 1" in lines
    assert f"ip -n server mptcp endpoint add {told['server'].endpoints[0].address} signal backup" in lines
