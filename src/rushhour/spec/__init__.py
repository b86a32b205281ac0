"""Frozen intent: what a scenario asks for, the same on every machine.

Takes a TOML file, gives a `Scenario`. Nothing here touches processes, sockets, clocks or randomness.
"""

from rushhour.spec.scenario import Expect, Readings, Scenario, Source
from rushhour.spec.sweep import Factor, Sweep
from rushhour.spec.topology import Direction, Link, LinkKeys, Node, Topology, default_jitter
from rushhour.spec.vary import cells, with_values
from rushhour.spec.workload import Flow

__all__ = [
    "Direction",
    "Expect",
    "Factor",
    "Flow",
    "Link",
    "LinkKeys",
    "Node",
    "Readings",
    "Scenario",
    "Source",
    "Sweep",
    "Topology",
    "cells",
    "default_jitter",
    "with_values",
]
