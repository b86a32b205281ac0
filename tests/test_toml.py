"""A scenario written as TOML is read back as the same scenario."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour.spec import catalogue, load_scenario, parse_scenario
from rushhour.spec.toml import dumps, inline, scenario_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALAR = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
VALUE: st.SearchStrategy[Any] = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUE, max_size=6))
def test_what_is_written_is_read_back(document: dict[str, Any]) -> None:
    assert tomllib.loads(dumps(document)) == document


@given(VALUE)
def test_a_value_in_a_line_is_read_back(value: Any) -> None:
    assert tomllib.loads(f"value = {inline(value)}") == {"value": value}


@pytest.mark.parametrize("name", list(catalogue()))
def test_scenarios_of_the_catalogue_are_read_back_as_they_were(name: str) -> None:
    scenario = load_scenario(name)
    again = parse_scenario(scenario_toml(scenario.canonical()))
    assert again == scenario
    assert again.sha256() == scenario.sha256()


def test_a_free_graph_with_everything_is_read_back_as_it_was() -> None:
    scenario = parse_scenario(GRAPH)
    again = parse_scenario(scenario_toml(scenario.canonical()))
    assert again.sha256() == scenario.sha256()
    assert [*again.sweep.combinations()] == [*scenario.sweep.combinations()]


GRAPH = '''
title = 'A "graph"'
description = """
Two lines,
and a backslash \\\\."""
duration = "2s"
sysctl."net.ipv4.tcp_sack" = 0
[[node]]
name = "a"
sysctl."net.ipv4.tcp_rmem" = "4096 87380 200000"
[[node]]
name = "m"
[[node]]
name = "b"
[[link]]
between = ["a", "m"]
[[link]]
between = ["m", "b"]
rate = "10mbit"
buffer = "20ms"
forward = { delay = "10ms", queue = "fq_codel target 5ms" }
[[flow]]
name = "bulk"
from = "a"
to = "b"
[sweep]
cc = ["cubic", "reno"]
[[sweep.together]]
"flow.bulk.start" = ["0s", "1s"]
"link.m-b.rate" = ["10mbit", "20mbit"]
[[expect]]
metric = "goodput_bps"
min = 1e5
where = { cc = "reno" }
'''
