"""What no single key can show to be wrong: contradictions, references, limits.

Takes a `Scenario` whose keys are each well formed, gives every `Problem` with the path of the key to blame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.check.experiment import check_experiment, check_sweep
from rushhour.spec.check.flows import check_flows
from rushhour.spec.check.graph import check_graph
from rushhour.spec.check.links import check_topology
from rushhour.spec.check.loads import check_loads
from rushhour.spec.check.paths import check_paths
from rushhour.spec.check.patterns import check_patterns
from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.check.programs import check_programs

if TYPE_CHECKING:
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.vocabulary import Vocabulary

__all__ = ["Path", "Problem", "check_sweep", "problems"]


def problems(scenario: Scenario, words: Vocabulary | None = None) -> list[Problem]:
    """Give everything wrong with a scenario whose keys are well formed."""
    found = [
        *check_experiment(scenario, words),
        *check_topology(scenario),
        *check_graph(scenario),
        *check_paths(scenario),
    ]
    # Flows can only be judged on a graph that makes sense.
    found += [*check_flows(scenario), *check_patterns(scenario), *check_loads(scenario)]
    return [*found, *check_programs(scenario)]
