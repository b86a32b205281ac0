"""Distributions: which share is at most so great, what is counted, and how little of it is kept."""

import json
from pathlib import Path

import numpy as np
import pytest
from report_records import make_copies

from rushhour.record.result_set import ResultSet
from rushhour.report import figure as engine
from rushhour.report.figure.collect import Taken
from rushhour.report.figure.description import Plot
from rushhour.report.figure.distribution import MOST, build, shares
from rushhour.report.figure.paper import draw
from rushhour.spec.figure import Figure
from rushhour.spec.sweep import Sweep

SWEEP = Sweep({"cc": ["reno", "cubic"]})
SLOWDOWN = Figure.model_validate({"title": "S", "kind": "cdf", "y": "slowdown", "lines": ["cc"]})


def plot_of(figure: Figure, *samples: list[float], whole: bool = True) -> Plot:
    some = [
        Taken(n, n, 0, "group:mice", {"cc": cc, "flow": "mice"}, shares=shares(np.array(values), whole=whole))
        for n, (cc, values) in enumerate(zip(["reno", "cubic"], samples, strict=False))
    ]
    made = build(figure, SWEEP, some, ())
    assert made is not None
    return made


def test_each_value_is_a_step_of_its_share() -> None:
    found = shares(np.array([3.0, 1.0, 2.0, 1.0]), whole=True)
    assert found is not None
    assert (found.values.tolist(), found.shares.tolist()) == ([1, 2, 3], [0.5, 0.75, 1])


def test_a_flow_that_was_not_complete_counts_but_a_sample_without_a_value_does_not() -> None:
    samples = np.array([1.0, np.nan, 2.0, np.nan])
    whole, part = shares(samples, whole=True), shares(samples, whole=False)
    assert whole is not None
    assert part is not None
    assert (whole.shares.tolist(), whole.missing) == ([0.25, 0.5], 2)
    assert (part.shares.tolist(), part.missing) == ([0.5, 1.0], 0)
    assert shares(np.array([np.nan]), whole=True) is None
    plot = plot_of(SLOWDOWN, [1.0, np.nan], [2.0, 4.0])
    assert plot.notes == ("1 of 4 flows were not complete at the end: their lines stay below 100 %.",)
    assert plot.facets[0].traces[0].y[-1] == 0.5


def test_many_samples_keep_their_ends_and_every_share_to_a_pixel() -> None:
    samples = np.random.default_rng(1).pareto(1.2, 50_000)
    found = shares(samples, whole=True)
    assert found is not None
    assert len(found.values) <= MOST
    assert (found.values[0], found.values[-1], found.shares[-1]) == (samples.min(), samples.max(), 1)
    asked = np.quantile(samples, np.linspace(0.001, 0.999, 777))
    true = np.searchsorted(np.sort(samples), asked, side="right") / len(samples)
    drawn = found.shares[np.searchsorted(found.values, asked, side="right") - 1]
    assert np.max(np.abs(true - drawn)) < 1 / 398


@pytest.mark.parametrize(
    ("values", "scale", "log"),
    [
        ([1.0, 10.0, 100.0], None, True),
        ([10.0, 20.0], None, False),
        ([10.0, 20.0], "log", True),
        ([0.0, 1.0, 100.0], None, False),
        ([0.0, 1.0, 100.0], "log", True),
        ([0.0, 0.0], "log", False),
        ([5.0], None, False),
    ],
)
def test_the_axis_holds_every_value(values: list[float], scale: str | None, log: bool) -> None:
    plot = plot_of(SLOWDOWN.model_copy(update={"x_scale": scale}), values)
    (trace,) = plot.facets[0].traces
    assert plot.x.log is log
    assert np.all(np.diff(trace.x) >= 0)
    assert (trace.x[0], trace.x[-1]) == (0, 1)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place, _ in plot.x.ticks)
    if not log or min(values) > 0:
        # Where a tick says a value lies, the trace has it.
        low, high = plot.x.low, plot.x.high
        back = low * (high / low) ** trace.x if log else low + (high - low) * trace.x
        assert all(np.any(np.isclose(back, value)) for value in values)


def test_a_logarithmic_axis_has_its_unit_and_round_ticks() -> None:
    figure = SLOWDOWN.model_copy(update={"y": "flow_completion_time_us"})
    plot = plot_of(figure, [2e3, 9e5], [5e3, 1e6])
    assert plot.x.label == "Flow completion time, s (logarithmic)"
    assert [word for _, word in plot.x.ticks] == [
        "0.002",
        "0.005",
        "0.01",
        "0.02",
        "0.05",
        "0.1",
        "0.2",
        "0.5",
        "1",
    ]
    assert plot.y.label == "Share of flows, %"


def test_the_samples_of_a_series_are_those_of_the_records(tmp_path: Path) -> None:
    make_copies(tmp_path / "set", [{"cc": "reno"}, {"cc": "cubic"}], seconds=6)
    figure = {
        "title": "Round trips",
        "kind": "cdf",
        "y": "srtt_us",
        "flow": "long",
        "lines": ["cc"],
        "from": "2s",
    }
    about = {"scenario": {"resolved": {"figure": [figure], "sweep": {"cc": ["reno", "cubic"]}}}}
    (tmp_path / "set" / "set.json").write_text(json.dumps(about))
    results = ResultSet.open(tmp_path / "set")
    (plot,) = engine.figures_of(results)
    assert isinstance(plot, Plot)
    series = next(iter(results)).series("srtt_us", flow="long")
    values = series.values[(series.t_s >= 2) & np.isfinite(series.values)]
    trace = plot.facets[0].traces[0]
    middle = plot.x.low + (plot.x.high - plot.x.low) * trace.x[np.searchsorted(trace.y, 0.5)]
    assert not plot.x.log
    assert middle == pytest.approx(np.median(values), rel=0.02)
    assert "Share of samples" in draw(plot, "svg").decode()
