"""The real bottleneck: what a discipline keeps by itself, what one flow is allowed, what moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from networks import DUMBBELL, graph, scenario

from rushhour.plan import lower
from rushhour.record import courses
from rushhour.record.context import Context, read_context
from rushhour.record.document import read
from rushhour.record.plan_file import PlanFile
from rushhour.record.result_file import ResultFile

if TYPE_CHECKING:
    from rushhour.spec import Scenario

SECOND = 10**9
Document = dict[str, Any]


def meant(asked: Scenario, **outcome: int) -> Context:
    """The context of a scenario, each flow with this outcome."""
    lowered = lower(asked, 1)
    result = {"flows": [{"id": flow["id"], **outcome} for flow in lowered.plan["flows"]]}
    return read_context(
        lowered.context, read(PlanFile, lowered.plan, "here"), read(ResultFile, result, "here"), "here"
    )


@pytest.mark.parametrize(
    ("queue", "rate", "end_rate", "ceiling"),
    [
        ("cake bandwidth 10mbit", "100mbit", 10e6, None),
        ("cake bandwidth 200mbit", "100mbit", 100e6, None),
        ("cake bandwidth 10mbit", None, 10e6, None),
        ("cake unlimited", "100mbit", 100e6, None),
        ("tbf rate 20mbit burst 3000b limit 100000b", "100mbit", 20e6, None),
        ("netem rate 5mbit limit 100", "100mbit", 5e6, None),
        ("fq maxrate 30mbit", "100mbit", 100e6, 30e6),
        ("fq nopacing maxrate 30mbit", "100mbit", 100e6, None),
    ],
)
def test_what_a_discipline_keeps_by_its_own_words(
    queue: str, rate: str | None, end_rate: float, ceiling: float | None
) -> None:
    topology = {"preset": "dumbbell", "rtt": "20ms", "queue": queue} | ({"rate": rate} if rate else {})
    context = meant(scenario(topology))
    (flow,) = context.flows.values()
    assert flow.bottleneck_end is not None
    assert context.ends[flow.bottleneck_end].rate_bps == end_rate
    assert flow.ceiling_bps == ceiling
    assert flow.bottleneck_bps == min(end_rate, ceiling or end_rate)


def test_netem_as_a_queue_delays_the_idle_path() -> None:
    queue = {"queue": "netem delay 30ms limit 100"}
    there = meant(scenario(DUMBBELL | {"reverse_queue": "fifo"} | queue)).flows[0].base_rtt_ns
    plain = meant(scenario(DUMBBELL)).flows[0].base_rtt_ns
    assert there is not None
    assert plain is not None
    assert abs(there - plain - 30_000_000) < 1_000_000


def pattern(link: str, *steps: tuple[str, str]) -> dict[str, Any]:
    return {"key": "rate", "link": link, "direction": "forward", "steps": [list(step) for step in steps]}


TWO: list[tuple[tuple[str, str], Document]] = [
    (("a", "m"), {"rate": "50mbit", "delay": "5ms"}),
    (("m", "b"), {"rate": "50mbit", "delay": "5ms"}),
]


def moving() -> Scenario:
    """First the one link is the slower one, then the other."""
    patterns = [
        pattern("a-m", ("0s", "10mbit"), ("5s", "50mbit")),
        pattern("m-b", ("0s", "50mbit"), ("5s", "20mbit")),
    ]
    return graph(*TWO, flows=[{"from": "a", "to": "b"}], pattern=patterns)


def test_a_bottleneck_that_moves_is_at_both_places() -> None:
    context = meant(moving())
    flow = context.flows[0]
    rates = {context.ends[end].label: context.ends[end].over_time["rate_bps"] for end in flow.bottleneck_ends}
    assert [course[-1][1] for course in rates.values()] == [50e6, 20e6]
    assert courses.bottleneck_bps(flow, context.ends, (0, 10 * SECOND)) == pytest.approx(15e6)
    assert courses.bottleneck_bps(flow, context.ends, (0, 5 * SECOND)) == pytest.approx(10e6)
    assert courses.bottleneck_bps(flow, context.ends, (4 * SECOND, 8 * SECOND)) == pytest.approx(17.5e6)


def test_a_flow_is_judged_by_the_rate_of_its_own_time() -> None:
    asked = scenario(
        DUMBBELL, [{"start": "6s"}], pattern=[{"key": "rate", "steps": [["0s", "100mbit"], ["5s", "10mbit"]]}]
    )
    context = meant(asked, connected_ns=6 * SECOND, receiver_done_ns=9 * SECOND)
    assert courses.bottleneck_bps(context.flows[0], context.ends) == pytest.approx(10e6)


def test_a_discipline_bounds_a_pattern_too() -> None:
    asked = scenario(
        DUMBBELL | {"queue": "cake bandwidth 20mbit"},
        pattern=[{"key": "rate", "direction": "forward", "steps": [["0s", "100mbit"], ["5s", "10mbit"]]}],
    )
    lowered = lower(asked, 1)
    context = meant(asked)
    flow = context.flows[0]
    assert flow.bottleneck_end is not None
    assert context.ends[flow.bottleneck_end].over_time["rate_bps"] == ((0, 20e6), (5 * SECOND, 10e6))
    assert [change["value"] for change in lowered.plan["changes"]] == [10e6]


def balanced(first: Document, x: Document, y: Document, **more: Any) -> Context:
    """From a by two ways, of links x and y and taken in turn, to b."""
    ways = [(("a", "l"), first), (("r", "b"), {})]
    ways += [(("l", "x"), x), (("x", "r"), {}), (("l", "y"), y), (("y", "r"), {})]
    nodes = [{"name": "l", "balance": "packet"}]
    return meant(graph(*ways, flows=[{"from": "a", "to": "b"}], nodes=nodes, **more))


def test_the_slowest_way_holds_back_packets_that_take_turns() -> None:
    flow = balanced({}, {"rate": "10mbit"}, {"rate": "40mbit"}).flows[0]
    assert flow.in_turn
    assert flow.bottleneck_bps == 20e6


def test_a_link_that_all_ways_share_carries_all_packets() -> None:
    flow = balanced({"rate": "50mbit"}, {"rate": "40mbit"}, {"rate": "40mbit"}).flows[0]
    assert flow.in_turn
    assert flow.bottleneck_bps == 50e6


def test_ways_in_turn_have_their_rates_over_time() -> None:
    """Of 10 and 40 Mbit/s the slower one, twice; then of 30 and 40; then the link before them, of 50."""
    rates = pattern("l-x", ("0s", "10mbit"), ("4s", "30mbit"), ("6s", "20mbit"))
    context = balanced({"rate": "50mbit"}, {"rate": "10mbit"}, {"rate": "40mbit"}, pattern=[rates])
    flow, ends = context.flows[0], context.ends
    for span, mbit in (((0, 4), 20), ((4, 6), 50), ((6, 8), 40), ((2, 6), 35)):
        now = courses.bottleneck_bps(flow, ends, (span[0] * SECOND, span[1] * SECOND))
        assert now == pytest.approx(mbit * 1e6)
    # From 3 s on 20 Mbit go in the first second, 25 more in the next half.
    assert courses.sending_ns(flow, ends, 3 * SECOND, 45e6) == pytest.approx(1.5 * SECOND)
