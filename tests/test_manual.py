"""The manual page: of all commands and options, without a complaint of roff, and where `man` looks for it."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import click
import pytest
from test_tab import every

from rushhour.cli import cli
from rushhour.cli.manual import _text, render

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def page() -> str:
    """The page as a terminal shows it, without its bold letters."""
    assert shutil.which("groff"), "groff is not installed: scripts/setup --test"
    command = ["groff", "-K", "utf8", "-man", "-Tutf8", "-P-cbou", "-ww", "-rLL=100n"]
    done = subprocess.run(command, input=render(), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("words", list(every(cli)), ids=" ".join)
def test_every_command_with_its_options_is_in_it(words: tuple[str, ...], page: str) -> None:
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    if isinstance(command, click.Group):
        return
    begin = re.search(rf"^ +rushhour {' '.join(words)}$", page, re.MULTILINE)
    assert begin is not None
    end = re.search(r"^ {0,3}\S", page[begin.end() :], re.MULTILINE)
    assert end is not None
    told = page[begin.end() : begin.end() + end.start()]
    assert "Example: rushhour" in told
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.opts[-1] in told


def test_words_of_a_help_page_are_no_requests_of_roff() -> None:
    for line in (".venv", "'quoted' ~ `-x`", "back\\slash"):
        done = subprocess.run(
            ["groff", "-K", "utf8", "-man", "-Tutf8", "-P-cbou", "-ww"],
            input=f".TH X 1\n.PP\n{_text(line)}\n", capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert line in done.stdout
        assert done.stderr == ""


def test_a_wheel_puts_it_and_the_completions_where_they_are_looked_for() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {Path(place).parts[1] for place in wheel["shared-data"].values()} == {
        "man", "bash-completion", "zsh", "fish",
    }  # fmt: skip
    assert all((ROOT / source).is_file() for source in wheel["shared-data"])
