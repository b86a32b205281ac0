"""Whether a file still compiles without one hunk: the compiler's check of its syntax, a second each.

The command is the one by which the file was compiled last in the base's build directory.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import kbuild, sources, store

if TYPE_CHECKING:
    from .hunks import Hunk

_COMMAND = re.compile(r"(.*? )-c -o \S+ (\S+)")


class Compiler:
    """The commands of a source that was built here.

    Args:
        source: as `rushhour kernel build` takes it.
    """

    def __init__(self, source: str) -> None:
        self._build = store.cache("build", sources.resolve(source, lambda _: None).key)
        self._spec = source

    def takes(self, hunk: Hunk) -> bool:
        """Whether the file compiles without the hunk.

        Raises:
            KernelError: the source was not built here, or the hunk does not apply.
        """
        made = self._build / Path(hunk.file).with_suffix(".o")
        found = _COMMAND.match(kbuild.command(made))
        if not found:
            raise KernelError(
                f"there is no command for {hunk.file}",
                where=str(kbuild.note(made)),
                hint=f"build it first: rushhour kernel build {self._spec}",
            )
        words = [word for word in shlex.split(found[1]) if not word.startswith("-Wp,")]
        text = without(hunk, Path(found[2]).read_text())
        done = subprocess.run(
            [*words, "-w", "-fsyntax-only", "-x", "c", "-"],
            cwd=self._build, input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return not done.returncode


def without(hunk: Hunk, text: str) -> str:
    """A file's text when the hunk is taken out of it.

    Raises:
        KernelError: the hunk does not apply.
    """
    with tempfile.TemporaryDirectory(prefix="hunk-") as room:
        path = Path(room, hunk.file)
        path.parent.mkdir(parents=True)
        path.write_text(text)
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            cwd=room, input=hunk.patch, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise KernelError(f"git apply failed: {done.stderr.strip()}", where=hunk.file)
        return path.read_text()
