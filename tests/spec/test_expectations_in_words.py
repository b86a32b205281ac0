"""Expectations that are texts: the same as tables, in a scenario and beside one."""

import pytest
from scenarios import scenario

from rushhour.errors import ScenarioError
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.quantities.units import UnitError
from rushhour.spec import expecting
from rushhour.spec.expectation import table_of
from rushhour.spec.load import parse_scenario
from rushhour.spec.scenario import Scenario

TOP = 'topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }\nduration = "5s"\n'


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("goodput > 1 mbit", {"metric": "goodput_bps", "above": 1e6}),
        ("goodput_bps of curl.back.1 >= 1.5Mbit/s", {"scope": "curl.back.1", "min": 1.5e6}),
        ("srtt_p95 of flow:tcp1<=80ms", {"metric": "srtt_p95_us", "scope": "flow:tcp1", "max": 80_000.0}),
        ("program_time < 2min", {"metric": "program_time_s", "below": 120.0}),
        ("retransmits = 0", {"metric": "retransmits", "equals": 0.0}),
        ("utilization of left → right == 95% ± 2 %", {"scope": "left → right", "tolerance": 0.019}),
        ("utilization ≥ 0.5", {"min": 0.5}),
        ("queue_max < 3 KiB", {"metric": "queue_max_bytes", "below": 3072.0}),
        ("goodput = 10mbit ± 1", {"equals": 1e7, "tolerance": 1e6}),
    ],
)
def test_a_text_means_a_table(text: str, table: dict[str, object]) -> None:
    assert table_of(text, VOCABULARY).items() >= table.items()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("goodput", "is no expectation"),
        ("goodput > fast", "is no expectation"),
        ("goodput > 1mbit and more", "is no expectation"),
        ("goodput > " + "1" * 1000, "is no expectation"),
        ("gudput_bps > 1", "there are goodput_bps"),
        ("srtt < 5ms", "there are srtt_min_us, srtt_mean_us"),
        ("goodput > 5s", '"s" cannot be converted to "bit/s", the unit of goodput_bps'),
    ],
)
def test_what_is_none_is_said(text: str, words: str) -> None:
    with pytest.raises(UnitError, match=words):
        table_of(text, VOCABULARY)


def test_a_scenario_takes_texts_and_tables_alike() -> None:
    text = parse_scenario(f'expect = ["goodput of tcp1 > 1mbit"]\n{TOP}[[flow]]\n', words=VOCABULARY)
    table = f'{TOP}[[flow]]\n[[expect]]\nmetric = "goodput_bps"\nscope = "tcp1"\nabove = 1e6\n'
    assert text.sha256() == parse_scenario(table, words=VOCABULARY).sha256()


def test_a_wrong_text_in_a_scenario_is_named_once() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f'expect = ["goodput ~ 1"]\n{TOP}[[flow]]\n', words=VOCABULARY)
    assert [fault.key for fault in caught.value.faults] == ["expect.1"]
    assert "is no expectation" in str(caught.value)


def test_a_text_is_read_without_a_vocabulary_by_the_end_of_the_name() -> None:
    whole = scenario("").canonical() | {"expect": ["srtt_p95_us < 80ms"]}
    assert Scenario.model_validate(whole).expect[0].below == 80_000


def test_texts_beside_a_scenario_stand_for_its_own() -> None:
    made = parse_scenario(f'expect = ["retransmits = 0"]\n{TOP}[[flow]]\n', words=VOCABULARY)
    (one,) = expecting(made, ["goodput > 1mbit"], VOCABULARY).expect
    assert (one.metric, one.above) == ("goodput_bps", 1e6)
    with pytest.raises(ScenarioError) as caught:
        expecting(made, ["goodput > 1s", "goodput = 1 ± 2", "goodput > 2 ± 3"], VOCABULARY)
    assert [fault.key for fault in caught.value.faults] == ["goodput > 1s"]
    with pytest.raises(ScenarioError, match="has no equals to be near to"):
        expecting(made, ["goodput > 2 ± 3"], VOCABULARY)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("above = 1\nmax = 1", "not below max = 1: nothing can pass"),
        ("min = 3\nbelow = 2", "3 is more than below = 2: nothing can pass"),
        ("above = 1\nequals = 2", "stands beside above"),
        ("", "expects nothing of its metric"),
    ],
)
def test_bounds_that_leave_nothing_are_refused(keys: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        parse_scenario(f'{TOP}[[flow]]\n[[expect]]\nmetric = "goodput_bps"\n{keys}\n')
