"""The standard suite: every scenario says what it guards and by what it is judged, and is short."""

import pytest

from rushhour.plan import expand
from rushhour.spec import load_scenario, studies
from rushhour.spec.judge import placeholders
from rushhour.spec.vary import quick_look

SCENARIOS = [item.stem for item in studies()["suite"].scenarios]
LONGEST_S = 15
"""Of virtual time; BBR's PROBE_RTT comes after ten."""
WAITS_S = {"time-wait": 80, "silent-receiver": 22, "user-timeout-far": 30, "window-shut-gone": 420}
"""Of virtual time, where a cell waits for a kernel's clock (TCP_TIMEWAIT_LEN, TCP_RTO_MAX,
BR_DEFAULT_AGEING_TIME, backed-off probes) and sends little."""
BITS = 200e6
"""What a cell's bottlenecks could carry in its time: about 16 000 full frames, some 0.1 s of CPU time."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_says_what_it_guards_and_who_judges(name: str) -> None:
    scenario = load_scenario(f"suite/{name}")
    for cell in expand(scenario):
        guards = cell.scenario.guards
        assert guards is not None
        assert not placeholders(guards), "every cell says its own"
        assert "(" in guards, "it names functions, constants or RFCs"
        assert cell.scenario.judge, f"nothing would decide {cell.label}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_cell_is_short_and_runs_few_times(name: str) -> None:
    for cell in expand(load_scenario(f"suite/{name}")):
        assert cell.scenario.span.ns <= WAITS_S.get(name, LONGEST_S) * 10**9
        assert cell.scenario.repeat <= 2
        rate = cell.scenario.topology.rate if cell.scenario.topology else None
        if name not in WAITS_S and rate is not None and not any(flow.bytes for flow in cell.scenario.flow):
            assert rate.bps * cell.scenario.span.ns / 1e9 <= BITS


def test_a_quick_look_has_cells_of_every_area_and_few_of_all() -> None:
    study = studies()["suite"].load()
    assert study is not None
    whole = looked = 0
    for chapter in study.chapter:
        scenarios = [load_scenario(f"suite/{name}") for name in chapter.scenarios]
        here = sum(len(expand(quick_look(scenario))) for scenario in scenarios)
        assert here, chapter.title
        looked += here
        whole += sum(len(expand(scenario)) for scenario in scenarios)
    assert looked <= whole / 3
