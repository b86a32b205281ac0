"""What links take to send in the plan: where it sits, at which rate, and what it becomes over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from networks import DUMBBELL, Edge, check_plan, graph, scenario

from rushhour.plan import Lowered, lower
from rushhour.plan.native import wider
from rushhour.spec.check import problems

if TYPE_CHECKING:
    from collections.abc import Mapping

SENT = {"serialise": True}


def serials(found: Lowered) -> dict[tuple[str, str], Mapping[str, Any]]:
    """By node and device, what wires send at."""
    ends = [end for link in found.plan["links"] for end in link["ends"]]
    return {
        (end["node"], end["dev"]): end["wire"]["serial"]
        for end in ends
        if end["wire"] and "serial" in end["wire"]
    }


def test_an_emulator_sends_what_the_queue_of_a_dumbbell_lets_go() -> None:
    found = lower(scenario(DUMBBELL | SENT | {"jitter": "0us"}), 1)
    check_plan(found)
    assert found.plan["nodes"][-1]["name"] == "left-right.1"
    assert serials(found) == {
        ("left-right.1", "right"): {"rate_bps": 10**8, "ahead_bytes": 1527},
        ("left-right.1", "left"): {"rate_bps": 10**8, "ahead_bytes": 1527},
    }
    (flow,) = found.context["flows"]
    assert (flow["request_frame_bytes"], flow["answer_frame_bytes"]) == (1514, 66)
    assert flow["base_rtt_ns"] == 20_000_000 + 8 * (1514 + 66) * 10


def test_buffers_in_bdps_mean_the_propagation() -> None:
    sizes = [
        lower(scenario({"preset": "dumbbell", "rate": "1mbit", "rtt": "200ms", "serialise": sent}), 1)
        for sent in (True, False)
    ]
    assert len({found.context["ends"][2]["buffer_bytes"] for found in sizes}) == 1


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ({"kind": "ping", "packet": "100B"}, (142, 142)),
        ({"kind": "rr", "request": "1B", "response": "10kB"}, (67, 1514)),
        ({"kind": "udp", "rate": "1mbit", "packet": "500B"}, (542, 42)),
        # Of several fragments one is a full frame, and an answer has headers only.
        ({"kind": "udp", "rate": "1mbit", "packet": "4000B"}, (1514, 42)),
        ({"kind": "ping", "packet": "4000B"}, (1514, 1514)),
    ],
)
def test_a_round_trip_is_of_the_frames_that_make_it(kind: dict[str, str], sizes: tuple[int, int]) -> None:
    found = lower(scenario(DUMBBELL | SENT | {"jitter": "0us"}, [kind]), 1)
    (flow,) = found.context["flows"]
    assert (flow["request_frame_bytes"], flow["answer_frame_bytes"]) == sizes
    assert flow["base_rtt_ns"] == 20_000_000 + 8 * sum(sizes) * 10


def test_line_rates_and_queues_are_sent_each_by_itself() -> None:
    found = lower(scenario(DUMBBELL | SENT | {"access_rate": "1gbit"}), 1)
    check_plan(found)
    rates = [serial["rate_bps"] for serial in serials(found).values()]
    assert sorted(rates) == [10**8] * 2 + [10**9] * 2


def test_a_link_with_a_delay_sends_by_its_own_wire_and_before_netem() -> None:
    links: list[Edge] = [(("a", "b"), {"rate": "10mbit", "delay": "5ms"} | SENT)]
    found = lower(graph(*links, flows=[{}]), 1)
    assert [node["name"] for node in found.plan["nodes"]] == ["a", "b", "a-b.1", "a-b.2"]
    links[0][1]["netem"] = "duplicate 1%"
    found = lower(graph(*links, flows=[{}]), 1)
    check_plan(found)
    roles = {end["end"]: end["role"] for end in found.context["ends"]}
    way = found.context["flows"][0]["ends"]
    assert [roles[end] for end in way] == ["plain", "queue", "wire", "netem", "wire"]
    assert ["serial_bps" in found.context["ends"][end] for end in way] == [False, False, True, False, False]


def test_a_pattern_changes_what_is_sent_and_an_outage_holds_it() -> None:
    steps = [["0s", "50mbit"], ["2s", "10mbit"], ["4s", "0bit"], ["5s", "100mbit"]]
    pattern = {"key": "rate", "direction": "forward", "steps": steps}
    found = lower(scenario(DUMBBELL | SENT, pattern=[pattern]), 1)
    check_plan(found)
    changes = [
        (c["t_ns"] // 10**9, c["key"], c["value"]) for c in found.plan["changes"] if c["key"] != "rate"
    ]
    assert changes == [(2, "serial", 1e7), (4, "serial", 1e8), (4, "hold", 5e9), (5, "serial", 1e8)]
    end = next(end for end in found.context["ends"] if "serial_bps" in end.get("over_time", ()))
    assert [rate for _, rate in end["over_time"]["serial_bps"]] == [5e7, 1e7, 1e8, 1e8]


def test_in_real_time_the_wire_may_lag_by_the_wider_bucket() -> None:
    found = lower(scenario(DUMBBELL | SENT), 1)
    links = wider(found.plan)["links"]
    wires = [end["wire"] for link in links for end in link["ends"] if end["wire"]]
    ahead = [wire["serial"]["ahead_bytes"] for wire in wires if "serial" in wire]
    assert ahead == [1527 + 12_500] * 2


def test_serialise_without_a_rate_is_a_fault() -> None:
    asked = graph((("a", "b"), {"delay": "1ms"} | SENT), flows=[{}])
    assert any("no rate" in str(problem) for problem in problems(asked))
