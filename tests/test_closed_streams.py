"""What the starter does to a command: streams that are closed or take nothing, an end before the begin."""

import subprocess
import sys
from pathlib import Path

import pytest

RUSHHOUR = [sys.executable, "-m", "rushhour"]


@pytest.mark.parametrize(
    "words", ["list buffer", "show window-scaling", "help run", "kernel list", "nonsense"]
)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault_of_the_program(words: str, closed: str, tmp_path: Path) -> None:
    script = f'"$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *RUSHHOUR, *words.split()], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == (2 if words == "nonsense" else 0), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_what_is_printed_gets_into_no_file_that_took_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    words = [*RUSHHOUR, "new", "mine.toml"]
    subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *words], cwd=tmp_path, check=True)
    subprocess.run([*RUSHHOUR, "new", "seen.toml"], cwd=tmp_path, check=True, capture_output=True)
    texts = [(tmp_path / name).read_text() for name in ("mine.toml", "seen.toml")]
    assert texts[0].replace("mine.toml", "seen.toml") == texts[1]


@pytest.mark.parametrize("words", ["list buffer", "show window-scaling"])
def test_output_that_takes_nothing_is_told_with_what_helps(words: str, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*RUSHHOUR, *words.split()],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: cannot write: No space left on device",
        "  make room, or name another folder with --out; or let standard output lead elsewhere",
    ]


EARLY = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "rushhour.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from rushhour.__main__ import main
main()
"""


def test_control_c_before_the_command_line_is_loaded_is_an_interruption() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "\ninterrupted\n")
