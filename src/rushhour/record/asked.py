"""Commands that made runs, put together again from what was kept of them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rushhour.record.manifest import REAL_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.record.manifest import Kernel, Manifest
    from rushhour.record.set_file import Asked, SetFile


def command_of(asked: Asked, kernels: Iterable[Kernel], more: Sequence[str] = ()) -> str:
    """The command that made a set, with its kernels named, and `more` words."""
    words = ["run", str(asked.scenario)]
    for value in asked.sets:
        words += ["--set", value]
    words += [*kernel_words(kernels), *lab_words(asked)]
    words += [] if asked.repeat is None else ["--repeat", str(asked.repeat)]
    words += [] if asked.seed is None else ["--seed", str(asked.seed)]
    return command([*words, *(["--quick"] if asked.quick else []), *more])


def command(words: Sequence[str]) -> str:
    """A command of ours, quoted for a shell."""
    return shlex.join(["rushhour", *words])


def kernel_words(kernels: Iterable[Kernel]) -> list[str]:
    """What names the kernels in a command."""
    # Also where none was named: the latest version may be another by then.
    names = (kernel.name for kernel in kernels if kernel.source.kind != "running")
    return [word for name in names if name for word in ("--kernel", name)]


def lab_words(about: Asked | Manifest | SetFile) -> list[str]:
    """What names the lab in a command."""
    return ["--lab", about.lab] if about.lab is not None and about.lab in REAL_TIME else []
