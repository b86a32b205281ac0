"""The tokens of a C file, as its preprocessor takes them: two files with the same ones are the same code.

Comments and blank space are no tokens. Whether blank space stands before a token is a part of it, for macros
may make texts of it; an end of a line is one where it ends a directive. So what is left to differ is the
numbers of lines, which kernels say in warnings only.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TOKEN = re.compile(
    r"""
      (?P<blank> [ \t\f\v\r] | /\*.*?\*/ | //[^\n]* )
    | (?P<line>  \n )
    | (?P<word>  (?:u8|[LuU])?"(?:\\.|[^"\\\n])*" | [LuU]?'(?:\\.|[^'\\\n])*'
               | \.?\d(?:[eEpP][+-]|[\w.])* | \w+
               | <<= | >>= | \.\.\. | -> | \+\+ | -- | && | \|\| | [-<>=!+*/%&|^]= | << | >> | \#\# | . )
    """,
    re.DOTALL | re.VERBOSE,
)
_SPLICE = re.compile(r"\\[ \t]*\r?\n")


def tokens(text: str) -> Iterator[str]:
    """The tokens of a C file, after a blank where blank space is; a line feed ends a directive."""
    directive, first, blank = False, True, " "
    for match in _TOKEN.finditer(_SPLICE.sub("", text)):
        if match["blank"] is not None:
            blank = " "
        elif match["line"] is not None:
            if directive:
                yield "\n"
            directive, first, blank = False, True, " "
        else:
            directive = directive or (first and match["word"] == "#")
            yield f"{blank}{match['word']}"
            first, blank = False, ""


def beginnings(text: str) -> set[int]:
    """The lines (from 1) before which a directive may be put: in no comment, and no line that goes on."""
    found, number, last = {1}, 1, ""
    for match in _TOKEN.finditer(text):
        number += match[0].count("\n")
        if match["line"] is not None and not last.endswith("\\"):
            found.add(number)
        if match["blank"] is None or match[0].strip():
            last = match[0]
    return found


def coded(text: str) -> set[int]:
    """The lines (from 1) on which there is more than comments and blank space."""
    found, number = set[int](), 1
    for match in _TOKEN.finditer(text):
        if match["word"] is not None:
            found.add(number)
        number += match[0].count("\n")
    return found


def renumbered(text: str, gone: Iterable[int], new: Iterable[int]) -> str:
    """A changed file in which lines that stay have the numbers of the base, by `#line`.

    What it compiles to differs from what the file itself does in nothing but the numbers of lines.

    Args:
        text: The changed file.
        gone: The lines (from 1) of the base that are not in it.
        new: Its lines that are not in the base.
    """
    absent, come, places = {*gone}, {*new}, beginnings(text)
    numbers = (number for number in count(1) if number not in absent)
    written: list[str] = []
    shift = 0
    for number, line in enumerate(text.split("\n"), 1):
        if number not in come and (wanted := next(numbers)) - number != shift and number in places:
            written.append(f"#line {wanted}")
            shift = wanted - number
        written.append(line)
    return "\n".join(written)


def same(before: str, after: str) -> bool:
    """Whether two C files differ in comments, blank space and nothing else."""
    return list(tokens(before)) == list(tokens(after))
