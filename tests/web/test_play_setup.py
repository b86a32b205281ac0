"""A setup: as JSON, as an address, as a scenario; and what is said where it is none."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushhour.errors import Fault, ScenarioError
from rushhour.plan import expand, lower
from rushhour.spec import catalogue, load_scenario
from rushhour.spec.load import parse_scenario
from rushhour.web.play.borrow import borrowed, lenders
from rushhour.web.play.presets import PRESETS
from rushhour.web.play.scenario import lowered, names, packets, scenario, toml
from rushhour.web.play.setup import Setup, address, from_query, read
from rushhour.web.settings import Bounds

BOUNDS = Bounds.parse(["runs=2"])

RATES = st.sampled_from(["256kbit", "1mbit", "20mbit", "1.5mbit"])
TIMES = st.sampled_from(["1ms", "40ms", "0.5s", "2s"])
FLOWS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {"cc": st.sampled_from(["cubic", "bbr"])},
        optional={"start": TIMES, "rcvbuf": st.just("64kB"), "rate": RATES, "name": st.just("a")},
    ),
    st.fixed_dictionaries({"kind": st.just("udp"), "rate": RATES}, optional={"duration": TIMES}),
    st.fixed_dictionaries({"kind": st.just("ping")}, optional={"interval": TIMES, "rtt": TIMES}),
    st.just({}),
)
SETUPS = st.fixed_dictionaries(
    {"flow": st.lists(FLOWS, min_size=1, max_size=4)},
    optional={
        "preset": st.sampled_from(["dumbbell", "chain", "star"]),
        "rate": RATES,
        "rtt": TIMES,
        "buffer": st.sampled_from(["1bdp", "50p", "0.25bdp", "100kB", "20ms"]),
        "loss": st.sampled_from(["0%", "0.1%", "3%"]),
        "jitter": st.sampled_from(["0us", "1ms"]),
        "queue": st.sampled_from(["fifo", "fq_codel", "fq_codel limit 100 target 5ms"]),
        "ecn": st.booleans(),
        "seed": st.integers(0, 2**31 - 1),
        "kernel": st.just("debian-6.12"),
        "size": st.integers(1, 5),
    },
)


@given(SETUPS)
def test_an_address_says_all_of_a_setup(document: dict[str, Any]) -> None:
    setup = read(document)
    assert from_query(address(setup)) == setup
    assert read(setup.document()) == setup


@given(SETUPS)
@settings(max_examples=60)
def test_a_setup_is_a_scenario_or_a_sentence_says_why_not(document: dict[str, Any]) -> None:
    setup = read(document)
    refused: list[Fault] = []
    try:
        found, plan = lowered(setup, BOUNDS)
    except ScenarioError as error:
        refused = error.faults
    assert all(fault.message and fault.key for fault in refused)
    if refused:
        return
    again = parse_scenario(toml(setup))
    assert lower(again, again.seed).plan == plan.plan
    assert [flow.name for flow in found.flow] == names(setup)


def test_the_default_says_nothing_but_its_flows() -> None:
    assert address(Setup()) == "flow=cubic&flow=reno,start=1s"
    assert from_query("") == Setup()


def test_flows_are_told_apart() -> None:
    setup = from_query("flow=cubic&flow=cubic&flow=udp,rate=1mbit&flow=reno,name=cubic-2&flow=tcp")
    assert names(setup) == ["cubic", "cubic-3", "udp", "cubic-2", "tcp"]


def test_a_flow_may_have_a_round_trip_of_its_own() -> None:
    found = scenario(from_query("rtt=50ms&flow=reno,rtt=20ms&flow=reno"))
    assert found.topology is not None
    assert [str(rtt) for rtt in found.topology.rtts or ()] == ["20ms", "50ms"]


def test_dctcp_gets_a_receiver_that_echoes_marks() -> None:
    with_ecn, without = (scenario(from_query(f"flow=dctcp{ecn}")) for ecn in ("&ecn=1", ""))
    assert (with_ecn.flow[0].receiver_cc, without.flow[0].receiver_cc) == ("dctcp", None)


@pytest.mark.parametrize(
    ("query", "key", "said"),
    [
        ("rate=10", "rate", "has no unit"),
        ("rte=10mbit", "rte", "unknown key"),
        ("flow=cubic,sart=1s", "flow", "says nothing of a flow"),
        ("flow=udp", "udp", "rate"),
        ("seed=x", "seed", "whole number"),
        ("ecn=maybe", "ecn", "true or false"),
        ("flow=Cubic!", "flow.1.cc", "congestion control"),
        ("duration=31s", "duration", "at most 30s"),
        ("rate=2gbit", "rate", "at most 1gbit"),
        ("rate=1kbit", "rate", "too slow"),
        ("rtt=3s", "rtt", "at most 2s"),
        ("rate=1gbit&duration=30s", "duration", "packets are too many"),
        ("rate=1gbit&rtt=2s&duration=1s&flow=bbr", "buffer", "at most 64MB"),
        ("buffer=1GB", "buffer", "at most 64MB"),
        ("flow=cubic,start=5s", "flow.cubic.start", "after the end"),
        ("preset=chain&flow=cubic,rtt=1ms", "flow.cubic.rtt", "no RTT of their own"),
        ("&".join(["flow=cubic"] * 9), "flow", "at most 8"),
        ("&".join(["flow=cubic"] * 65), "flow", "at most 64"),
        ("queue=drop;table", "queue", "letters, digits"),
        ("preset=ring", "preset", "not allowed"),
        ("size=99", "size", "less than or equal to 16"),
    ],
)
def test_what_cannot_be_is_said_with_its_key(query: str, key: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(from_query(query), BOUNDS)
    found = error.value.faults
    assert any(key in fault.key and said in f"{fault.message} {fault.hint}" for fault in found), found


def test_packets_are_counted_over_all_links() -> None:
    dumbbell = packets(from_query("rate=12.112mbit&duration=10s&flow=cubic"))
    chain = packets(from_query("preset=chain&size=3&rate=12.112mbit&duration=10s&flow=cubic"))
    assert dumbbell == pytest.approx(10_000)
    assert chain == pytest.approx(3 * dumbbell)


def test_every_preset_is_an_experiment_that_may_run() -> None:
    for one in PRESETS:
        scenario(from_query(one.query), BOUNDS)
    assert len({one.name for one in PRESETS}) == len(PRESETS)


def test_what_is_borrowed_from_the_catalogue_is_the_same_experiment() -> None:
    found = lenders(BOUNDS)
    whole = [one for one in found if not one.first.shortened]
    assert len(whole) >= 3
    for one in whole:
        first = expand(load_scenario(catalogue()[one.name]))[0].scenario
        theirs, mine = lower(first, first.seed).plan, lowered(from_query(one.first.query), BOUNDS)[1].plan
        assert {**theirs, "readings": 0, "sample_ns": 0} == {**mine, "readings": 0, "sample_ns": 0}, one.name


def test_a_shortened_one_says_so_and_is_within_bounds() -> None:
    short = Bounds.parse(["runs=2", "duration=5s"])
    cells = borrowed("mendicino/matrix", short)
    assert len(cells) == 180
    assert all(cell.shortened for cell in cells)
    assert from_query(cells[7].query).duration == short.duration


@pytest.mark.parametrize(
    ("ping", "count"),
    [
        ({}, 2 * 50),  # every 100 ms for 5 s, each with its answer
        ({"interval": "1us"}, 2 * 5_000_000),
        ({"interval": "1us", "start": "4s"}, 2 * 1_000_000),
        ({"interval": "1us", "duration": "1ms"}, 2 * 1000),
    ],
)
def test_pings_count_as_packets(ping: dict[str, str], count: int) -> None:
    setup = read({"flow": [{"kind": "ping", **ping}], "duration": "5s"})
    silent = read({"flow": [{"cc": "cubic"}], "duration": "5s"})
    assert packets(setup) - packets(silent) == pytest.approx(count)
    bounds = Bounds.parse(["packets=1000000"])
    if count > 1_000_000:
        with pytest.raises(ScenarioError, match="too many for this server") as refused:
            scenario(setup, bounds)
        assert refused.value.faults[0].hint == "ping less often"
    else:
        scenario(setup, bounds)
