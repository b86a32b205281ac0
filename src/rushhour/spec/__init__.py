"""Frozen intent: what a scenario asks for, the same on every machine.

Takes a TOML file, gives a `Scenario`. Nothing here touches processes, sockets, clocks or randomness.
"""

from rushhour.spec.catalog import ScenarioFile, StudyFile, catalogue, find_in_catalogue, shipped, studies
from rushhour.spec.expected import expecting
from rushhour.spec.graph import Conversation, conversations, hosts, nodes
from rushhour.spec.judged import judged_by
from rushhour.spec.load import find_scenario, find_scenarios, load_scenario, parse_scenario, scenario_of
from rushhour.spec.published import Published, load_published
from rushhour.spec.scenario import Expect, Readings, Scenario, Source
from rushhour.spec.study import Chapter, Study, load_study
from rushhour.spec.sweep import Factor, Sweep
from rushhour.spec.topology import Direction, Link, LinkKeys, Node, Topology, default_jitter
from rushhour.spec.vary import Varying, cells, with_values
from rushhour.spec.workload import Flow

__all__ = [
    "Chapter",
    "Conversation",
    "Direction",
    "Expect",
    "Factor",
    "Flow",
    "Link",
    "LinkKeys",
    "Node",
    "Published",
    "Readings",
    "Scenario",
    "ScenarioFile",
    "Source",
    "Study",
    "StudyFile",
    "Sweep",
    "Topology",
    "Varying",
    "catalogue",
    "cells",
    "conversations",
    "default_jitter",
    "expecting",
    "find_in_catalogue",
    "find_scenario",
    "find_scenarios",
    "hosts",
    "judged_by",
    "load_published",
    "load_scenario",
    "load_study",
    "nodes",
    "parse_scenario",
    "scenario_of",
    "shipped",
    "studies",
    "with_values",
]
