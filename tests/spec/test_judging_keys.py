"""What decides a comparison: `guards` and `[[judge]]`, in cells, in quick looks, and where they are wrong."""

import pytest
from scenarios import BASE, faults, scenario

from rushhour.plan import expand, lower
from rushhour.spec import parse_scenario
from rushhour.spec.vary import quick_look

SWEEP = """
[sweep]
cc = ["cubic", "reno", "bbr"]
[[sweep.together]]
"topology.rtt" = ["10ms", "20ms", "40ms", "80ms"]
"label.path" = ["a", "b", "c", "d"]
"""
GUARDS = 'guards = "{cc} on path {label.path} would be late (tcp_ack)"\n'
JUDGES = """
[[judge]]
metric = "goodput_bps"
minimum = "2%"
[[judge]]
metric = "min_rtt_us"
flow = "long"
minimum = "1ms"
where = { cc = "reno", "label.path" = ["a", "d"] }
"""


def test_a_cell_says_what_it_guards_and_keeps_its_own_judges() -> None:
    cells = {
        (cell.factors["cc"], cell.factors["label.path"]): cell.scenario
        for cell in expand(scenario(SWEEP + JUDGES, top=GUARDS))
    }
    assert cells["reno", "d"].guards == "reno on path d would be late (tcp_ack)"
    assert [judge.metric for judge in cells["reno", "d"].judge] == ["goodput_bps", "min_rtt_us"]
    assert [judge.metric for judge in cells["reno", "b"].judge] == ["goodput_bps"]
    assert [str(judge.minimum) for judge in cells["reno", "a"].judge] == ["2%", "1 ms"]
    assert cells["reno", "a"].canonical()["judge"][1]["minimum"] == "1 ms"


def test_what_judges_does_not_enter_the_plan() -> None:
    plain, judged = scenario(SWEEP), scenario(SWEEP + JUDGES, top=GUARDS)
    plans = [[lower(cell.scenario, 1).plan for cell in expand(one)] for one in (plain, judged)]
    assert plans[0] == plans[1]


def test_what_is_set_is_said_and_no_factor_of_judges() -> None:
    fixed = scenario(SWEEP + JUDGES, top=GUARDS, sets=("cc=reno",))
    assert fixed.guards == "reno on path {label.path} would be late (tcp_ack)"
    assert fixed.judge[1].where == {"label.path": ["a", "d"]}


def test_a_quick_look_leaves_judges_of_cells_that_are_left() -> None:
    quick = '[quick]\ncc = ["cubic", "bbr"]\n"label.path" = ["b", "d"]\n'
    looked = quick_look(scenario(SWEEP + quick + JUDGES, top=GUARDS))
    assert looked.sweep.values["topology.rtt"] == ["20ms", "80ms"], "one of coupled factors chooses for all"
    assert [judge.metric for judge in looked.judge] == ["goodput_bps"]
    looked = quick_look(scenario(SWEEP + '[quick]\n"label.path" = ["d"]\n' + JUDGES))
    assert looked.judge[1].where == {"cc": ["reno"], "label.path": ["d"]}


@pytest.mark.parametrize(
    ("keys", "key", "said", "hint"),
    [
        ('metric = "goodput"', "metric", 'no metric "goodput"', '"goodput_bps"?'),
        ('metric = "goodput_bps"\nminimum = "2"', "minimum", "is not a tolerance", ""),
        ('metric = "goodput_bps"\nminimum = "2ms"', "minimum", '"ms" cannot be converted', "Mbit/s"),
        ('metric = "goodput_bps"\nwithin = "2ms"', "within", '"ms" cannot be converted', "Mbit/s"),
        (
            'metric = "loss"\nminimum = "5%"\nwithin = "2%"',
            "within",
            'less than the minimum, "5%"',
            "or more",
        ),
        ('metric = "goodput_bps"\nflow = "lonk"', "flow", 'no flow is named "lonk"', '"long"?'),
        ('metric = "goodput_bps"\nflow = "long"\nscope = "total"', "scope", "beside flow", "one of"),
        ('metric = "jain_index"\nflow = "long"', "flow", "not measured of single flows", "total"),
        ('metric = "loss"\nwhere = { cc = "bbrr" }', "where.cc", "is no value", '"bbr"?'),
        ('metric = "loss"\nwhere = { ccc = 1 }', "where.ccc", "is no factor", '"cc"?'),
        ('metric = "loss"\nminimun = "2%"', "minimun", "unknown key", '"minimum"?'),
    ],
)
def test_what_a_judge_gets_wrong(keys: str, key: str, said: str, hint: str) -> None:
    fault = faults(BASE + SWEEP + "[[judge]]\n" + keys + "\n")[f"judge.1.{key}"]
    assert said in fault.message
    assert hint in (fault.hint or "")


def test_a_guard_names_factors_that_there_are() -> None:
    fault = faults('guards = "{ccc} would stall"\n' + BASE + SWEEP)["guards"]
    assert fault.line == 1
    assert '"{ccc}" is no factor' in fault.message
    assert '"cc"?' in (fault.hint or "")


def test_a_judge_may_say_that_no_side_is_better_here() -> None:
    (cell,) = expand(scenario('[[judge]]\nmetric = "min_rtt_us"\nbetter = "none"\n'))
    assert cell.scenario.canonical()["judge"][0]["better"] == "none"
    wrong = faults(BASE + '[[judge]]\nmetric = "min_rtt_us"\nbetter = "lowest"\n')
    assert list(wrong) == ["judge.1.better"]


def test_without_a_vocabulary_names_of_what_is_measured_are_not_checked() -> None:
    text = BASE + '[[judge]]\nmetric = "goodput"\n'
    assert parse_scenario(text).judge[0].metric == "goodput"
    assert set(faults(text)) == {"judge.1.metric"}
