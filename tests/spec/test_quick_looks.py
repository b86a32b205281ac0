"""Quick looks are shorter and have fewer cells; what cannot be combined is left out on purpose, or named."""

import pytest
from scenarios import BASE, faults, scenario

from rushhour.errors import ScenarioError
from rushhour.plan import expand
from rushhour.spec import parse_scenario
from rushhour.spec.sweep import Sweep
from rushhour.spec.vary import quick_look

SWEEP = """
[sweep]
cc = ["cubic", "reno", "vegas", "bbr", "westwood"]
"topology.rtt" = ["10ms", "20ms"]
"""
SKIP = 'skip = [{cc = "bbr", topology.rtt = "10ms"}, {cc = ["reno", "vegas"]}]\n'
EXPECT = '[[expect]]\nmetric = "utilization"\nmin = 0.9\n'


def levels(text: str, sets: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    found = parse_scenario(BASE + text, sets=sets).sweep.combinations()
    return [(cell["cc"], cell["topology.rtt"]) for cell in found]


def test_by_rule_the_first_middle_and_last_value_of_a_factor_are_left_and_one_run_of_ten_seconds() -> None:
    looked = quick_look(scenario(SWEEP + EXPECT, top="repeat = 5\n"))
    assert looked.sweep.values == {"cc": ["cubic", "vegas", "westwood"], "topology.rtt": ["10ms", "20ms"]}
    assert (str(looked.duration), looked.repeat) == ("10s", 1)
    assert looked.expect == (), "what is expected of thirty seconds is not expected of ten"


def test_an_experiment_with_a_schedule_keeps_its_length_and_its_expectations() -> None:
    whole = scenario('start = "5s"\n' + EXPECT)
    looked = quick_look(whole)
    assert looked.duration == whole.duration
    assert looked.expect == whole.expect
    assert looked.canonical() == whole.canonical(), "and nothing else was there to be shortened"


@pytest.mark.parametrize(("key", "kept"), [('until = "exit"', True), ('start = "5s"', True), ("", False)])
def test_an_experiment_that_ends_with_its_programs_keeps_the_time_that_they_may_take(
    key: str, *, kept: bool
) -> None:
    whole = scenario(f'[[program]]\nnode = "s1"\ncommand = "sleep 20"\n{key}\n' + EXPECT)
    looked = quick_look(whole)
    assert (looked.duration == whole.duration) == kept
    assert (looked.expect == whole.expect) == kept


def test_what_the_author_says_goes_before_the_rule() -> None:
    told = SWEEP + '[quick]\nduration = "2s"\ncc = ["reno"]\n"topology.rtt" = "50ms"\n'
    looked = quick_look(scenario(told + EXPECT))
    assert looked.sweep.values == {"cc": ["reno"]}
    assert str(looked.topology and looked.topology.rtt) == "50ms"
    assert (str(looked.duration), looked.expect) == ("2s", ())


def test_expectations_stay_where_a_quick_look_says_what_the_scenario_says() -> None:
    told = SWEEP + '[quick]\nduration = "{}"\n' + EXPECT
    whole = scenario(told.format("30s"))
    assert len(quick_look(whole).expect) == 1
    assert quick_look(scenario(told.format("29s"))).expect == ()


def test_expectations_stay_where_only_the_values_of_factors_are_fewer() -> None:
    assert len(quick_look(scenario(SWEEP + '[quick]\ncc = ["reno", "bbr"]\n' + EXPECT)).expect) == 1


@pytest.mark.parametrize(
    ("quick", "key", "message"),
    [
        ('duratoin = "2s"', "quick.duratoin", 'no key "duratoin"'),
        ('duration = "2"', "quick", "has no unit"),
        ('duration = "2s"\nsample = "3s"', "quick", "is not between"),
        ("cc = []", "quick", "a factor is a list of values"),
        ("flow.nobody.start = '1s'", "quick.flow.nobody.start", "names no flow"),
    ],
)
def test_a_quick_look_that_makes_no_sense_is_refused_beforehand(quick: str, key: str, message: str) -> None:
    found = faults(BASE + SWEEP + f"[quick]\n{quick}\n")
    assert any(message in fault.message for fault in found.values()), found
    assert any(name.startswith(key) and fault.line for name, fault in found.items()), found


def test_combinations_are_left_out_by_values_or_lists_of_values() -> None:
    assert levels(SWEEP + SKIP) == [
        ("cubic", "10ms"), ("cubic", "20ms"), ("bbr", "20ms"), ("westwood", "10ms"), ("westwood", "20ms"),
    ]  # fmt: skip
    assert scenario(SWEEP + SKIP).sweep.size == 5
    assert [cell.index for cell in expand(scenario(SWEEP + SKIP))] == [0, 1, 2, 3, 4]


def test_what_is_left_out_stays_so_when_a_factor_is_set() -> None:
    set_rtt = parse_scenario(BASE + SWEEP + SKIP, sets=("topology.rtt=10ms",)).sweep
    assert set_rtt.values["cc"] == ["cubic", "reno", "vegas", "bbr", "westwood"]
    assert [cell["cc"] for cell in set_rtt.combinations()] == ["cubic", "westwood"]
    other = parse_scenario(BASE + SWEEP + SKIP, sets=("topology.rtt=30ms",)).sweep
    assert [cell["cc"] for cell in other.combinations()] == ["cubic", "bbr", "westwood"]


def test_a_quick_look_forgets_only_what_is_left_out_of_values_that_are_gone() -> None:
    skip = quick_look(scenario(SWEEP + SKIP)).sweep
    assert [cell["cc"] for cell in skip.combinations()] == ["cubic", "cubic", "westwood", "westwood"]


@pytest.mark.parametrize(
    ("skip", "message"),
    [
        ("{cc = 'remo'}", '"remo" is no value of "cc"; there are: cubic, reno'),
        ("{queue = 'fifo'}", '"queue" is no factor of the sweep; there are: cc, topology.rtt'),
        ("{}", "names no factor"),
        ("{cc = []}", "is no value"),
        ("3", "skip is a list of tables"),
        ("{topology.rtt = ['10ms', '20ms']}", "nothing would run"),
    ],
)
def test_what_leaves_out_nothing_or_everything_is_refused(skip: str, message: str) -> None:
    found = faults(BASE + SWEEP + f"skip = [{skip}]\n")
    assert any(message in fault.message for fault in found.values()), found


def test_a_value_that_is_a_list_is_left_out_by_a_list_of_such_values() -> None:
    """`{key = [["b", "c"]]}` names the one value ["b", "c"]; it is not two values."""
    arguments = [["a"], ["b", "c"]]
    swept = Sweep.model_validate({"flow.args": arguments, "skip": [{"flow.args": [["b", "c"]]}]})
    assert [cell["flow.args"] for cell in swept.combinations()] == [["a"]]


def test_a_value_that_never_meets_the_first_of_the_others_is_judged_beside_what_it_meets() -> None:
    text = """
[sweep]
"topology.mtu" = ["1500B", "9000B"]
"topology.buffer" = ["3kB", "100kB"]
skip = [{"topology.mtu" = "9000B", "topology.buffer" = "3kB"}]
"""
    assert len(expand(scenario(text))) == 3


def test_factors_that_cannot_be_combined_are_named_once_with_what_to_do() -> None:
    text = """
[sweep]
"topology.buffer" = ["100kB", "3kB", "4kB", "5kB", "6kB"]
"topology.mtu" = ["1500B", "9000B"]
"""
    with pytest.raises(ScenarioError) as refused:
        expand(scenario(text))
    first = refused.value.faults[0]
    assert first.file.startswith("the combination topology.buffer=3kB, topology.mtu=9000B")
    assert "less than one packet of 9000" in first.message
    assert 'skip = [{ "topology.buffer" = "3kB", "topology.mtu" = "9000B" }]' in str(first.hint)
    assert len(refused.value.faults) == 4
    with pytest.raises(ScenarioError) as refused:
        expand(scenario(text.replace(', "4kB", "5kB", "6kB"', "") + 'cc = ["cubic", "reno"]\n'))
    (fault,) = refused.value.faults
    assert fault.file.startswith("2 of 8 combinations topology.buffer=3kB, topology.mtu=9000B, cc=cubic;")
    assert str(fault.hint).endswith('skip = [{ "topology.buffer" = "3kB", "topology.mtu" = "9000B" }]')


def test_a_factor_that_is_set_is_no_choice_of_a_quick_look() -> None:
    told = SWEEP + '[quick]\ncc = ["reno", "bbr"]\n"topology.rtt" = ["20ms"]\n'
    looked = quick_look(scenario(told, sets=("topology.rtt=10ms",)))
    assert looked.sweep.values == {"cc": ["reno", "bbr"]}
    assert str(looked.topology and looked.topology.rtt) == "10ms"
