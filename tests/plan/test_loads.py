"""Loads as the plan's entries, as words, as commands."""

from rushhour.plan import expand, lower
from rushhour.plan.commands import commands
from rushhour.plan.drawing import drawing
from rushhour.spec import parse_scenario

TEXT = """\
duration = "10s"
labs = ["netns"]
[[link]]
between = ["a", "b"]
[[flow]]
[[load]]
node = "a"
workers = 2
[[load]]
node = "b"
kind = "memory"
size = "1GB"
limit = "500MB"
start = "2s"
duration = "20s"
[sweep]
"load.cpu.share" = [0, 0.5, 1]
"""


def test_a_load_of_nothing_is_none_and_one_ends_with_the_experiment() -> None:
    plans = [lower(cell.scenario, 1).plan for cell in expand(parse_scenario(TEXT))]
    memory = {"name": "memory", "node": "b", "kind": "memory", "bytes": 10**9, "limit_bytes": 5 * 10**8}
    memory |= {"start_ns": 2 * 10**9, "stop_ns": 10 * 10**9}
    assert plans[0]["loads"] == [memory]
    assert [load.get("share") for load in plans[1]["loads"]] == [0.5, None]
    assert plans[2]["loads"][0] == {
        "name": "cpu", "node": "a", "kind": "cpu", "workers": 2, "share": 1.0,
        "start_ns": 0, "stop_ns": 10 * 10**9,
    }  # fmt: skip


def test_another_program_is_a_tool_of_the_plan() -> None:
    scenario = parse_scenario(TEXT.replace("workers = 2", 'generator = "stress-ng"'))
    assert lower(expand(scenario)[1].scenario, 1).plan["tools"] == ["stress-ng"]


def test_a_load_is_shown_and_can_be_typed() -> None:
    cell = expand(parse_scenario(TEXT))[1].scenario
    assert "50 %, 2 workers" in drawing(cell)
    assert "1GB, 500MB of it in memory" in drawing(cell)
    typed = commands(lower(cell, 1).plan)
    assert "(stress-ng --timeout 10s --cpu 2 --cpu-load 50) &  # a's load cpu" in typed
    assert any(line.startswith("(sleep 2; stress-ng --timeout 8s --vm 1 --vm-bytes") for line in typed)
