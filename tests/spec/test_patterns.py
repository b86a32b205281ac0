"""Patterns: what they follow, what is wrong with them, traces and where they come from."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from scenarios import BASE, faults, scenario

from rushhour.errors import ScenarioError
from rushhour.spec import cells, parse_scenario
from rushhour.spec.course import Course, course
from rushhour.spec.load import load_scenario
from rushhour.spec.trace import TraceError, read_trace

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 10**9
MS = 10**6


def the_course(lines: str, seed: int = 1) -> Course:
    """The course of the only pattern beside a dumbbell of 30 s."""
    found = scenario(f"[[pattern]]\n{lines}\n")
    return course(found.pattern[0], found.span.ns, found.trace, seed)


def mean(changes: Course, span_ns: int) -> float:
    ends = [t_ns for t_ns, _ in changes[1:]] + [span_ns]
    return sum(value * (end - t_ns) for (t_ns, value), end in zip(changes, ends, strict=True)) / span_ns


def test_steps_are_instants_and_values_in_base_units() -> None:
    assert the_course('key = "rate"\nsteps = [["5s", "20mbit"], ["15s", "0bit"], ["16s", "1gbit"]]') == (
        (5 * SECOND, 2e7),
        (15 * SECOND, 0.0),
        (16 * SECOND, 1e9),
    )
    assert the_course('key = "loss"\nsteps = [["0s", "1%"], ["1s", 0.25]]') == ((0, 0.01), (SECOND, 0.25))


def test_what_does_not_change_is_no_change() -> None:
    assert the_course(
        'key = "delay"\nsteps = [["0s", "5ms"], ["1s", "5ms"], ["2s", "6ms"], ["40s", "7ms"]]'
    ) == (
        (0, 5e6),
        (2 * SECOND, 6e6),
    )


def test_steps_of_known_length_repeat() -> None:
    words = 'key = "rate"\nsteps = [["0s", "8mbit"], ["4s", "2mbit"]]\nlength = "10s"\nat_end = "repeat"'
    assert [t_ns // SECOND for t_ns, _ in the_course(words)] == [0, 4, 10, 14, 20, 24]
    assert len(the_course(words.replace("repeat", "hold"))) == 2


def test_a_sine_swings_around_its_mean() -> None:
    changes = the_course(
        'key = "rate"\nsine = { mean = "50mbit", amplitude = "30mbit", period = "10s", every = "100ms" }'
    )
    values = [value for _, value in changes]
    assert mean(changes, 30 * SECOND) == pytest.approx(5e7, rel=1e-7)
    # The greatest is that of an interval's middle, half of an interval beside the crest.
    crest = 5e7 + 3e7 * math.cos(2 * math.pi * 0.05 / 10)
    assert max(values) == pytest.approx(crest, rel=1e-6)
    assert values[10] == pytest.approx(5e7 + 3e7 * math.sin(2 * math.pi * 0.105), abs=1)
    assert all(b[0] - a[0] >= 100 * MS for a, b in pairwise(changes))


def test_a_sine_may_begin_anywhere() -> None:
    words = 'key = "delay"\nsine = { mean = "20ms", amplitude = "10ms", period = "10s", phase = 0.5 }'
    assert the_course(words)[1][1] < 2e7


def test_a_square_is_high_for_its_duty() -> None:
    changes = the_course(
        'key = "rate"\nsquare = { high = "8mbit", low = "2mbit", period = "10s", duty = 0.25 }'
    )
    assert changes[:3] == ((0, 8e6), (2_500_000_000, 2e6), (10 * SECOND, 8e6))
    assert mean(changes, 30 * SECOND) == 0.25 * 8e6 + 0.75 * 2e6


def test_a_ramp_ends_at_its_last_value() -> None:
    changes = the_course('key = "loss"\nramp = { from = "0%", to = "10%", over = "10s", every = "1s" }')
    assert changes[0][1] == pytest.approx(0.005)
    assert (changes[-1][0], changes[-1][1]) == (10 * SECOND, 0.1)
    assert mean(changes, 30 * SECOND) == pytest.approx((10 * 0.05 + 20 * 0.1) / 30)


def test_a_walk_is_seeded_and_stays_within_its_bounds() -> None:
    bounds = 'min = "1mbit", max = "9mbit"'
    words = f'key = "rate"\nwalk = {{ start = "5mbit", step = "4mbit", {bounds}, every = "10ms" }}'
    one, again, other = the_course(words), the_course(words), the_course(words, seed=2)
    assert one == again != other
    values = [value for _, value in one]
    assert len(values) == 3000
    assert 1e6 <= min(values) < 2e6
    assert 8e6 < max(values) <= 9e6
    assert all(abs(b - a) <= 4e6 + 1 for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("lines", "key", "message"),
    [
        ('key = "rate"', "1", "follows nothing"),
        (
            'key = "rate"\nsteps = [["0s", "1mbit"]]\nramp = { from = "1mbit", to = "2mbit" }',
            "1.ramp",
            "stands beside steps",
        ),
        ('key = "rate"\nsteps = []', "1.steps", "has no instant"),
        ('key = "rate"\nsteps = [["2s", "1mbit"], ["1s", "2mbit"]]', "1.steps.2", "does not come after"),
        ('key = "rate"\nsteps = [["0s", "20ms"]]', "1.steps.1.2", "unit of rate"),
        ('key = "loss"\nsteps = [["0s", "101%"]]', "1.steps.1.2", "more than 100 %"),
        ('key = "rate"\nsteps = [["0s", "1bit"]]', "1.steps", "carries nothing"),
        ('key = "rate"\nsteps = [["0s", "0bit"], ["1s", "1mbit"]]', "1.steps", "begins with an outage"),
        (
            'key = "rate"\nsteps = [["1s", "1mbit"], ["1000100us", "2mbit"]]',
            "1.steps",
            "1000 ms and 1000.1 ms",
        ),
        (
            'key = "rate"\nsteps = [["1s", "1mbit"]]\nlength = "10s"',
            "1.steps",
            "lasts 10 s, the experiment 30 s",
        ),
        ('key = "rate"\nsteps = [["1s", "1mbit"]]\nat_end = "repeat"', "1.at_end", "no length"),
        ('key = "rate"\nsteps = [["9s", "1mbit"]]\nlength = "5s"', "1.length", "ends before the last step"),
        (
            'key = "delay"\nsine = { mean = "5ms", amplitude = "6ms", period = "1s" }',
            "1.sine.amplitude",
            "more than the mean",
        ),
        (
            'key = "delay"\nsine = { mean = "5ms", amplitude = "1ms", period = "1s", every = "1us" }',
            "1.sine.every",
            "not between",
        ),
        ('key = "jitter"\nsteps = [["0s", "5s"]]', "1.steps", "more than a wire can do"),
        (
            'key = "rate"\nlink = "left-wright"\nsteps = [["0s", "1mbit"]]',
            "1.link",
            'no link is named "left-wright"',
        ),
        ('key = "rtt"\ndirection = "forward"\nsteps = [["0s", "1ms"]]', "1.direction", "whole path"),
        ('key = "rate"\nevery = "1s"\nsteps = [["0s", "1mbit"]]', "1.every", "means nothing"),
        ('key = "rate"\nsin = { mean = "1mbit" }', "1.sin", "unknown key"),
        (
            'key = "rate"\nsine = { mean = "1mbit", amplitude = "1mbit", peroid = "1s" }',
            "1.sine.peroid",
            "unknown key",
        ),
        ('key = "rate"\ntrace = "lte.csv"', "1.trace", "no folder"),
        ('key = "rate"\nsteps = [["40s", "5mbit"], ["41s", "6mbit"]]', "1.steps", "begins at 40 s"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(lines: str, key: str, message: str) -> None:
    found = faults(f"{BASE}[[pattern]]\n{lines}\n")
    assert message in found[f"pattern.{key}"].message, found


def test_two_patterns_of_one_name_are_refused() -> None:
    two = 2 * '[[pattern]]\nkey = "loss"\nsteps = [["1s", "1%"]]\n'
    assert "already the name" in faults(BASE + two)["pattern.2.name"].message


def test_a_graph_says_which_link_changes() -> None:
    graph = """duration = "5s"
