"""How to reproduce: the commands and the scenario in a report make the same runs again."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from report_records import make_set

import rushhour
from rushhour.cli import cli
from rushhour.record.document import read
from rushhour.record.manifest import Kernel, Manifest
from rushhour.record.result_set import ResultSet
from rushhour.report.html import render
from rushhour.report.reproduce import build, reproduction, run_command
from rushhour.spec import parse_scenario

SCENARIO = """
title = "Short"
duration = "200ms"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
loss = "1%"
[[flow]]
name = "one"
[sweep]
cc = ["cubic", "reno"]
"""


def labelled(path: Path, **about: Any) -> ResultSet:
    """A set of two recorded runs with a `set.json` that says so."""
    make_set(path, [{"cc": "cubic"}, {"cc": "reno"}], seconds=6)
    canonical = parse_scenario(SCENARIO).canonical()
    document = {
        "format": "rushhour-set/1",
        "scenario": {"name": "mine", "title": "Short", "sha256": "e" * 64, "resolved": canonical},
        "kernels": [
            {"name": "debian-6.12", "source": {"kind": "git", "commit": "abc"}, "image_sha256": "f" * 64}
        ],
        "repeat": 3,
        "seed": 7,
        **about,
    }
    (path / "set.json").write_text(json.dumps(document))
    return ResultSet.open(path)


def test_the_command_says_all_that_was_asked(tmp_path: Path) -> None:
    asked = {"scenario": "mine.toml", "sets": ["flow.one.start=5 ms"], "kernels": [], "repeat": 3, "seed": 7}
    found = reproduction(labelled(tmp_path, asked={**asked, "quick": True, "file_sha256": "c" * 64}))
    commands = [command for _, command in found.commands]
    assert commands == [
        "rushhour kernel build TREE@abc --name debian-6.12",
        "rushhour run mine.toml --set 'flow.one.start=5 ms' --kernel debian-6.12 --repeat 3 --seed 7 --quick",
        "rushhour run mine.toml --kernel debian-6.12 --seed 7 --repeat 3",
    ]
    assert ("scenario file", "c" * 64) in found.facts
    assert ("kernel debian-6.12 image", "f" * 64) in found.facts
    assert parse_scenario(found.scenario) == parse_scenario(SCENARIO)


def test_a_set_of_an_older_program_still_says_how(tmp_path: Path) -> None:
    make_set(tmp_path, [{"cc": "cubic"}], seconds=6)
    found = reproduction(ResultSet.open(tmp_path))
    assert [command for _, command in found.commands] == [
        "rushhour run window-scaling.toml --kernel 6.12",
    ]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        (
            {"kind": "debian", "package": "linux-source-6.12", "version": "6.12.1-1~x"},
            "'debian:6.12@6.12.1-1~x' --train",
        ),
        ({"kind": "tarball", "file": "linux-7.0.tar.xz"}, "linux-7.0.tar.xz --train"),
        ({"kind": "tarball", "file": "l.tar", "with_files": "tcp_mine.c"}, "l.tar --with tcp_mine.c"),
        ({"kind": "tree", "directory": "linux"}, "linux"),
    ],
)
def test_every_source_of_a_kernel_has_its_command(source: dict[str, str], word: str) -> None:
    identity = {"source": source, "name": "mine"}
    plain = build(read(Kernel, identity, "here"))
    assert plain == f"rushhour kernel build {word.removesuffix(' --train')} --name mine"
    trained = build(read(Kernel, {**identity, "trained": "f" * 64}, "here"))
    assert trained == f"rushhour kernel build {word} --name mine"
    assert build(read(Kernel, {"source": {"kind": "other"}}, "here")) == ""


def test_the_command_of_one_run_gives_its_factors_as_they_are_read() -> None:
    factors = {"cc": "reno", "flow.one.count": 10, "ecn": True, "flow.one.to": "10", "sysctl.x": [1, 2]}
    named = {"scenario": {"name": "study/mine"}, "cell": {"factors": factors}, "kernel": {"name": "k"}}
    command = run_command(read(Manifest, {**named, "seed": 9, "files": {}, "context": {}}, "here"))
    words = shlex.split(command)
    assert words[:3] == ["rushhour", "run", "mine.toml"]
    assert words[3:13:2] == ["--set"] * 5
    assert words[4:14:2] == [
        "cc=reno",
        "flow.one.count=10",
        "ecn=true",
        'flow.one.to="10"',
        "sysctl.x=[1, 2]",
    ]
    assert words[13:] == ["--kernel", "k", "--seed", "9", "--repeat", "1"]


def test_the_page_has_the_commands_and_the_scenario(tmp_path: Path) -> None:
    page = render(labelled(tmp_path))
    assert "rushhour run mine.toml --kernel debian-6.12 --seed 7 --repeat 3" in page
    assert "[sweep]\ncc = [&#34;cubic&#34;, &#34;reno&#34;]" in page


@pytest.mark.virtual
def test_the_scenario_and_command_of_a_run_make_the_same_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    results = rushhour.run("mine.toml", repeat=2, seed=5, out="first")
    last = list(results)[-1]
    again = reproduction(results)
    assert last.factors == {"cc": "reno"}
    (tmp_path / again.file).write_text(again.scenario)
    words = shlex.split(run_command(last.manifest))[1:]
    done = CliRunner().invoke(
        cli, [*words, "--fresh", "--no-report", "--out", "second"], standalone_mode=False
    )
    assert done.exception is None, done.output
    (copy,) = ResultSet.open("second")
    assert copy.key == last.key
    raw = {name: value for name, value in last.manifest["files"].items() if name.startswith("raw/")}
    assert raw
    assert raw.items() <= copy.manifest["files"].items()
