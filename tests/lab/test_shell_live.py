"""`rushhour shell`: a terminal on a node, and the same commands from a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commandline import rush
from typing_at import PATIENCE_S, Typist

from rushhour.lab import kernel as kernels
from rushhour.lab.terminal import NOTE
from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.kernel import Kernel

pytestmark = pytest.mark.virtual

TOP = """
duration = "20s"
topology = { preset = "dumbbell", rate = "2mbit", rtt = "100ms" }
[[flow]]
kind = "tcp"
"""
PROMPT = "s1:~# "


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """A kernel with terminals: those of an older Rush Hour have none."""
    found = [kernels.find("debian-6.12"), *kernels.installed()]
    able = [one for one in found if "\nCONFIG_UNIX98_PTYS=y\n" in (one.folder / "config").read_text()]
    assert able, "no kernel has terminals: rushhour kernel build debian:6.12"
    return able[0]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "page.toml").write_text(TOP)
    return tmp_path


@pytest.fixture
def sit(place: Path, kernel: Kernel) -> Callable[..., Typist]:
    def sit(*words: str, node: str = "s1", **more: tuple[int, int]) -> Typist:
        return Typist("shell", "--kernel", kernel.folder.name, *words, "page.toml", node, cwd=place, **more)

    return sit


def left(place: Path) -> list[str]:
    """Processes that work below a folder, and sandboxes of the cache's, once those that end have ended."""
    end = time.monotonic() + PATIENCE_S
    while True:
        processes = [one for one in Path("/proc").iterdir() if one.name.isdecimal()]
        found = [one.name for one in processes if _works_in(one, place)]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)


def _works_in(process: Path, place: Path) -> bool:
    try:
        return (process / "cwd").resolve(strict=True).is_relative_to(place)
    except OSError:
        return False


def test_a_person_works_on_a_node(sit: Callable[..., Typist]) -> None:
    with sit(size=(31, 97)) as typist:
        typist.until(PROMPT)
        assert not typist.flags() & termios.ICANON, "keys are handed on as they are"
        typist.type("tty; stty size\r")
        assert "/dev/pts/0\r\n31 97\r\n" in typist.until(PROMPT)
        typist.resize(40, 120)
        # The size goes along with a turn, and the shell draws its line anew.
        typist.type("sleep 0.2; stty size\r")
        typist.until("40 120")
        typist.until(PROMPT)
        # The line is edited: what was wrong is rubbed out, and what was typed before comes back.
        typist.type("echo wronk\x7fg-$((1+1))\r")
        assert "wrong-2" in typist.until(PROMPT)
        typist.type("ping r1\r")
        typist.until("icmp_seq=2")
        typist.type("\x03")
        assert "packets transmitted" in typist.until(PROMPT)
        # The scenario's own traffic is there, and time goes on while nobody types.
        typist.type("ss -tn | grep -c ESTAB; sleep 50 &\r")
        assert "1\r\n" in typist.until(PROMPT)
        typist.type("echo g''o; sleep 1000\r")
        typist.until("go\r\n")
        typist.type("\x1a")
        typist.until("Stopped")
        typist.until(PROMPT)
        typist.type("kill %1 %2; exit 5\r")
        said, code = typist.ends()
        assert code == 5, said


def test_time_is_that_of_the_clock_on_the_wall_or_faster(sit: Callable[..., Typist]) -> None:
    with sit("--speed", "200") as typist:
        typist.until(PROMPT)
        began = time.monotonic()
        typist.type("sleep 600; echo sl''ept\r")
        typist.until("slept")
        # At most so fast; a machine that is busy takes longer.
        assert time.monotonic() - began > 600 / 200 * 0.9
        typist.type("\x04")
        assert typist.ends()[1] == 0


def test_what_prints_without_end_is_stopped_by_a_key(sit: Callable[..., Typist]) -> None:
    with sit() as typist:
        typist.until(PROMPT)
        typist.type("while :; do echo busy; done\r")
        typist.until("busy\r\nbusy")
        typist.type("\x03")
        typist.until(PROMPT)
        typist.type("exit\r")
        assert typist.ends()[1] == 130


def test_the_experiment_ends_and_the_terminal_is_as_before(sit: Callable[..., Typist]) -> None:
    with sit("--set", "duration=3s", "--speed", "2") as typist:
        before = typist.mode()
        typist.until(PROMPT)
        assert typist.mode() != before
        typist.type("sleep 100\r")
        typist.until("was stopped: the experiment lasts 3 s (--set duration=")
        assert typist.mode() == before
        assert typist.ends()[1] == 128 + signal.SIGHUP


@pytest.mark.parametrize("how", ["hangs up", "killed"])
def test_nothing_is_left_where_the_person_goes(how: str, sit: Callable[..., Typist], place: Path) -> None:
    with sit("--out", "kept") as typist:
        before = typist.mode()
        typist.until(PROMPT)
        if how == "hangs up":
            typist.hang_up()
            _, status = os.waitpid(typist.pid, 0)
            typist.pid = 0
            assert os.waitstatus_to_exitcode(status) != 0
        else:
            os.kill(typist.pid, signal.SIGKILL)
            os.waitpid(typist.pid, 0)
            typist.pid = 0
        assert not left(place)
        assert not list(place.rglob(".sandbox-*"))
        if how == "killed":
            assert typist.mode() == before, "the launcher puts it back"


def test_a_record_says_that_a_person_was_there(sit: Callable[..., Typist], place: Path) -> None:
    for folder in ("one", "two"):
        with sit("--out", folder, "--file", "page.toml") as typist:
            typist.until(PROMPT)
            typist.type("cat page.toml; exit\r")
            assert typist.ends()[1] == 0
    (first,), (second,) = ResultSet.open(place / "one"), ResultSet.open(place / "two")
    assert first.key != second.key
    assert NOTE in first.manifest.warnings
    assert "duration = " in "".join(line.text for line in first.output())
    with sit("--out", "one") as typist:
        assert "no session is like another" in typist.ends()[0]


def test_a_kernel_without_terminals_says_so(place: Path) -> None:
    lacks = "# CONFIG_UNIX98_PTYS is not set"
    old = [one for one in kernels.installed() if lacks in (one.folder / "config").read_text()]
    if not old:
        pytest.skip("every kernel here has terminals")
    with Typist("shell", "--kernel", old[0].folder.name, "page.toml", "s1", cwd=place) as typist:
        said, code = typist.ends()
    assert "this kernel has none" in said
    assert code != 0


def test_commands_from_a_file_are_the_same_every_time(place: Path) -> None:
    (place / "commands").write_text("ping -c 2 r1\nread word\nfrom the file\necho $word; date; exit 4\n")
    said = []
    for _ in range(2):
        with (place / "commands").open() as given:
            words = [sys.executable, "-m", "rushhour", "shell", "page.toml", "s1"]
            done = subprocess.run(words, stdin=given, capture_output=True, text=True, cwd=place, check=False)
        assert done.returncode == 4, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
    assert "2 received" in said[0]
    assert "from the file" in said[0]
    assert "Nov 14 22:14" in said[0], "no clock on a wall"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["page.toml", "nowhere"], "nowhere"),
        (["no-such", "s1"], "no-such"),
        (["--speed", "2", "page.toml", "s1"], "the standard input is no terminal"),
        (["--speed", "0", "page.toml", "s1"], "--speed"),
        (["page.toml", "s1", "no-such-program"], "no-such-program"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], said: str, place: Path) -> None:
    done = rush("shell", *words, cwd=place)
    assert done.returncode == 2
    assert said in done.stderr
