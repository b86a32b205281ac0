"""An agent that one clone built serves another of the same source, compiler, flags and words."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RELEASE = f"agent/target/{platform.machine()}-unknown-linux-gnu/release"
# It answers as a compiler and builds as cargo: the words that it was given are its program.
CARGO = """#!/bin/bash
case "$*" in
--version) exit ;;
-vV) echo "rustc ${COMPILER:-1}"; exit ;;
esac
profile=debug
case "$*" in *--release*) profile=release ;; esac
out=target/$(uname -m)-unknown-linux-gnu/$profile
mkdir -p $out/deps
echo "$*" > $out/rushhour-agent
echo "$*" >> built
"""


class Clone:
    """A tree of which agents are built."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        for folder in ("scripts", "agent/src", "src/rushhour/tc", "src/rushhour/traffic"):
            (root / folder).mkdir(parents=True)
        for kinds in ("tc", "traffic"):
            (root / "src/rushhour" / kinds / "kinds.json").write_text("[]")
        (root / "agent/src/main.rs").write_text("fn main() {}\n")
        shutil.copy(ROOT / "scripts/agent", root / "scripts")
        (root / "scripts/cargo").write_text(CARGO)
        (root / "scripts/cargo").chmod(0o755)

    def agent(self, *words: str, **environment: str) -> Path:
        """The place of the agent by these words."""
        told = os.environ | {"XDG_CACHE_HOME": str(self.cache)} | environment
        command = [str(self.root / "scripts/agent"), *words]
        return Path(subprocess.run(command, env=told, check=True, capture_output=True, text=True).stdout[:-1])

    @property
    def built(self) -> int:
        """How often cargo was asked to build."""
        told = self.root / "agent/built"
        return len(told.read_text().splitlines()) if told.is_file() else 0

    def forget(self) -> None:
        """Leave no trace of cargo's in the sources."""
        (self.root / "agent/built").unlink()


@pytest.fixture
def clones(tmp_path: Path) -> tuple[Clone, Clone]:
    """One that has built, and another of the same source that has not."""
    first, second = (Clone(tmp_path / name, tmp_path / "cache") for name in ("first", "the-second"))
    assert first.agent() == first.root / RELEASE / "rushhour-agent"
    assert first.built == 1
    return first, second


def test_another_clone_takes_what_one_has_built(clones: tuple[Clone, Clone]) -> None:
    first, second = clones
    for _ in range(2):
        taken = second.agent()
        assert taken == second.root / RELEASE / "rushhour-agent"
        assert taken.read_bytes() == (first.root / RELEASE / "rushhour-agent").read_bytes()
    assert second.built == 0


@pytest.mark.parametrize("flags", [{"COMPILER": "2"}, {"RUSTFLAGS": "-g"}])
def test_another_compiler_or_flag_builds_anew(clones: tuple[Clone, Clone], flags: dict[str, str]) -> None:
    _, second = clones
    second.agent(**flags)
    assert second.built == 1


@pytest.mark.parametrize("file", ["agent/src/main.rs", "src/rushhour/tc/kinds.json"])
def test_another_source_builds_anew(clones: tuple[Clone, Clone], file: str) -> None:
    _, second = clones
    (second.root / file).write_text("other\n")
    second.agent()
    assert second.built == 1


def test_cargo_is_asked_where_it_has_built(clones: tuple[Clone, Clone]) -> None:
    first, _ = clones
    first.agent()
    assert first.built == 2


def test_other_words_make_another_that_never_takes_the_place_of_the_one_that_ships(
    clones: tuple[Clone, Clone],
) -> None:
    first, second = clones
    first.forget()
    other = first.agent("--features", "disturb")
    ships = (first.root / RELEASE / "rushhour-agent").read_text()
    assert other.read_text() == "build -q --locked --features disturb\n"
    assert ships == "build -q --release --locked\n"
    assert second.agent("--features", "disturb") == other
    assert second.agent().read_text() == ships
    assert second.built == 0


def test_without_a_cache_it_is_built_all_the_same(clones: tuple[Clone, Clone], tmp_path: Path) -> None:
    _, second = clones
    (tmp_path / "file").write_text("")
    second.cache = tmp_path / "file"
    second.agent()
    assert second.agent("--features", "disturb").parent.name == "debug"
    assert second.built == 2


def test_without_cargo_it_says_so_and_nothing_is_taken(clones: tuple[Clone, Clone]) -> None:
    _, second = clones
    (second.root / "scripts/cargo").write_text("#!/bin/sh\necho none >&2\nexit 127\n")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        second.agent()
    assert failed.value.returncode == 127
    assert failed.value.stderr == "none\n"
