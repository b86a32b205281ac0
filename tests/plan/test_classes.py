"""Classes, policers and what packets meet on arrival, in tc's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import DUMBBELL, graph, scenario

from rushhour.plan import lower
from rushhour.plan.classes import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from networks import Document

TWO = ({"name": "mouse"}, {"name": "elephant", "count": 3})
LINK = "rate 100000000bit ceil 100000000bit"
POLICE = "police rate 9000000bit burst 10000b mtu 3028b conform-exceed drop/continue"
HALVES = [
    {"name": "small", "rate": "20mbit", "ceil": "100mbit", "flows": ["mouse"]},
    {"name": "large", "rate": "80mbit", "flows": ["elephant"], "queue": "fq_codel"},
]


def egress(topology: Document, flows: Sequence[Document] = TWO, **keys: Any) -> tuple[list[str], list[str]]:
    """The bottleneck's qdiscs and its classes and filters."""
    plan = lower(scenario(DUMBBELL | topology, flows, **keys), 1).plan
    end = next(
        e for link in plan["links"] for e in link["ends"] if (e["node"], e["dev"]) == ("left", "right")
    )
    return end["qdiscs"], end["filters"]


def test_htb_has_a_class_for_the_link_one_for_each_and_one_for_the_rest() -> None:
    qdiscs, lines = egress({"class": HALVES, "buffer": "500kB"})
    assert qdiscs == [
        "root handle 1: htb default 12",
        "parent 1:10 handle 100: bfifo limit 500000b",
        "parent 1:11 handle 101: fq_codel limit 330",
        "parent 1:12 handle 102: bfifo limit 500000b",
    ]
    assert [line for line in lines if line.startswith("class")] == [
        f"class parent 1: classid 1:1 htb {LINK} burst 13b cburst 13b quantum 1514",
        (
            "class parent 1:1 classid 1:10 htb rate 20000000bit ceil 100000000bit burst 3b cburst 13b "
            "prio 0 quantum 1514"
        ),
        (
            "class parent 1:1 classid 1:11 htb rate 80000000bit ceil 80000000bit burst 10b cburst 10b "
            "prio 0 quantum 1514"
        ),
        (
            "class parent 1:1 classid 1:12 htb rate 8000bit ceil 100000000bit burst 1b cburst 13b "
            "prio 0 quantum 1514"
        ),
    ]


def test_a_class_takes_the_copies_of_its_flows_by_their_ports() -> None:
    _, lines = egress({"class": HALVES})
    told = "filter parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff match u16"
    assert [line for line in lines if line.startswith("filter")] == [
        f"{told} 5001 0xffff at 22 flowid 1:10",
        f"{told} 5002 0xfffe at 22 flowid 1:11",
        f"{told} 5004 0xffff at 22 flowid 1:11",
    ]


def test_what_answers_a_flow_is_told_by_the_port_it_comes_from() -> None:
    """The other direction of a free link with classes for both: ACKs, echo answers, in IPv6 too."""
    document = graph(
        (
            ("a", "b"),
            {"rate": "9mbit", "class": [{"name": "all", "rate": "9mbit", "flows": ["one", "echo"]}]},
        ),
        flows=[{"name": "one"}, {"name": "echo", "kind": "ping"}],
        family="ipv6",
    )
    there, back = (
        [line for end in link["ends"] for line in end["filters"] if line.startswith("filter")]
        for link in lower(document, 1).plan["links"]
        if any(end["filters"] for end in link["ends"])
    )
    head = "filter parent 1: protocol ipv6 prio 1 u32 match ip6 protocol"
    echo = f"{head} 58 0xff match u16 1 0xffff at 44 flowid 1:10"
    assert sorted([there, back]) == sorted(
        [
            [f"{head} 6 0xff match u16 5001 0xffff at 42 flowid 1:10", echo],
            [f"{head} 6 0xff match u16 5001 0xffff at 40 flowid 1:10", echo],
        ]
    )


def test_a_tree_has_parents_before_their_classes() -> None:
    nested = [
        {"name": "leaf", "parent": "agency", "rate": "10mbit", "flows": ["mouse"]},
        {"name": "agency", "rate": "50mbit"},
        {"name": "others", "rate": "50mbit"},
    ]
    qdiscs, lines = egress({"class": nested})
    classes = [line.split(" htb ")[0] for line in lines if line.startswith("class")]
    assert classes == [
        "class parent 1: classid 1:1",
        "class parent 1:1 classid 1:10",
        "class parent 1:1 classid 1:11",
        "class parent 1:10 classid 1:12",
    ]
    # The agency has no queue of its own; the class without flows takes what nobody names.
    assert [line.split(": ")[0] for line in qdiscs] == [
        "root handle 1",
        "parent 1:11 handle 101",
        "parent 1:12 handle 102",
    ]
    assert qdiscs[0].endswith("default 11")