[[link]]
between = ["a", "m"]
rate = "10mbit"
[[link]]
between = ["m", "b"]
[[flow]]
[[pattern]]
key = "rate"
steps = [["1s", "1mbit"]]
"""
    assert "which of the links" in faults(graph)["pattern.1.link"].message
    named = graph + 'link = "m-b"\n'
    assert "has no rate" in faults(named)["pattern.1.link"].message


def test_keys_of_patterns_are_factors() -> None:
    swept = scenario(
        '[[pattern]]\nname = "swing"\nkey = "rate"\n'
        'sine = { mean = "50mbit", amplitude = "1mbit", period = "1s" }\n[sweep]\n'
        '"pattern.swing.sine.amplitude" = ["10mbit", "20mbit"]\n"pattern.swing.direction" = ["forward"]\n'
    )
    found = [cell.pattern[0] for _, cell in cells(swept)]
    assert [pattern.sine.amplitude for pattern in found if pattern.sine] == ["10mbit", "20mbit"]
    assert {pattern.direction for pattern in found} == {"forward"}


def test_columns_of_a_trace_have_units() -> None:
    text = "# a drive\ntime_ms, rate_kbit\n0, 800\n100, 1200.5\n\n250, 0\n"
    assert read_trace(text, "rate", MS) == ([(0, 8e5), (100 * MS, 1_200_500.0), (250 * MS, 0.0)], 400 * MS)
    assert read_trace("time_s\tloss_%\n0\t2.5\n", "loss", MS)[0] == [(0, 0.025)]


def test_packets_of_a_trace_are_counted() -> None:
    # Three packets in the first 10 ms, none in the next ten, one at the very end.
    changes, length = read_trace("1\n1\n10\n25\n", "rate", 10 * MS)
    assert length == 25 * MS
    packet = 1504 * 8
    assert changes == [(0, 3 * packet * 100.0), (10 * MS, 0.0), (20 * MS, packet * 200.0)]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "empty"),
        ("time,rate\n", 1, "not a header"),
        ("time_s,delay_ms\n0,1\n", 1, "not the header of a rate"),
        ("time_s,rate_mbit\n", 1, "no lines"),
        ("time_s,rate_mbit\n0,1\n1,x\n", 3, "not a number"),
        ("time_s,rate_mbit\n0,1\n1,-2\n", 3, "negative"),
        ("time_s,rate_mbit\n0,1\n0,2\n", 3, "does not come after"),
        ("time_s,rate_mbit\n0,1,2\n", 2, "not a time and a value"),
        ("5\n4\n", 2, "comes before"),
        ("5\nx\n", 2, "whole number"),
        ("²\n", 1, "not a header"),
        ("5\n²\n", 2, "whole number"),
        ("9" * 5000 + "\n", 1, "whole number"),
        ("1\n999999999999999\n", 2, "more than 1000 h"),
        ("time_s,rate_mbit\n0,1e999999\n", 2, "not a number"),
        ("time_s,rate_mbit\n0,1\n1e400,2\n", 3, "not a number"),
        ("time_s,rate_mbit\n0,1\n1e9,2\n", 3, "more than 1000 h"),
        ("time_s,rate_mbit\n0,1e90\n", 2, "a rate of 1e90 is more than"),
        ("time_s,rate_mbit\n0,inf\n", 2, "not a number"),
    ],
)
def test_a_wrong_line_of_a_trace_is_named(text: str, line: int, message: str) -> None:
    with pytest.raises(TraceError, match=message) as refused:
        read_trace(text, "rate", 10 * MS)
    assert refused.value.line == line


@pytest.mark.parametrize("space", ["\N{NO-BREAK SPACE}", " "])
@pytest.mark.parametrize(
    "place", ["{}!,!", "time_s{}!", "time_s,rate_mbit\n1{}!,!", "time_s,rate_mbit\n1,{}!,"]
)
def test_long_lines_of_a_trace_are_read_once(space: str, place: str) -> None:
    # What is looked at again from each place of half a million takes hours: no clock is needed to see it.
    with pytest.raises(TraceError):
        read_trace(place.format(space * 500_000), "rate", 10 * MS)


def test_a_packet_after_a_long_pause_takes_no_room() -> None:
    changes, length = read_trace("1\n3599999999\n", "rate", MS)
    assert len(changes) == 3
    assert length == 3_599_999_999 * MS


TRACED = f'{BASE}[[pattern]]\nname = "drive"\nkey = "rate"\ntrace = "lte.csv"\nat_end = "repeat"\n'


def test_a_trace_becomes_part_of_the_scenario(tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(TRACED)
    (tmp_path / "lte.csv").write_text("time_s,rate_mbit\n0,10\n1,20\n")
    loaded = load_scenario(file)
    (tmp_path / "lte.csv").unlink()
    again = parse_scenario(f'{TRACED}[trace]\n"lte.csv" = "time_s,rate_mbit\\n0,10\\n1,20\\n"\n')
    assert again.sha256() == loaded.sha256()
    assert len(course(loaded.pattern[0], loaded.span.ns, loaded.trace, 1)) == 30


def test_traces_can_be_a_factor(tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(f'{TRACED}[sweep]\n"pattern.drive.trace" = ["a.csv", "b.csv"]\n')
    for name in ("lte.csv", "a.csv", "b.csv"):
        (tmp_path / name).write_text("time_s,rate_mbit\n0,10\n1,20\n")
    assert [cell.pattern[0].trace for _, cell in cells(load_scenario(file))] == ["a.csv", "b.csv"]


def test_a_missing_trace_and_a_wrong_line_are_said(tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(TRACED)
    (tmp_path / "ltf.csv").write_text("time_s,rate_mbit\n0,10\n1,oops\n")
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file)
    (fault,) = refused.value.faults
    assert (fault.line, fault.hint) == (12, 'did you mean "ltf.csv"? there is: ltf.csv')
    file.write_text(TRACED.replace("lte", "ltf"))
    with pytest.raises(ScenarioError, match='line 3: "oops" is not a number'):
        load_scenario(file)


@pytest.mark.parametrize("leads", ["lte.csv", "in/lte.csv"])
def test_a_link_leads_a_trace_nowhere_else(leads: str, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/lte.csv").write_text("sesame:hash\n")
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "lte.csv").symlink_to("../secret/lte.csv")
    (folder / "in").symlink_to("../secret")
    (folder / "traced.toml").write_text(TRACED.replace("lte.csv", leads))
    with pytest.raises(ScenarioError, match="leads out of") as refused:
        load_scenario(folder / "traced.toml")
    assert "sesame" not in str(refused.value)


def test_a_link_within_the_folder_and_one_in_a_circle(tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(TRACED)
    (tmp_path / "lte.csv").symlink_to("real.csv")
    (tmp_path / "real.csv").write_text("time_s,rate_mbit\n0,10\n1,20\n")
    assert load_scenario(file).trace["lte.csv"].startswith("time_s")
    (tmp_path / "real.csv").unlink()
    (tmp_path / "real.csv").symlink_to("lte.csv")
    with pytest.raises(ScenarioError, match="there is no file"):
        load_scenario(file)


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret.csv", "a/../../b"])
def test_a_trace_lies_within_the_scenarios_folder(name: str, tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(TRACED.replace("lte.csv", name))
    with pytest.raises(ScenarioError, match="leads out of"):
        load_scenario(file)
