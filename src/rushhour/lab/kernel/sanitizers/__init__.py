"""Kernels that watch themselves: what is switched on for each sanitizer, and what has to come of it.

They are slow in real time and not at all in virtual time, whose clock does not see it.
"""

from __future__ import annotations

from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING

from rushhour.lab.kernel.coverage import COVERAGE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

SANITIZERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "kasan": ("KASAN", "this kernel's User-Mode Linux has none; 6.1's has"),
        "ubsan": ("UBSAN", "this kernel's User-Mode Linux has none; 6.12's has"),
        "lockdep": ("PROVE_LOCKING", "this kernel's User-Mode Linux has none; 6.1's has"),
        "debug-net": ("DEBUG_NET", "this kernel has none; 6.1 has"),
        "kmemleak": ("DEBUG_KMEMLEAK", "this kernel's User-Mode Linux has none; 6.1's has"),
    }
)
"""By name: the option that has to come, and what is said where it does not."""

SYMBOLS = "symbols"
"""What a debugger takes: names, types and lines (DWARF). No option: the image stays the same to the bit."""
AT_END = "at_end.c"
"""What `kmemleak` and `debug-net` see only when a run is over, as C that is compiled into their kernels."""
WORDS = (*SANITIZERS, SYMBOLS, COVERAGE)
"""What a kernel can be built with by a word alone; the last two take no option."""

_AT_END = frozenset({"kmemleak", "debug-net"})
# All of them are shown only to those who debug a kernel. With frame pointers a complaint has the calls that
# led to it, instead of everything on the stack that looks like one.
_ALL = "# Sanitizers.\nCONFIG_DEBUG_KERNEL=y\nCONFIG_FRAME_POINTER=y\n"
_END = "# End of the sanitizers.\n"
_WITH_SYMBOLS = "# With symbols for a debugger.\n"


def options_of(names: Collection[str]) -> str:
    """The options to switch on for these sanitizers; nothing for none."""
    folder = resources.files(__name__)
    texts = [folder.joinpath(f"{name}.config").read_text() for name in sorted(names) if name in SANITIZERS]
    marks = _WITH_SYMBOLS if SYMBOLS in names else ""
    return marks + ("".join([_ALL, *texts, _END]) if texts else "")


def at_end(names: Collection[str]) -> str:
    """The C that looks, at the end of a run, for what these sanitizers can see only then; else nothing."""
    return resources.files(__name__).joinpath(AT_END).read_text() if _AT_END.intersection(names) else ""


def part_of(path: Path) -> str:
    """The sanitizers' part of the options that a build was asked for; nothing where there is none."""
    text = path.read_text() if path.is_file() else ""
    marks = _WITH_SYMBOLS if _WITH_SYMBOLS in text else ""
    _, begin, rest = text.partition(_ALL)
    return marks + (begin + rest.partition(_END)[0] + _END if begin else "")


def absent(settings: str, names: Iterable[str]) -> list[str]:
    """Of these sanitizers those that did not come, given the text of a `.config`, with why."""
    wanted = [(name, *SANITIZERS[name]) for name in sorted(names) if name in SANITIZERS]
    return [f"{name}: {why}" for name, option, why in wanted if f"CONFIG_{option}=y" not in settings]
