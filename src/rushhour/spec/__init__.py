"""Frozen intent: what a scenario asks for, the same on every machine.

Takes a TOML file, gives a `Scenario`. Nothing here touches processes, sockets, clocks or randomness.
"""

from rushhour.spec.catalog import ScenarioFile, catalogue, find_in_catalogue
from rushhour.spec.graph import Conversation, conversations, hosts, nodes
from rushhour.spec.load import find_scenarios, load_scenario, parse_scenario
from rushhour.spec.scenario import Expect, Readings, Scenario, Source
from rushhour.spec.sweep import Factor, Sweep
from rushhour.spec.topology import Direction, Link, LinkKeys, Node, Topology, default_jitter
from rushhour.spec.vary import cells, with_values
from rushhour.spec.workload import Flow

__all__ = [
    "Conversation",
    "Direction",
    "Expect",
    "Factor",
    "Flow",
    "Link",
    "LinkKeys",
    "Node",
    "Readings",
    "Scenario",
    "ScenarioFile",
    "Source",
    "Sweep",
    "Topology",
    "catalogue",
    "cells",
    "conversations",
    "default_jitter",
    "find_in_catalogue",
    "find_scenarios",
    "hosts",
    "load_scenario",
    "nodes",
    "parse_scenario",
    "with_values",
]
