"""Real shells in a terminal of their own: a line is typed, TAB is pressed, and the line is read back."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

CLEAR, SAVE, READY = b"\x15", b"\x18\x10", "ready"
"""Control-U; Control-X Control-P, which every shell here binds to `save`; what a shell says when it waits."""
SETUP = {
    "bash": """\
bind 'set bell-style none'
_save() {{ printf '%s' "$READLINE_LINE" > '{line}.tmp'; mv '{line}.tmp' '{line}'; }}
bind -x '"\\C-x\\C-p": _save'
eval "$(rushhour completion bash)"; echo rea''dy
""",
    "zsh": """\
autoload -Uz compinit; compinit -u -d '{line}.dump'; unsetopt menu_complete auto_menu
_save() {{ print -rn -- "$BUFFER" > '{line}.tmp'; mv '{line}.tmp' '{line}' }}
zle -N _save; bindkey -e; bindkey '^X^P' _save
eval "$(rushhour completion zsh)"; echo rea''dy
""",
    "fish": """\
function _save; commandline -b > '{line}.tmp'; mv '{line}.tmp' '{line}'; end
bind \\cx\\cp _save
rushhour completion fish | source; echo rea''dy
""",
}
START = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"], "fish": ["--no-config", "-i"]}


class Shell:
    """A shell that waits for keys; a context manager."""

    def __init__(self, name: str, folder: Path, home: Path) -> None:
        self._line = home / "line"
        program = shutil.which(name)
        assert program, f"{name} is not installed: scripts/setup --test"
        bin_folder = home / "bin"
        bin_folder.mkdir()
        paths = os.pathsep.join(path for path in sys.path if path)
        (bin_folder / "rushhour").write_text(
            f'#!/bin/sh\nPYTHONPATH="{paths}" exec "{sys.executable}" -m rushhour "$@"\n'
        )
        (bin_folder / "rushhour").chmod(0o755)
        path = f"{bin_folder}:{os.environ['PATH']}"
        env = {"PATH": path, "HOME": str(home), "TERM": "xterm", "LANG": "C.UTF-8", "PS1": "$ "}
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            os.chdir(folder)
            os.execve(program, [name, *START[name]], env)
        self._said = ""
        script = home / "setup"
        script.write_text(SETUP[name].format(line=self._line))
        self._send(f"source {script}\n".encode())
        self._until(READY)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def completed(self, line: str, keys: bytes = b"\t") -> str:
        """What the line is after the keys."""
        self._line.unlink(missing_ok=True)
        self._send(CLEAR + line.encode() + keys)
        # The keys are read one after the other: what saves the line comes after what completes it.
        self._send(SAVE)
        end = time.monotonic() + 60
        while not self._line.exists():
            assert time.monotonic() < end, f"the shell said nothing: {self._said[-800:]!r}"
            self._read(0.05)
        return self._line.read_text("utf-8").rstrip("\n")

    def _until(self, word: str) -> None:
        end = time.monotonic() + 60
        while word not in self._said:
            assert time.monotonic() < end, f"no {word!r}: {self._said[-800:]!r}"
            self._read(0.05)

    def _send(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def _read(self, seconds: float) -> None:
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        if ready:
            self._said += os.read(self._terminal, 65536).decode(errors="replace")
