"""Which programs a plan needs beside the agent."""

import re
from pathlib import Path

import pytest

from rushhour.plan import lower
from rushhour.plan.tools import FOREIGN, NATIVE_CLASSES, NATIVE_FILTERS, NATIVE_QDISCS, tools
from rushhour.spec import parse_scenario

TEXT = """
duration = "2s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
queue = "{queue}"
[[flow]]
"""


def needed(*lines: str) -> list[str]:
    qdiscs = [line for line in lines if line.split()[0] not in ("class", "filter")]
    filters = [line for line in lines if line not in qdiscs]
    return tools({"links": [{"ends": [{"qdiscs": qdiscs, "filters": filters}]}], "flows": []})


@pytest.mark.parametrize(
    "line",
    [
        "root handle 1: tbf rate 1mbit burst 2kb limit 9000b",
        "parent 1:1 handle 10: fq_codel limit 100",
        "parent 1:1 handle 10: prio",
        "root stab mtu 2047 overhead 24 linklayer ethernet handle 1: htb default 1",
        "class parent 1: classid 1:1 htb rate 1mbit",
        "filter parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff flowid 1:1",
        "filter parent 1: matchall flowid 1:1",
    ],
)
def test_what_the_agent_encodes_needs_nothing(line: str) -> None:
    assert needed(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "root handle 1: hhf",
        "parent 1:1 handle 10: choke limit 100",
        "root stab overhead 24 handle 1: hfsc default 1",
        "class parent 1: classid 1:1 hfsc sc rate 1mbit",
        "filter parent 1: matchall action drop",
        "filter parent 1: protocol ip flower dst_port 80 flowid 1:1",
    ],
)
def test_everything_else_needs_tc(line: str) -> None:
    assert needed(line) == ["tc"]


def test_the_plan_says_so_only_where_it_must() -> None:
    plain = lower(parse_scenario(TEXT.format(queue="fq_codel")), 1).plan
    assert "tools" not in plain
    assert lower(parse_scenario(TEXT.format(queue="hhf")), 1).plan["tools"] == ["tc"]
    both = parse_scenario(TEXT.format(queue="hhf") + 'generator = "iperf3"\n')
    plan = lower(both, 1).plan
    assert plan["tools"] == ["iperf3", "tc"]
    assert plan["flows"][0]["generator"] == "iperf3"
    assert "generator" not in plain["flows"][0]


def test_the_agent_encodes_what_is_taken_for_granted() -> None:
    folder = Path(__file__).parents[2] / "agent/src"
    kinds = re.findall(r'kind\("(\w+)", .*?(\.with_class.*)?,\n', (folder / "qdisc.rs").read_text())
    assert {name for name, _ in kinds} == NATIVE_QDISCS
    assert {name for name, with_class in kinds if with_class} == NATIVE_CLASSES
    filters = re.findall(r'\("(\w+)", Encoder \{ takes: filter::', (folder / "qdisc.rs").read_text())
    assert set(filters) == NATIVE_FILTERS
    foreign = re.search(
        r"const FOREIGN: \[&str; \d+\] = \[(.*?)\];", (folder / "qdisc/filter.rs").read_text(), re.DOTALL
    )
    assert foreign is not None
    assert set(re.findall(r'"(\w+)"', foreign[1])) == FOREIGN
