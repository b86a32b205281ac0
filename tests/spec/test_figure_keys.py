"""Figures and labels of a scenario: what they may name, and what is said where they name something else."""

import pytest
from scenarios import BASE, faults, scenario

from rushhour.plan import expand, lower
from rushhour.spec import cells, parse_scenario

SWEEP = """
[sweep]
cc = ["cubic", "reno"]
[[sweep.together]]
"topology.rate" = ["10mbit", "20mbit", "30mbit"]
"label.load" = [1.2, 0.6, 0.4]
"""
FIGURE = '[[figure]]\ntitle = "One"\n'


def test_a_label_names_a_cell_and_sets_nothing() -> None:
    found = expand(scenario(SWEEP))
    assert [cell.factors["label.load"] for cell in found] == [1.2, 0.6, 0.4] * 2
    plain = expand(scenario(SWEEP.replace('"label.load" = [1.2, 0.6, 0.4]', "")))
    plans = [[lower(cell.scenario, 1).plan for cell in some] for some in (found, plain)]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    ("values", "said"),
    [("[true, false, 1]", "found True"), ('["a", "", "b"]', "found ''"), ("[1, 2, nan]", "found nan")],
)
def test_a_label_is_a_number_or_a_short_text(values: str, said: str) -> None:
    found = faults(BASE + SWEEP.replace("[1.2, 0.6, 0.4]", values))
    assert any(said in fault.message for fault in found.values())


def test_a_label_has_a_plain_name() -> None:
    (fault,) = faults(BASE + '[sweep]\n"label.a b" = [1, 2]\n').values()
    assert "a label has a name" in fault.message


def test_a_label_cannot_be_set() -> None:
    (fault,) = faults(BASE + SWEEP, ("label.load=1.2",)).values()
    assert "names cells of a sweep" in fault.message


def test_labels_whose_factor_is_set_vary_no_longer() -> None:
    fixed = scenario(SWEEP, sets=("topology.rate=5mbit",))
    assert list(fixed.sweep.values) == ["cc"]


@pytest.mark.parametrize(
    ("keys", "key", "said", "hint"),
    [
        ('y = "losss"\nx = "cc"', "y", 'there is no metric "losss"', 'did you mean "loss"?'),
        ('y = "snd_cwd"', "y", 'there is no series "snd_cwd"', 'did you mean "snd_cwnd"?'),
        ('y = "srtt_us"\nx = "cc"', "y", "is a series over time", "leave x out"),
        ('y = "utilization"', "y", "one number of a run", "give x"),
        ('y = "jain_index"\nflow = "long"', "flow", "of all flows together", "leave it out"),
        ('y = "jain_index"\nlines = ["flow"]', "lines", "of all flows together, not of one flow", "leave"),
        ('y = "loss"\nx = "cc"\nwhere = { cc = [] }', "where.cc", "is an empty list", "name a value"),
        ('y = "loss"\nx = "topology.rat"', "x", "is no factor of the sweep", 'did you mean "topology.rate"?'),
        ('y = "loss"\nx = "flow"', "x", "is no factor of the sweep", "cc, topology.rate, label.load"),
        ('y = "loss"\nx = "cc"\nlines = ["flow", "buffer"]', "lines", '"buffer" is no factor', "flow, end"),
        ('y = "loss"\nx = "cc"\npanels = ["cc"]', "x", "stands twice", "one place"),
        ('y = "loss"\nx = "cc"\nmodel = ["mathiss"]', "model.1", "there is no model", '"mathis"?'),
        ('y = "loss"\nx = "cc"\nmodel = ["mathis"]', "model.1", "says nothing of loss", "overload"),
        ('y = "loss"\nx = "cc"\nwhere = { cc = "bbr" }', "where.cc", "is no value", "cubic, reno"),
        ('y = "loss"\nx = "cc"\nwhere = { ccc = 1 }', "where.ccc", "is no factor", '"cc"?'),
        ('y = "loss"\nx = "cc"\nx_scale = "log"', "x_scale", "are words", "leave it out"),
        ('y = "srtt_us"\nx_scale = "log"', "x_scale", "time has a linear axis", "leave"),
        ('y = "srtt_us"\nfrom = "5s"\nto = "5s"', "from", 'is not before to = "5s"', ""),
        ('y = "loss"\nx = "cc"\nto = "5s"', "to", "belongs to a time axis", "leave"),
        ('y = "loss"\nx = "cc"\nflow = "lonk"', "flow", 'no flow is named "lonk"', '"long"?'),
        ('y = "loss"\nx = "cc"\nflow = "long"\nscope = "total"', "scope", "beside flow", "one of them"),
        ('y = "loss"\nx = "cc"\nmetric = "loss"', "metric", 'belongs to kind = "matrix"', '"y"'),
        ('kind = "matrix"\ny = "cc"', "x", "is missing", "factor"),
        ('kind = "matrix"\nx = "topology.rate"\ny = "cc"', "metric", "is missing", "jain_index"),
        ('kind = "matrix"\nx = "cc"\ny = "topology.rate"\nmetric = "los"', "metric", "no metric", '"loss"'),
        (
            'kind = "matrix"\nx = "cc"\ny = "label.load"\nmetric = "loss"\nlines = ["topology.rate"]',
            "lines",
            'does not belong to kind = "matrix"',
            "panels",
        ),
        ('kind = "pie"\ny = "loss"', "kind", '"pie" is not allowed', "lines, matrix"),
        ('kind = "cdf"\ny = "slowdwn"', "y", 'no distribution of "slowdwn"', 'did you mean "slowdown"?'),
        ('kind = "cdf"\ny = "slowdown_p50"', "y", "no distribution of", '"slowdown"'),
        ('kind = "cdf"\ny = "slowdown"\nx = "cc"', "x", 'does not belong to kind = "cdf"', '"lines"'),
        ('kind = "cdf"\ny = "srtt_us"\nmodel = ["queue"]', "model", "does not belong", "upwards"),
        ('kind = "cdf"\ny = "srtt_us"\ny_scale = "log"', "y_scale", "does not belong", "upwards"),
        ('kind = "cdf"\ny = "slowdown"\nfrom = "1s"', "from", "whole flows", "after the warm-up"),
        ('kind = "cdf"\ny = "srtt_us"\nmetric = "loss"', "metric", 'belongs to kind = "matrix"', '"y"'),
        ('y = "loss"\nylabel = "x"', "ylabel", "unknown key", "y_scale"),
        ('y = "loss"\nx = "cc"\ny_scale = "logarithmic"', "y_scale", "not allowed", "linear, log"),
    ],
)
def test_what_a_figure_gets_wrong(keys: str, key: str, said: str, hint: str) -> None:
    text = BASE + SWEEP + FIGURE + keys + "\n"
    found = faults(text)
    fault = found[f"figure.1.{key}"]
    assert said in fault.message
    assert hint in (fault.hint or "")
    line = text.splitlines()[(fault.line or 0) - 1]
    assert line.startswith(key.partition(".")[0]) or line == "[[figure]]"


