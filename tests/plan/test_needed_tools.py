"""Which programs a plan needs beside the agent."""

import json
import subprocess
from pathlib import Path

import pytest

from rushhour import tc
from rushhour.lab import agent, packages
from rushhour.plan import expand, lower
from rushhour.plan.programs import FOREIGN, programs_needed
from rushhour.plan.tools import tools
from rushhour.record.plan_file import planned
from rushhour.spec import catalogue, load_scenario, parse_scenario

AGENT = Path(__file__).parents[2] / "agent"
TEXT = """
duration = "2s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
{settings}
[[flow]]
"""


def needed(*lines: str) -> list[str]:
    qdiscs = [line.removeprefix("qdisc ") for line in lines if line.split()[0] not in ("class", "filter")]
    filters = [line for line in lines if line.split()[0] in ("class", "filter")]
    return tools(planned({"links": [{"ends": [{"node": "a", "qdiscs": qdiscs, "filters": filters}]}]}))


GOLDEN = [line for line in (AGENT / "tests/golden/qdiscs.txt").read_text().splitlines() if line[0] != "#"]


@pytest.mark.parametrize("line", GOLDEN)
def test_what_the_agent_encodes_needs_nothing(line: str) -> None:
    assert needed(line) == []


@pytest.mark.parametrize(
    "line",
    [
        "root handle 1: dsmark indices 8",
        "parent 1:1 handle 10: teql0",
        "root stab overhead 24 handle 1: cbq bandwidth 1mbit",
        "root netem delay 10ms 1ms distribution experimental",
        "class parent 1: classid 1:1 cbq rate 1mbit",
        "filter parent 1: matchall action vlan pop",
        "filter parent 1: matchall action skbedit mark 1 pipe action pedit munge ip ttl set 1",
        "filter parent 1: protocol ip flower dst_port 80 flowid 1:1",
        "filter parent 1: protocol ip u32 match tcp dst 80 0xffff flowid 1:1",
        "filter parent 1: protocol ip u32 ht 800: match ip dport 80 0xffff flowid 1:1",
    ],
)
def test_everything_else_needs_tc(line: str) -> None:
    assert needed(line) == ["tc"]


def test_the_plan_says_so_only_where_it_must() -> None:
    def planned(settings: str) -> dict[str, object]:
        return dict(lower(parse_scenario(TEXT.format(settings=settings)), 1).plan)

    assert "tools" not in planned('queue = "hhf"')
    foreign = 'netem = "delay 5ms 1ms distribution experimental"'
    assert planned(foreign)["tools"] == ["tc"]
    both = lower(parse_scenario(TEXT.format(settings=foreign) + 'generator = "iperf3"\n'), 1).plan
    assert both["tools"] == ["iperf3", "tc"]
    assert both["flows"][0]["generator"] == "iperf3"


def test_nothing_else_of_the_catalogue_depends_on_this_machines_programs() -> None:
    plans = {
        f"{name} {cell.label}": lower(cell.scenario, 1).plan
        for name in catalogue()
        if not name.startswith("programs/")
        for cell in expand(load_scenario(name))
    }
    assert len(plans) > 2000
    assert {name: plan["tools"] for name, plan in plans.items() if "tools" in plan} == {}


def test_what_the_catalogues_programs_need_is_known_by_its_package() -> None:
    """Who lacks one of them is told what to install; without a package of its own is what is everywhere."""
    everywhere = {"/bin/sh", "git-upload-pack", "head", "mkdir", "python3", "sh"}
    needed: set[str] = set()
    for name in catalogue():
        scenario = load_scenario(name)
        plan = lower(next(iter(expand(scenario))).scenario, 1).plan
        needs = programs_needed(scenario)
        assert [one.removeprefix(FOREIGN) for one in plan.tools] == needs, name
        needed |= set(needs)
    assert "nginx" in needed
    assert needed <= everywhere | set(packages.needs())


@pytest.mark.virtual
def test_the_built_agent_has_the_list_that_plans_are_written_by() -> None:
    said = subprocess.run([agent.find().binary, "kinds"], capture_output=True, text=True, check=True).stdout
    kept = (Path(tc.__file__).parent / "kinds.json").read_text()
    assert json.loads(said) == json.loads(kept)
