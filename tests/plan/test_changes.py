"""Patterns in the plan: what the links are at the start, what changes when, what metrics are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from networks import DUMBBELL, check_plan, graph, scenario

from rushhour.errors import PlanError
from rushhour.plan import Lowered, commands, drawing, lower

if TYPE_CHECKING:
    from collections.abc import Mapping

RATES = [["0s", "50mbit"], ["2s", "10mbit"], ["4s", "0bit"], ["5s", "100mbit"]]
SECOND = 10**9


def lowered(*patterns: Mapping[str, object], **topology: object) -> Lowered:
    return lower(scenario(DUMBBELL | topology, pattern=[dict(pattern) for pattern in patterns]), 1)


def lines(found: Lowered) -> list[list[str]]:
    return [change["lines"] for change in found.plan["changes"] if "lines" in change]


def test_a_plan_without_patterns_has_no_changes() -> None:
    assert "changes" not in lowered().plan


def test_the_link_is_as_the_pattern_has_it_at_the_start() -> None:
    found = lowered({"key": "rate", "direction": "forward", "steps": RATES})
    check_plan(found)
    end = found.plan["links"][1]["ends"][0]
    assert end["qdiscs"][0].startswith("root handle 1: htb")
    assert "rate 50000000bit" in end["filters"][0]
    # The buffer is that of the link's own rate: 100 Mbit/s for 20 ms.
    assert end["qdiscs"][1].endswith("bfifo limit 250000b")
    assert [change["t_ns"] // SECOND for change in found.plan["changes"]] == [2, 4, 5]


CLASSES = [
    {"name": "one", "rate": "20mbit", "flows": ["f"], "then": {"at": "2s", "gone": True}},
    {"name": "two", "rate": "20mbit", "then": {"at": "1s", "rate": "5mbit"}},
]


def test_a_class_goes_after_the_filters_that_send_flows_there() -> None:
    found = lower(scenario(DUMBBELL | {"class": CLASSES}, [{"name": "f"}]), 1)
    check_plan(found)
    first, second = found.plan["changes"]
    assert (first["t_ns"], first["key"], second["t_ns"]) == (SECOND, "class", 2 * SECOND)
    assert first["lines"][0].startswith("class parent 1:1 classid 1:11 htb rate 5000000bit ceil 5000000bit")
    assert list(second["lines"]) == ["delete filter parent 1: prio 2", "delete class classid 1:10"]
    end = found.plan["links"][1]["ends"][0]
    assert [line.split("u32")[0] for line in end["filters"] if "u32" in line] == [
        "filter parent 1: protocol ip prio 2 "
    ]
    said = [line for line in commands(found.plan) if "delete" in line]
    assert said[0].endswith("filter delete dev right parent 1: prio 2")


def test_filters_of_a_class_that_no_flow_reaches_are_none() -> None:
    """A flow of the way beside it: there is nothing to take away, and the kernel would refuse."""
    classes = [CLASSES[0], {"name": "two", "rate": "20mbit"}]
    links = [(("a", "m"), {"rate": "100mbit", "class": classes}), (("m", "b"), {}), (("m", "c"), {})]
    found = lower(graph(*links, flows=[{"name": "f", "from": "b", "to": "c"}]), 1)
    assert [list(one["lines"]) for one in found.plan["changes"]] == [["delete class classid 1:10"]] * 2


def test_both_directions_change_as_the_rate_of_a_preset_is_that_of_both() -> None:
    found = lowered({"key": "rate", "steps": RATES})
    assert {change["end"] for change in found.plan["changes"]} == {2, 3}
    found = lowered({"key": "loss", "steps": [["1s", "1%"]]})
    assert {change["end"] for change in found.plan["changes"]} == {4}


def test_an_outage_lets_one_frame_pass_and_ends_on_time() -> None:
    (_, outage, _) = lines(lowered({"key": "rate", "direction": "forward", "steps": RATES}))
    words = outage[0].split()
    rate = int(words[words.index("rate") + 1].removesuffix("bit"))
    counted = int(words[words.index("mpu") + 1])
    assert counted * 8 / rate == pytest.approx(1.0, abs=2 / 65535)
    assert int(words[words.index("overhead") + 1]) + 1514 == counted < 2**16


def test_tbf_keeps_the_limit_of_a_fifo_that_counts_packets() -> None:
    found = lowered({"key": "rate", "direction": "forward", "steps": RATES[:2]}, shaper="tbf", buffer="100p")
    assert lines(found) == [
        [
            "qdisc root handle 1: tbf rate 10000000bit burst 1516b limit 151400b",
            "qdisc parent 1:1 handle 10: pfifo limit 100",
        ]
    ]
    with pytest.raises(PlanError, match="tbf cannot wait"):
        lowered({"key": "rate", "steps": RATES}, shaper="tbf")


def test_a_queue_changes_before_the_experiment_ends() -> None:
    duration = scenario(DUMBBELL).span
    with pytest.raises(PlanError, match=f"the experiment ends after {duration}"):
        lowered(queue=f"fq limit 100 then at {duration} fq limit 50")
    assert lowered(queue="fq limit 100 then at 1s fq limit 50").plan["changes"]


def test_an_rtt_is_half_in_each_direction() -> None:
    found = lowered({"key": "rtt", "steps": [["0s", "30ms"], ["1s", "11000001ns"]]})
    delays = {change["end"]: change["value"] for change in found.plan["changes"]}
    assert delays == {4: 5_500_000, 1: 5_500_001}
    assert found.plan["links"][2]["ends"][0]["wire"]["delay_ns"] == 15_000_000


def test_the_context_has_courses_and_their_means() -> None:
    found = lowered(
        {"key": "rate", "direction": "forward", "steps": RATES},
        {"key": "delay", "direction": "forward", "steps": [["5s", "20ms"]]},
        {"key": "loss", "steps": [["0s", "10%"], ["1s", "0%"]]},
    )
    ends = found.context["ends"]
    assert ends[2]["over_time"]["rate_bps"] == [
        (0, 50_000_000),
        (2 * SECOND, 1e7),
        (4 * SECOND, 0),
        (5 * SECOND, 1e8),
    ]
    assert ends[2]["rate_bps"] == (2 * 50 + 2 * 10 + 0 + 5 * 100) * 10**6 // 10
    assert (ends[4]["delay_ns"], ends[4]["loss"]) == (15_000_000, pytest.approx(0.01))
    (flow,) = found.context["flows"]
    assert flow["base_rtt_ns"] == 25_000_000 + 100_000
    assert flow["bottleneck_bps"] == ends[2]["rate_bps"]
    assert "over_time" not in ends[3]


def test_the_narrowest_of_all_times_is_the_bottleneck() -> None:
    pattern = {"key": "rate", "direction": "forward", "steps": [["0s", "500mbit"], ["1s", "20mbit"]]}
    (flow,) = lowered(pattern, access_rate="100mbit").context["flows"]
    assert flow["bottleneck_end"] == 2


def test_a_wire_is_put_where_a_pattern_needs_one() -> None:
    found = lower(
        graph(
            (("a", "m"), {"rate": "10mbit"}),
            (("m", "b"), {}),
            flows=[{}],
            pattern=[{"key": "delay", "link": "m-b", "steps": [["1s", "5ms"]]}],
        ),
        1,
    )
    check_plan(found)
    ends = [end for link in found.plan["links"] for end in link["ends"]]
    assert [ends[change["end"]]["wire"] is not None for change in found.plan["changes"]] == [True, True]


def test_two_patterns_of_the_same_are_refused() -> None:
    twice = {"key": "delay", "steps": [["1s", "5ms"]]}
    with pytest.raises(PlanError, match="two patterns change the delay"):
        lowered(twice, twice | {"name": "again"})


def test_a_walk_differs_between_repetitions_of_a_run() -> None:
    walk = {"start": "50mbit", "step": "20mbit", "min": "10mbit", "max": "90mbit", "every": "1s"}
    own = scenario(DUMBBELL, pattern=[{"key": "rate", "walk": walk}])
    assert lower(own, 1).plan["changes"] == lower(own, 1).plan["changes"] != lower(own, 2).plan["changes"]


def test_a_person_can_type_the_changes() -> None:
    found = lowered(
        {"key": "rate", "direction": "forward", "steps": RATES}, {"key": "loss", "steps": [["2s", "1%"]]}
    )
    typed = commands(found.plan)
    start = typed.index("# the flows start here; from now on the links change")
    assert typed[start + 1] == "sleep 2  # until 2 s"
    assert typed[start + 2].startswith(
        "tc -n left class change dev right parent 1: classid 1:1 htb rate 10000000bit"
    )
    assert typed[start + 3].startswith("# the wire right r1 changes; nearly: tc")
    assert typed[start + 3].endswith("loss 1%")


def test_a_pattern_is_drawn_over_the_experiment() -> None:
    text = drawing(
        scenario(DUMBBELL, pattern=[{"key": "rate", "steps": [["5s", "100mbit"], ["7500ms", "50mbit"]]}])
    )
    assert "rate  ····················██████████▅▅▅▅▅▅▅▅▅▅  50mbit … 100mbit  steps" in text


def test_a_discipline_becomes_another_while_packets_wait() -> None:
    found = lowered(queue="prio bands 4 then at 500ms prio bands 3")
    check_plan(found)
    change, back = found.plan["changes"]
    assert (change["t_ns"], change["end"], change["key"]) == (SECOND // 2, 2, "class")
    assert (back["t_ns"], back["end"]) == (SECOND // 2, 3)
    assert list(change["lines"]) == ["qdisc parent 1:1 handle 10: prio bands 3"]
    assert any("qdisc change dev" in line and line.endswith("prio bands 3") for line in commands(found.plan))


def test_the_queue_of_a_class_stays_what_it_is() -> None:
    classes = [{"name": "one", "rate": "20mbit", "queue": "fq limit 5 then at 1s fq limit 7"}]
    with pytest.raises(PlanError, match=r"class one: .* stays what it is"):
        lower(scenario(DUMBBELL | {"class": classes}, [{"name": "f"}]), 1)