def test_a_figure_of_each_kind() -> None:
    made = scenario(
        SWEEP
        + FIGURE
        + 'y = "goodput_bps"\nx = "topology.rate"\nlines = ["cc"]\nmodel = ["mathis", "bdp"]\n'
        + FIGURE
        + 'y = "snd_cwnd"\nlines = ["topology.rate"]\nwhere = { "label.load" = [0.6, 0.4] }\n'
        + FIGURE
        + 'kind = "matrix"\nx = "cc"\ny = "label.load"\nmetric = "utilization"\n'
    )
    assert [figure.quantity for figure in made.figure] == ["goodput_bps", "snd_cwnd", "utilization"]
    assert parse_scenario(BASE + SWEEP).figure == ()


def test_cells_keep_the_expectations_that_are_about_them() -> None:
    more = (
        SWEEP
        + '[[expect]]\nmetric = "utilization"\nmin = 0.5\nwhere = { cc = "reno" }\n'
        + FIGURE
        + 'y = "srtt_us"\n'
    )
    found = list(cells(scenario(more)))
    assert [len(cell.expect) for _, cell in found] == [0, 0, 0, 1, 1, 1]
    assert not any(cell.figure for _, cell in found)


def test_what_is_set_is_no_factor_of_figures_and_expectations() -> None:
    more = (
        SWEEP
        + '[[expect]]\nmetric = "utilization"\nmin = 0.5\nwhere = { cc = "reno" }\n'
        + FIGURE
        + 'y = "loss"\nx = "label.load"\nlines = ["cc"]\n'
        + FIGURE
        + 'y = "srtt_us"\npanels = ["cc"]\nwhere = { "topology.rate" = "10mbit" }\n'
    )
    fixed = scenario(more, sets=("cc=reno",))
    assert [figure.lines for figure in fixed.figure] == [(), ()]
    assert len(fixed.expect) == 1
    assert not scenario(more, sets=("cc=bbr",)).expect
    # With the rate its label goes, and with it the figure that lies over it.
    other = scenario(more, sets=("topology.rate=10mbit",))
    assert [(figure.y, figure.where) for figure in other.figure] == [("srtt_us", {})]
