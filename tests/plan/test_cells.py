import sys
from types import FrameType

from hypothesis import given
from hypothesis import strategies as st
from networks import DUMBBELL, scenario

from rushhour.coverage.index import CellRef
from rushhour.plan import derive_seed, expand, lower
from rushhour.spec import scenario_of


def test_a_scenario_without_a_sweep_is_one_cell() -> None:
    (cell,) = expand(scenario(DUMBBELL))
    assert (cell.index, cell.factors, cell.label) == (0, {}, "")


def test_a_cells_scenario_has_its_factors_applied_and_nothing_left_to_vary() -> None:
    together = {"topology.rate": ["1mbit", "2mbit"], "sample": ["1ms", "2ms"]}
    sweep = {"cc": ["cubic", "reno"], "together": [together]}
    cells = expand(scenario(DUMBBELL, [{}, {}], sweep=sweep))
    assert [cell.label for cell in cells] == [
        "cc=cubic, topology.rate=1mbit, sample=1ms",
        "cc=cubic, topology.rate=2mbit, sample=2ms",
        "cc=reno, topology.rate=1mbit, sample=1ms",
        "cc=reno, topology.rate=2mbit, sample=2ms",
    ]
    assert all(cell.scenario.sweep.size == 1 for cell in cells)
    plan = lower(cells[3].scenario, 1).plan
    assert [flow["cc"] for flow in plan["flows"]] == ["reno", "reno"]
    assert plan["sample_ns"] == 2_000_000
    assert "rate 2000000bit" in plan["links"][1]["ends"][0]["qdiscs"][0]


def test_a_cells_name_has_its_values_as_a_scenario_has_them() -> None:
    """They were printed as Python has them: `True`, `{'rate': '10mbit'}`, `['20ms']`."""
    sweep = {
        "ecn": [True],
        "topology.police": [{"rate": "10mbit", "burst": "20kB"}],
        "topology.drop": [[], [7]],
    }
    flows = [{"kind": "tcp"}]
    assert [cell.label for cell in expand(scenario(DUMBBELL, flows, sweep=sweep))] == [
        f'ecn=true, topology.police={{ rate = "10mbit", burst = "20kB" }}, topology.drop={lost}'
        for lost in ("[]", "[7]")
    ]
    assert CellRef("x", 0, {"ecn": False, "drop": ["a"]}, 0).label == 'x ecn=false, drop=["a"]'


@given(
    st.dictionaries(
        st.sampled_from(["topology.rtt", "topology.rate", "topology.loss", "flow.tcp1.start", "warmup"]),
        st.integers(1, 4),
        max_size=4,
    )
)
def test_a_sweep_has_the_product_of_its_factors(lengths: dict[str, int]) -> None:
    unit = {"topology.rate": "mbit", "topology.loss": "%"}
    values = {key: range(1, count + 1) for key, count in lengths.items()}
    sweep = {key: [f"{n}{unit.get(key, 'ms')}" for n in some] for key, some in values.items()}
    cells = expand(scenario(DUMBBELL, sweep=sweep))
    size = 1
    for count in lengths.values():
        size *= count
    assert len(cells) == size
    assert [cell.index for cell in cells] == list(range(size))
    assert len({cell.label for cell in cells}) == size
    assert all(list(cell.factors) == list(lengths) for cell in cells)


def test_seeds_are_the_same_on_every_machine_and_in_every_version() -> None:
    assert [derive_seed(1, repetition) for repetition in range(3)] == [1, 834776824375715, 3779330550622929]
    assert derive_seed(2**62, 0) == 2**62


@given(st.integers(0, 2**63 - 1))
def test_repetitions_have_distinct_seeds_that_json_keeps(base: int) -> None:
    seeds = [derive_seed(base, repetition) for repetition in range(1, 50)]
    assert len(set(seeds)) == 49
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert not set(seeds) & {derive_seed(base + 1, repetition) for repetition in range(1, 50)}


def test_a_label_speaks_for_the_factors_beside_it() -> None:
    together = {"label.path": ["slow", "fast"], "topology.rate": ["1mbit", "2mbit"]}
    swept = scenario(DUMBBELL, sweep={"cc": ["cubic", "reno"], "together": [together]})
    assert swept.sweep.unsaid == {"topology.rate"}
    cells = expand(swept)
    assert [cell.label for cell in cells][:2] == ["cc=cubic, label.path=slow", "cc=cubic, label.path=fast"]
    assert cells[1].factors["topology.rate"] == "2mbit"


def test_labels_that_do_not_tell_cells_apart_speak_for_nothing() -> None:
    together = {"label.path": ["any", "any"], "topology.rate": ["1mbit", "2mbit"]}
    assert not scenario(DUMBBELL, sweep={"together": [together]}).sweep.unsaid


class Word(str):
    """A value whose comparisons are calls that can be counted."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


def calls(cells: int) -> int:
    """How many functions are called until a sweep of so many cells is read and counted out."""
    rates = [Word(f"{number}kbit") for number in range(1, cells + 1)]
    document = {
        "title": "Many",
        "duration": "100ms",
        "topology": {"preset": "dumbbell", "rate": "1mbit", "rtt": "10ms"},
        "flow": [{"bytes": "1kB"}],
        "sweep": {"topology.rate": rates},
    }
    count = 0

    def profile(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        assert len(expand(scenario_of(document))) == cells
    finally:
        sys.setprofile(None)
    return count


def test_four_times_as_many_cells_are_four_times_the_work() -> None:
    calls(2)  # what is imported at first use
    assert calls(200) < 5 * calls(50)