@pytest.mark.parametrize(
    ("scheduler", "more", "words", "classes"),
    [
        ("hfsc", {"rate": "30mbit"}, "root handle 1: hfsc default 11", 3),
        ("drr", {"weight": 2}, "parent 1:1 handle 2: drr", 2),
        ("qfq", {"weight": 2}, "parent 1:1 handle 2: qfq", 2),
        ("prio", {}, "parent 1:1 handle 2: prio bands 2 priomap" + 16 * " 1", 0),
        ("ets", {}, "parent 1:1 handle 2: ets bands 2 strict 2 priomap" + 16 * " 1", 0),
        ("ets", {"weight": 3}, "parent 1:1 handle 2: ets bands 2 quanta 4542 1514 priomap" + 16 * " 1", 0),
    ],
)
def test_other_schedulers_hang_under_the_shaper_or_are_it(
    scheduler: str, more: Document, words: str, classes: int
) -> None:
    qdiscs, lines = egress({"scheduler": scheduler, "class": [{"name": "one", "flows": ["mouse"], **more}]})
    assert words in qdiscs
    assert len([line for line in lines if line.startswith("class")]) == classes
    assert any("matchall" in line for line in lines) == (scheduler in ("drr", "qfq"))
    assert qdiscs[0].split()[3] == ("hfsc" if scheduler == "hfsc" else "tbf")


def test_a_policer_and_netem_on_arrival_are_ends_of_their_own() -> None:
    topology = {"police": {"rate": "9mbit", "burst": "10kB"}, "netem": "loss 1%", "impair_at": "ingress"}
    lowered = lower(scenario(DUMBBELL | topology, [{"name": "one"}]), 1)
    police, netem = lowered.plan["ingress"]
    assert (police["end"], police["node"], police["dev"], police["ifb"]) == (6, "right", "left", None)
    assert police["filters"] == [f"filter ingress protocol all prio 2 matchall action {POLICE}"]
    assert (netem["end"], netem["ifb"]) == (7, "ifb7")
    assert netem["qdiscs"] == ["root handle 1: netem limit 1000 loss 1%"]
    assert netem["filters"][0].endswith("matchall action mirred egress redirect dev ifb7")
    one = lowered.context["flows"][0]
    assert one["ends"] == [0, 2, 6, 7, 4]
    assert one["bottleneck_bps"] == 9_000_000
    assert [end["role"] for end in lowered.context["ends"][6:]] == ["police", "netem"]


def test_a_policers_bucket_may_pass_at_a_peak_rate() -> None:
    topology = {"police": {"rate": "9mbit", "burst": "10kB", "peak": "20mbit"}}
    lowered = lower(scenario(DUMBBELL | topology, [{"name": "one"}]), 1)
    (police,) = lowered.plan["ingress"]
    words = POLICE.replace("mtu 3028b", "mtu 3028b peakrate 20000000bit")
    assert police["filters"] == [f"filter ingress protocol all prio 2 matchall action {words}"]
    end = lowered.context["ends"][-1]
    assert (end["rate_bps"], end["queue"]) == (9_000_000, "police burst 10000b at 20mbit")


def test_a_policer_may_count_packets() -> None:
    topology = {"police": {"packets": "3/ms", "packet_burst": 20}}
    lowered = lower(scenario(DUMBBELL | topology, [{"name": "one"}]), 1)
    (police,) = lowered.plan["ingress"]
    words = "police pkts_rate 3000 pkts_burst 20 conform-exceed drop/continue"
    assert police["filters"] == [f"filter ingress protocol all prio 2 matchall action {words}"]
    end = lowered.context["ends"][-1]
    assert (end["role"], end["rate_bps"]) == ("police", None)
    assert end["queue"] == "police of 3000 packets a second, burst 20"


def test_a_class_that_cannot_borrow_is_its_flows_bottleneck() -> None:
    lowered = lower(scenario(DUMBBELL | {"class": HALVES}, TWO), 1)
    assert [flow["bottleneck_bps"] for flow in lowered.context["flows"]] == [100_000_000] + 3 * [80_000_000]
    end = next(end for end in lowered.context["ends"] if "classes" in end)
    assert [entry["flows"] for entry in end["classes"]] == [["mouse"], ["elephant"], []]


@given(st.sets(st.integers(0, 600)))
def test_blocks_cover_their_ports_and_no_others(ports: set[int]) -> None:
    known = sorted(ports)
    covered = [port for port in range(700) for value, mask in blocks(known) if port & mask == value]
    assert covered == known


def test_the_curves_of_an_hfsc_class_stand_as_they_are_written() -> None:
    curves = "rt m1 50mbit d 10ms m2 20mbit ls rate 20mbit"
    small = {"name": "small", "rate": "20mbit", "curves": curves, "flows": ["mouse"]}
    _, lines = egress({"scheduler": "hfsc", "class": [small]})
    assert f"class parent 1:1 classid 1:10 hfsc {curves}" in lines
