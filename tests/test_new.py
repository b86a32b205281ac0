"""`rushhour new`: the file is valid, with what stands in comments as well, and nothing is overwritten."""

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commandline import rush
from hypothesis import given
from hypothesis import strategies as st

from rushhour import spec
from rushhour.errors import UsageError
from rushhour.plan import expand
from rushhour.plan.draft import Draft, text

DRAFTS = [
    Draft(),
    Draft(flows=("reno",), buffer=("100p",)),
    Draft(flows=("cubic", "cubic", "vegas"), preset="star", queue=("fq_codel limit 1000 target 5ms",)),
    Draft(preset="chain", rate=("10mbit", "100mbit"), loss=("0%", "1%"), duration="5s"),
    Draft(vary=(("cc", ("cubic", "reno")), ("flow.bbr.start", ("0s", "5s")))),
]


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_draft_is_a_whole_scenario(draft: Draft) -> None:
    content = text(draft, "mine.toml")
    scenario = spec.parse_scenario(content)
    assert scenario.question.endswith("?")
    assert [flow["cc"] for flow in tomllib.loads(content)["flow"]] == list(draft.flows)
    cells = 1
    for _, values in draft.sweep:
        cells *= len(values)
    assert len(expand(scenario)) == cells
    assert content.startswith("# ")
    assert all(len(line) <= 120 and line == line.rstrip() for line in content.splitlines())
    assert "rushhour run mine.toml" in content


@pytest.mark.parametrize("draft", DRAFTS)
def test_what_is_a_comment_is_valid_without_the_mark(draft: Draft) -> None:
    head, _, body = text(draft, "mine.toml").partition("\n\n")
    assert all(line.startswith("#") for line in head.splitlines())
    keys = [line for line in body.splitlines() if line.startswith("# ") and ("= " in line or "[[" in line)]
    assert len(keys) >= 5
    opened = "\n".join(line.removeprefix("# ") if line in keys else line for line in body.splitlines())
    assert spec.parse_scenario(opened).expect


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_word_breaks_out_of_its_place(title: str, file: str) -> None:
    try:
        content = text(Draft(title=title, question="Why?"), file)
    except UsageError:
        return
    assert spec.parse_scenario(content).title == title


def test_faults_are_named_by_their_keys_and_nothing_is_written(tmp_path: Path) -> None:
    done = rush("new", "mine.toml", "--rate", "5mbits", "--vary", "flow.bbr.strat=1s,2s", cwd=tmp_path)
    assert done.returncode == 2
    assert 'topology.rate: "5mbits" is not a rate' in done.stderr
    assert "flow.bbr.strat" in done.stderr
    assert "nothing was written" in done.stderr
    assert not list(tmp_path.iterdir())


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    done = rush("new", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "scenario.toml\n")
    assert "rushhour run scenario.toml" in done.stderr
    assert (tmp_path / "scenario.toml").read_text() == text(Draft(), "scenario.toml")
    assert rush("new", "-", cwd=tmp_path).stdout == text(Draft(), "FILE")


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("mine")
    (tmp_path / "broken.toml").symlink_to("nowhere")
    for name in ("mine.toml", "mine", "broken"):
        done = rush("new", name, cwd=tmp_path)
        assert done.returncode == 2
        assert "the file exists already" in done.stderr
    assert (tmp_path / "mine.toml").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert "there is no such folder" in rush("new", "no/mine.toml", cwd=tmp_path).stderr


def test_a_copy_is_the_scenario_itself(tmp_path: Path) -> None:
    assert rush("new", "copy.toml", "--like", "window-scaling", cwd=tmp_path).returncode == 0
    assert (tmp_path / "copy.toml").read_text() == spec.find_scenario("window-scaling").file.read_text()
    # Its traces lie elsewhere: the copy holds what they say.
    assert rush("new", "trace.toml", "--like", "dynamic-congestion-trace", cwd=tmp_path).returncode == 0
    copied = spec.load_scenario(tmp_path / "trace.toml")
    assert copied.canonical() == spec.load_scenario("dynamic-congestion-trace").canonical()
    refused = rush("new", "x.toml", "--like", "window-scaling", "--rate", "1mbit", cwd=tmp_path)
    assert "takes no other options" in refused.stderr


def test_on_a_terminal_it_asks_and_asks_again(tmp_path: Path) -> None:
    keeper, terminal = pty.openpty()
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "dumb"}
    command = [sys.executable, "-m", "rushhour", "new", "asked.toml"]
    with os.fdopen(keeper, "r+b", buffering=0) as keys:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=env, stdin=terminal, stdout=terminal, stderr=terminal
        )
        os.close(terminal)
        keys.write(b"cubic, reno\n20mbits\n20mbit\n\n\nfq_codel\n10s\n")
        said = b""
        try:
            while chunk := keys.read(4096):
                said += chunk
        except OSError:  # the other side is closed
            pass
        assert process.wait(60) == 0
    assert b'"20mbits" is not a rate' in said
    scenario = spec.load_scenario(tmp_path / "asked.toml")
    assert [flow.name for flow in scenario.flow] == ["cubic", "reno"]
    assert scenario.topology is not None
    assert (str(scenario.topology.rate), scenario.topology.queue) == ("20mbit", "fq_codel")
    assert len(expand(scenario)) == 3


@pytest.mark.virtual
def test_the_file_runs_and_answers(tmp_path: Path) -> None:
    assert rush("new", "mine.toml", "--rate", "10mbit", "--duration", "2s", cwd=tmp_path).returncode == 0
    done = rush("run", "mine.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " of the goodput" in done.stdout
