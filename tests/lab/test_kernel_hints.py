"""What is proposed for a word that names no kernel: a command that does not refuse its own words."""

import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from little_tree import make_tree

from rushhour.cli import cli
from rushhour.debug import core as debugged
from rushhour.debug.again import Again
from rushhour.errors import KernelError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store
from rushhour.record.document import read
from rushhour.record.manifest import Kernel


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


@pytest.mark.parametrize(
    ("source", "apart"),
    [
        ("debian:6.12", ("debian:6.12", [], [])),
        ("/a b --with kasan --with tcp_a b.c", ("/a b", ["kasan", "tcp_a b.c"], [])),
        ("debian:6.12 --patch a b.patch --patch c.patch", ("debian:6.12", [], ["a b.patch", "c.patch"])),
        ("/l --with kasan --patch a.patch", ("/l", ["kasan"], ["a.patch"])),
    ],
)
def test_a_source_is_taken_apart_by_what_was_given_beside_it(source: str, apart: object) -> None:
    assert kernels.taken_apart(source) == apart


def test_the_symbols_of_a_patched_kernel_are_compiled_with_its_patches(
    tmp_path: Path,
) -> None:
    patch = tmp_path / "0001-two.patch"
    patch.write_text("--- a/one.c\n+++ b/one.c\n@@ -1 +1 @@\n-int one;\n+int one = 2;\n")
    built = kernels.build(str(make_tree(tmp_path / "little")), patches=[str(patch)])
    about = read(Kernel, built.identity, "identity")
    nothing: Any = None
    one = Again(tmp_path, nothing, nothing, {}, about, 0)
    symbols = debugged._kernel(one, lambda _: None, build=True)
    assert symbols.identity["image_sha256"] == built.identity["image_sha256"]
    facts = symbols.identity["source"]
    assert (facts["sanitizers"], facts["patches"]) == ("symbols", patch.name)
