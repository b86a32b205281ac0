"""The TAB key: what is offered is what there is, without loading a model, and real shells put it in."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from commandline import HEAVY, rush
from shells import SETUP, Shell

from rushhour import spec
from rushhour.cli import COMMANDS, SUMMARIES, cli, complete, grouped, names
from rushhour.metrics.catalog import METRICS
from rushhour.spec.keys import put

SCENARIO = '[topology]\npreset = "dumbbell"\n[[flow]]\nname = "bbr"\ncc = "bbr"\n[[flow]]\nname = "far"\n'


def offered(line: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    complete.answer(line)
    lines = capsys.readouterr().out.splitlines()
    return dict(line.partition("\t")[::2] for line in lines)


def test_the_names_are_those_of_the_catalogue() -> None:
    assert set(names.scenarios()) == set(spec.catalogue())
    assert set(names.studies()) == set(spec.studies())
    for name in names.scenarios():
        assert names.title(name) == spec.load_scenario(name).title
    for word in names.short():
        assert len(spec.find_in_catalogue(word)) == 1


def test_the_metrics_are_those_of_the_catalogue() -> None:
    assert list(names.metrics()) == list(METRICS), "run: python docs/generate.py"
    assert all(names.metrics().values())


def test_every_key_that_is_offered_can_be_set() -> None:
    document = names.document("window-scaling")
    keys = names.keys(document)
    assert {"topology.rate", "flow.short.start", "flow.*.cc", "cc", "duration", "readings.tcp_probe"} <= set(
        keys
    )
    # Some keys of all flows belong to kinds of flow that this scenario has none of.
    for key in (key for key in keys if not key.startswith("flow.*.")):
        put(document, {key: "1"})
    assert all(about for key, about in keys.items())


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("rushhour ru", "run"),
        ("rushhour kernel b", "build"),
        ("rushhour run --q", "--quick"),
        ("rushhour run three", "three-buffers"),
        ("rushhour run fairness/three", "fairness/three-buffers"),
        ("rushhour show ./", "./mine.toml"),
        ("rushhour run mine.toml aq", "aqm"),
        ("rushhour run --lab n", "netns"),
        ("rushhour kernel build debian:6.12", "debian:6.12"),
        ("rushhour history goodput_st", "goodput_steady_bps"),
        ("rushhour bisect suite/cubic cwnd_m", "cwnd_mean_segments"),
        ("rushhour run mine.toml --set topology.ra", "topology.rate="),
        ("rushhour run --set=topology.ra", "--set=topology.rate="),
        ("rushhour run mine.toml --set flow.f", "flow.far."),
        ("rushhour run mine.toml --set flow.far.c", "flow.far.cc="),
        ("rushhour profile show tom", "tomasov"),
        ("rushhour report res", "results/"),
        ("rushhour report --format sv", "svg"),
        ("rushhour help kern", "kernel"),
        ("rushhour help sce", "scenario"),
        ("rushhour new --like latec", "latecomers"),
        ("rushhour completion f", "fish"),
    ],
)
def test_what_may_stand_there_is_offered(
    line: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text(SCENARIO)
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    found = offered(line, capsys)
    assert word in found
    typed = line.rsplit(maxsplit=1)[-1]
    assert all(other.startswith(typed) for other in found)


def test_kernels_and_baselines_are_offered_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "rushhour/baselines/stable").mkdir(parents=True)
    (tmp_path / "rushhour/baselines/stable/name.json").write_text("{}")
    monkeypatch.setattr("rushhour.lab.kernel.installed", list)
    assert "stable" in offered("rushhour compare st", capsys)
    assert "stable" in offered("rushhour baseline show s", capsys)
    assert "stable" in offered("rushhour baseline delete other s", capsys)
    assert offered("rushhour kernel show x", capsys) == {}


@pytest.mark.parametrize(
    "line", ["", "rushhour nonsense --x ", "rushhour run 'a", "rushhour \\", "rushhour run \x00"]
)
def test_a_strange_line_is_answered_in_peace(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    offered(line, capsys)
    assert capsys.readouterr().err == ""


def test_names_come_without_a_model_or_an_array() -> None:
    code = "import sys; from rushhour.cli import main; main(); print(*sys.modules, file=sys.stderr)"
    paths = os.pathsep.join(sys.path)
    for line in ("rushhour run tom", "rushhour run tomasov/window-scaling --set flow.", "rushhour history g"):
        env = os.environ | {"PYTHONPATH": paths, "_RUSHHOUR_COMPLETE": line}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout.startswith(line.split()[-1])
        assert not {name.partition(".")[0] for name in done.stderr.split()} & set(HEAVY)


@pytest.mark.parametrize("shell", list(SETUP))
def test_a_real_shell_completes(shell: str, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "there"
    home.mkdir()
    folder.mkdir()
    (folder / "mine.toml").write_text(SCENARIO)
    (folder / "with space").mkdir()
    with Shell(shell, folder, home) as there:
        assert there.completed("rushhour ru") == "rushhour run "
        assert there.completed("rushhour run three-b") == "rushhour run three-buffers "
        assert there.completed("rushhour run min") == "rushhour run mine.toml "
        assert there.completed("rushhour kernel build debian:6.12") == "rushhour kernel build debian:6.12 "
        line = "rushhour run mine.toml --set topology."
        assert there.completed(f"{line}ra") == f"{line}rate="
        assert (
            there.completed("rushhour run mine.toml --set=flow.b") == "rushhour run mine.toml --set=flow.bbr."
        )
        assert there.completed("rushhour report with") == "rushhour report with\\ space/"
        assert there.completed("rushhour nonsense x") == "rushhour nonsense x"


def every(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield (*words, name)
        if isinstance(found, click.Group):
            yield from every(found, (*words, name))


@pytest.mark.parametrize("words", list(every(cli)), ids=" ".join)
def test_help_is_the_page_of_the_command(words: tuple[str, ...]) -> None:
    done = rush("help", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == rush(*words, "--help").stdout


def test_help_of_a_topic_is_the_document() -> None:
    assert rush("help", "scenario").stdout.startswith("# ")
    assert "| `topology.rate`" in rush("help", "scenario").stdout or "rate" in rush("help", "scenario").stdout
    assert "goodput_share" in rush("help", "metrics").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "Did you mean 'run'?"),
        (["kernel", "lst"], "Did you mean 'list'?"),
        (["help", "comapre"], "Did you mean 'compare'?"),
        (["help", "kernel", "bild"], "Did you mean 'build'?"),
        (["help", "run", "x"], "'rushhour run' has no commands of its own."),
        (["run", "--quikc", "x"], "Did you mean '--quick'?"),
        (["run", "window-scalng"], 'did you mean "window-scaling"?'),
        (["window-scaling"], "To run a scenario: rushhour run window-scaling"),
        (["xyzzy"], "'rushhour help' shows all."),
    ],
)
def test_a_mistyped_word_gets_what_was_meant(words: list[str], said: str) -> None:
    done = rush(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_the_first_page_has_every_command_once_with_what_it_says_of_itself() -> None:
    names_of = [name for members in grouped().values() for name in members]
    assert sorted(names_of) == sorted(COMMANDS)
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(200) == SUMMARIES[name]
    assert all(f"  {name:<11}  {SUMMARIES[name]}\n" in rush("help").stdout for name in names_of)
