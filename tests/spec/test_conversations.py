"""Who talks to whom where a scenario does not say."""

import pytest
from scenarios import BASE, scenario

from rushhour.quantities.units import Duration
from rushhour.spec import conversations, default_jitter, hosts, nodes, parse_scenario

CHAIN = BASE.replace('"dumbbell"', '"chain"\nhops = 2')
STAR = BASE.replace('"dumbbell"', '"star"\nleaves = 3')


def _ends(text: str) -> list[tuple[str | None, str | None]]:
    return [(talk.sender, talk.receiver) for talk in conversations(parse_scenario(text))]


def test_the_names_of_the_presets() -> None:
    assert nodes(parse_scenario(BASE)) == ("s1", "left", "right", "r1")
    assert nodes(parse_scenario(CHAIN)) == ("s0", "s1", "s2", "n1", "n2", "n3", "r0", "r1", "r2")
    assert nodes(parse_scenario(STAR)) == ("s1", "s2", "s3", "hub", "r1")


def test_pairs_in_turn_copy_after_copy() -> None:
    text = BASE.replace('"dumbbell"', '"dumbbell"\npairs = 2') + "count = 3\n[[flow]]\n"
    assert _ends(text) == [("s1", "r1"), ("s2", "r2"), ("s1", "r1"), ("s2", "r2")]
    assert _ends(f"{CHAIN}count = 3\n") == [("s0", "r0"), ("s1", "r1"), ("s2", "r2")]
    assert _ends(f"{STAR}count = 4\n") == [("s1", "r1"), ("s2", "r1"), ("s3", "r1"), ("s1", "r1")]


@pytest.mark.parametrize(
    ("end", "ends"),
    [('from = "s2"', ("s2", "r2")), ('to = "r2"', ("s2", "r2")), ('from = "r2"', ("r2", "s2"))],
)
def test_one_end_gives_its_partner(end: str, ends: tuple[str, str]) -> None:
    assert _ends(BASE.replace('"dumbbell"', '"dumbbell"\npairs = 2') + end) == [ends]


def test_rtts_say_how_many_pairs() -> None:
    text = BASE.replace('rtt = "20ms"', 'rtts = ["10ms", "20ms", "40ms"]')
    assert hosts(parse_scenario(text)) == ("s1", "s2", "s3", "r1", "r2", "r3")


GRAPH = """\
duration = "1s"
[[link]]
between = ["a", "m"]
rate = "1mbit"
[[link]]
between = ["m", "b"]
[[flow]]
"""
ROLES = """\
[[node]]
name = "m"
role = "host"
[[node]]
name = "a"
role = "router"
"""


def test_two_hosts_of_a_graph_talk_to_each_other() -> None:
    assert _ends(GRAPH) == [("a", "b")]
    assert hosts(parse_scenario(GRAPH)) == ("a", "b")


def test_roles_go_over_the_number_of_links() -> None:
    assert hosts(parse_scenario(GRAPH + ROLES)) == ("m", "b")


def test_copies_have_numbers() -> None:
    assert [talk.name for talk in conversations(scenario("count = 2\n"))] == ["long.1", "long.2"]


def test_the_default_jitter_is_a_twentieth_within_bounds() -> None:
    assert [default_jitter(Duration(ns)).ns for ns in (0, 10**6, 10**9)] == [1_000, 50_000, 100_000]


def test_samples_by_default_are_200_within_bounds() -> None:
    text = BASE.replace('duration = "30s"', "")
    spans = {"10ms": "1ms", "2s": "10ms", "30s": "100ms", "6min": "100ms", "1h": "1s"}
    assert {
        span: str(parse_scenario(f'duration = "{span}"\n{text}').sample_interval) for span in spans
    } == spans
