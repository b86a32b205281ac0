"""Factors, their cells, and the keys that name them."""

from collections.abc import Callable
from itertools import islice
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import BASE, faults, scenario

from rushhour.errors import ScenarioError
from rushhour.quantities.units import Rate
from rushhour.spec import Scenario, cells, with_values

TWO = '[[flow]]\nname = "my.flow"\n[[flow]]\nkind = "ping"\n'


def test_nothing_varies_is_one_cell() -> None:
    ((factors, cell),) = cells(scenario())
    assert factors == {}
    assert cell.flow == scenario().flow


def test_all_combinations_the_last_varying_fastest() -> None:
    found = list(cells(scenario('[sweep]\ncc = ["cubic", "reno"]\ntopology.rate = ["1mbit", "2mbit"]\n')))
    assert [tuple(factors.values()) for factors, _ in found] == [
        ("cubic", "1mbit"),
        ("cubic", "2mbit"),
        ("reno", "1mbit"),
        ("reno", "2mbit"),
    ]
    last = found[-1][1]
    assert last.topology is not None
    assert (last.flow[0].cc, last.topology.rate, last.sweep.size) == ("reno", Rate(2_000_000), 1)


def test_factors_that_vary_together() -> None:
    more = '[sweep]\nseed = [1, 2]\n[[sweep.together]]\ncc = ["a", "b"]\n"flow.long.start" = ["1s", "2s"]\n'
    found = [factors for factors, _ in cells(scenario(more))]
    assert len(found) == 4
    assert {(f["cc"], f["flow.long.start"]) for f in found} == {("a", "1s"), ("b", "2s")}


def test_cc_is_short_for_all_flows_that_have_one() -> None:
    cell = with_values(scenario(TWO), {"cc": "bbr"})
    assert [flow.cc for flow in cell.flow] == ["bbr", "bbr", None]


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("flow.my.flow.start", "1s", lambda s: str(s.flow[1].start) == "1s"),
        ("flow.*.start", "1s", lambda s: {str(f.start) for f in s.flow} == {"1s"}),
        ("flow.ping1.interval", "1s", lambda s: str(s.flow[2].interval) == "1s"),
        ("flow.*.cc", "bbr", lambda s: [f.cc for f in s.flow] == ["bbr", "bbr", None]),
        ("sysctl.net.ipv4.tcp_sack", 0, lambda s: s.sysctl == {"net.ipv4.tcp_sack": "0"}),
        ("readings.sojourn", True, lambda s: s.readings.sojourn),
        ("topology.preset", "star", lambda s: s.topology.preset == "star"),
        ("ecn", True, lambda s: s.ecn),
    ],
)
def test_keys(key: str, value: Any, found: Callable[[Scenario], bool]) -> None:
    assert found(with_values(scenario(TWO), {key: value}))


def test_keys_of_links_and_nodes() -> None:
    from rushhour.spec import parse_scenario  # noqa: PLC0415 a graph of its own

    graph = parse_scenario(
        'duration = "1s"\n[[node]]\nname = "a"\n[[link]]\nbetween = ["a", "b"]\nrate = "1mbit"\n[[flow]]\n'
    )
    values = {"link.a-b.loss": 0.01, "link.a-b.forward.rate": "2mbit", "node.a.sysctl.net.core.x": 1}
    cell = with_values(graph, values)
    assert str(cell.link[0].direction(forward=True).rate) == "2mbit"
    assert str(cell.link[0].direction(forward=False).rate) == "1mbit"
    assert str(cell.link[0].direction(forward=True).loss) == "1%"
    assert cell.node[0].sysctl == {"net.core.x": "1"}


@pytest.mark.parametrize(
    ("sweep", "key", "says"),
    [
        ('cc = ["cubic", "CUBIC"]', "sweep.cc", "congestion control"),
        ('topology.rate = ["1mbit", "2mbps"]', "sweep.topology.rate", "bps"),
        ('topology.rate = ["2mbps", "1mbit"]', "topology.rate", "bps"),
        ('flow.long.start = ["1s", "40s"]', "sweep.flow.long.start", "not before the end"),
        ('flow.lang.start = ["1s"]', "sweep.flow.lang.start", "names no flow"),
        ("title = []", "sweep.title", "list of values"),
        ('[[sweep.together]]\ncc = ["a", "b"]\nseed = [1]', "sweep.cc", "one length"),
        ('cc = ["a"]\n[[sweep.together]]\ncc = ["a", "b"]', "sweep.cc", "varies twice"),
        (
            f"seed = {list(range(101))}\ntopology.mtu = {[f'{n}B' for n in range(1000, 1100)]}",
            "sweep",
            "10100",
        ),
    ],
)
def test_wrong_factors(sweep: str, key: str, says: str) -> None:
    found = faults(f"{BASE}[sweep]\n{sweep}\n")
    assert says in f"{found[key].message} {found[key].hint}"
    assert (found[key].line or 0) > 8


def test_a_key_given_only_by_its_factor() -> None:
    text = BASE.replace('rate = "100mbit"\n', "") + '[sweep]\ntopology.rate = ["1mbit", "2mbit"]\n'
    from rushhour.spec import parse_scenario  # noqa: PLC0415 not the usual base

    assert [str(cell.topology.rate) for _, cell in cells(parse_scenario(text)) if cell.topology] == [
        "1mbit",
        "2mbit",
    ]


def test_cells_that_contradict_only_together_are_refused_when_made() -> None:
    more = '[sweep]\ntopology.jitter = ["1ms", "0us"]\ntopology.reorder = [false, true]\n'
    with pytest.raises(ScenarioError, match=r"topology\.jitter=0us, topology\.reorder=true"):
        list(cells(scenario(more)))


@given(st.lists(st.integers(1, 5), max_size=4))
def test_the_size_of_a_sweep_is_the_number_of_its_cells(sizes: list[int]) -> None:
    keys = ["seed", "topology.mtu", "repeat", "flow.long.dscp"]
    lists = [
        [f"{1000 + n}B" if key == "topology.mtu" else n + 1 for n in range(size)]
        for key, size in zip(keys, sizes, strict=False)
    ]
    lines = "\n".join(f'"{key}" = {values}' for key, values in zip(keys, lists, strict=False))
    found = scenario(f"[sweep]\n{lines}\n")
    assert found.sweep.size == prod(sizes)
    combinations = [tuple(values.items()) for values in found.sweep.combinations()]
    assert len(set(combinations)) == found.sweep.size
    for factors, cell in islice(cells(found), 5):
        assert cell.seed == factors.get("seed", 1)
