"""What is proposed for a word that names no kernel: a command that does not refuse its own words."""

import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from rushhour.cli import cli
from rushhour.errors import KernelError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store


@pytest.fixture(autouse=True)
def _nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("my linux").mkdir()


@pytest.mark.parametrize(
    ("word", "proposed"),
    [
        ("mine", ["debian:6.12", "--name", "mine"]),
        ("results/x", ["debian:6.12"]),
        ("a b; rm -r .", ["debian:6.12"]),
        ("größer", ["debian:6.12"]),
        ("-x", ["debian:6.12"]),
        ("debian:6.1", ["debian:6.1"]),
        ("debian-6.1", ["debian:6.1"]),
        ("my linux", ["my linux"]),
        ("my linux@v6.12", ["my linux@v6.12"]),
    ],
)
def test_the_command_for_a_kernel_that_is_not_there_is_taken(word: str, proposed: list[str]) -> None:
    with pytest.raises(KernelError) as refused:
        kernels.find(word)
    words = shlex.split(str(refused.value.hint).removeprefix("to build one: "))
    assert words == ["rushhour", "kernel", "build", *proposed]
    given = _taken(cli, words[1:])
    assert given["name"] is None or store.can_name(given["name"])


def _taken(command: click.Command, words: list[str]) -> dict[str, Any]:
    """What a command understands of its words; groups are followed."""
    with command.make_context(command.name, words, resilient_parsing=False) as context:
        if not isinstance(command, click.Group):
            return context.params
        _, below, rest = command.resolve_command(context, words)
        assert below is not None
        return _taken(below, rest)


def test_a_source_with_what_was_given_beside_it_is_quoted_word_by_word() -> None:
    source = "/home/ann/my linux --with kasan --patch a b.patch"
    assert shlex.split(kernels.building(source, "--name", "x")) == [
        *("rushhour", "kernel", "build", "/home/ann/my linux"),
        *("--with", "kasan", "--patch", "a b.patch", "--name", "x"),
    ]
