"""The nightly job: its script carried out on a real repository; what judges is played by a small program."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from little_tree import commit, git

from rushhour.ci import Settings, job_files, write
from rushhour.cli.ci import ci

# Says what the file `answer` says, with the exit code before it, and writes down what it was asked.
PLAYED = """#!/bin/bash
printf '%s\\n' "$*" >>{folder}/asked
[ "$1" = check ] || [ "$1 $2" = "kernel build" ] || exit 0
[ -e {folder}/slow ] && {{ echo $$ >{folder}/slow; exec sleep 60; }}
for word; do [ "$last" = --out ] && mkdir -p "$word/abc"; last=$word; done
read -r code said <{folder}/answer
echo; echo "$said"; echo "$said" >&2
exit "$code"
"""


class Nights:
    """A repository, the job, and what is answered tonight."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder, folder / "linux"
        git(folder, "init", "-q", "-b", "master", "linux")
        commit(self.tree, "first", one__c="1")
        (folder / "bin").mkdir()
        (folder / "bin/rushhour").write_text(PLAYED.format(folder=folder))
        (folder / "bin/rushhour").chmod(0o755)
        write("nightly", Settings(tree=str(self.tree), sanitizers=("kasan",), place=folder), folder)
        self.job = folder / "nightly"

    def begin(self) -> subprocess.Popen[str]:
        """A night that goes on."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        return subprocess.Popen(
            [self.job / "rushhour.sh"],
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def night(self, answer: str) -> tuple[int, str]:
        """One night; its exit code and its line."""
        (self.folder / "answer").write_text(f"{answer}\n")
        done = self.begin()
        said, self.told = done.communicate(timeout=60)
        assert said.count("\n") == 1, said + self.told
        return done.returncode, said.strip()

    def asked(self, word: str) -> list[str]:
        """What was asked for so far, of commands that begin with this word."""
        return [line for line in (self.folder / "asked").read_text().splitlines() if line.startswith(word)]

    def head(self) -> str:
        """Today's revision."""
        return git(self.tree, "rev-parse", "HEAD")


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    made = Nights(tmp_path)
    assert made.night("0 built")[0] == 0
    return made


def test_the_first_night_runs_and_the_second_is_judged_by_it(nights: Nights) -> None:
    first = nights.head()
    # As `check` calls it: else one image would be two kernels of the history, each with its own seeds.
    named = f"check-{first[:12]}"
    assert nights.asked("kernel build")[0].endswith(f"tree.git@{first} --name {named} --aside")
    assert len(nights.asked(f"run suite --quick --no-report --kernel {named} ")) == 1
    commit(nights.tree, "second", one__c="2")
    code, said = nights.night("1 Worse: suite/slow-start, cc=cubic: less; 3 of 188 cells differ.")
    assert code == 1
    assert said == (
        f"master {nights.head()[:12]}, after {first[:12]}: "
        "Worse: suite/slow-start, cc=cubic: less; 3 of 188 cells differ."
    )
    (asked,) = nights.asked("check")
    assert asked.startswith(f"check tree.git --base {first} --at-once --committed --all --out results/")
    assert asked.endswith(" --with kasan")
    assert f"--good {first} --bad {nights.head()} suite/slow-start" in nights.told
    assert len(nights.asked("db import")) == 1
    assert len(nights.asked("history goodput_bps suite")) == 2


def test_what_was_judged_is_not_judged_again(nights: Nights) -> None:
    commit(nights.tree, "second", one__c="2")
    once = nights.night("3 Inconclusive: who knows.")
    assert nights.night("0 Same.") == once
    assert len(nights.asked("check")) == 1


def test_a_broken_tree_is_told_and_the_next_is_judged_by_the_last_that_ran(nights: Nights) -> None:
    good = nights.head()
    commit(nights.tree, "broken", one__c="nonsense")
    code, said = nights.night("1 It does not build: one.c:1: error: nonsense")
    assert code == 1
    assert said.endswith("It does not build: one.c:1: error: nonsense")
    commit(nights.tree, "mended", one__c="3")
    assert nights.night("0 Same.")[0] == 0
    assert f"--base {good} " in nights.asked("check")[1]
    commit(nights.tree, "next", one__c="4")
    before = git(nights.tree, "rev-parse", "HEAD~1")
    assert nights.night("0 Same.")[0] == 0
    assert f"--base {before} " in nights.asked("check")[2]


def test_a_night_that_could_judge_nothing_is_tried_again(nights: Nights) -> None:
    commit(nights.tree, "second", one__c="2")
    code, said = nights.night("2 no space left")
    assert code == 2
    assert said.endswith(".log: no space left")
    assert nights.night("0 Same.")[0] == 0
    nights.tree.rename(nights.folder / "elsewhere")
    code, said = nights.night("0 Same.")
    assert code == 2
    assert said.startswith("master: it cannot be fetched: ")


def test_a_full_disk_is_no_tree_that_does_not_build(tmp_path: Path) -> None:
    made = Nights(tmp_path)
    code, said = made.night("2 no space left")
    assert code == 2
    assert said.endswith(".log: no space left")
    code, said = made.night("1 one.c: error")
    assert code == 1
    assert "It does not build: see " in said
    commit(made.tree, "mended", one__c="3")
    assert made.night("0 built")[0] == 0


def test_a_code_without_a_sentence_is_no_answer(nights: Nights) -> None:
    commit(nights.tree, "second", one__c="2")
    assert nights.night("1")[0] == 2
    assert nights.night("0 Same.")[0] == 0


def test_a_night_that_is_ended_ends_what_it_began(nights: Nights) -> None:
    commit(nights.tree, "second", one__c="2")
    slow = nights.folder / "slow"
    slow.touch()
    going = nights.begin()
    for _ in range(100):
        if slow.read_text():
            break
        time.sleep(0.1)
    going.send_signal(signal.SIGTERM)
    said, _ = going.communicate(timeout=30)
    assert (going.returncode, said) == (2, "master: interrupted; the next night tries again\n")
    assert not is_there(int(slow.read_text()))
    slow.unlink()
    assert nights.night("0 Same.")[0] == 0


def test_a_branch_that_was_rebased_is_judged_by_what_it_was(nights: Nights) -> None:
    before = nights.head()
    git(nights.tree, "commit", "-q", "--amend", "-m", "first, otherwise")
    assert nights.night("0 Same.")[0] == 0
    assert f"--base {before} " in nights.asked("check")[0]
    git(nights.job / "tree.git", "gc", "-q", "--prune=now")
    assert git(nights.job / "tree.git", "rev-parse", "refs/heads/last") == nights.head()


def test_the_command_takes_a_folder_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linux").mkdir()
    said = CliRunner().invoke(ci, ["nightly", "--tree", "linux", "--branch", "it's", "--with", "kasan"])
    assert said.exit_code == 0, said.output
    text = (tmp_path / "nightly/rushhour.sh").read_text()
    assert f"TREE=${{TREE:-{tmp_path}/linux}}" in text
    assert "systemctl --user enable --now" in said.output
    assert "--tree is what" in str(CliRunner().invoke(ci, ["nightly"]).exception)
    assert "--tree is what" in str(CliRunner().invoke(ci, ["github", "--tree", "x"]).exception)


def test_the_unit_names_the_script_whatever_its_folder_is_called(tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" 100% $x'
    unit = job_files("nightly", Settings(place=odd))["nightly/rushhour-nightly.service"]
    (line,) = [one for one in unit.splitlines() if one.startswith("ExecStart=")]
    assert line.endswith('a \\"b\\" 100%% $$x/nightly/rushhour.sh"')
