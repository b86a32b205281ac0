"""What a compiler makes code of, in a preprocessed file: the same text gives the same code.

Left out is what gives none: inline functions that nothing calls, which are most of what headers hold,
declarations of functions that nothing calls, assertions about constants, and structures that none of these
needs but declarations. They can be wrong all the same, and are told apart as pieces, so that of each new one
some file is compiled. Names that the kernel's macros make with a counter are the same whatever it stands at:
they are local, and which file counts how far is no matter.
"""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FUNCTION = re.compile(rb"^static inline\b[^;{}=]*\([^;{}]*\{\n(?:.*\n)*?\}\n", re.MULTILINE)
_ASSERTION = re.compile(rb"^_Static_assert\(.*\);\n", re.MULTILINE)
_ATTRIBUTE = re.compile(rb"\b__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_NAME = re.compile(rb"static inline[\w\s*]*?\b(\w+)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*")
# A function's declaration, which begins as no statement can: with a word of types, or with two words and no
# operator. It has no attributes, of which some make code.
_DECLARED = re.compile(
    rb"^(?!return\b|else\b|do\b|goto\b|case\b|typedef\b)"
    rb"(?:(?:extern|static|const|struct|union|enum|void|int|char|unsigned|long|short|_Bool) [\w *]*?|\w+ )"
    rb"\b(\w+)"
    rb"\((?:[^(){};=\"']|\([^(){};=\"']*\))*\);\n",
    re.MULTILINE,
)
# A structure that is only declared, or also defined: one that is nothing else's part, and has no tag or value
# inside that others could name.
_STRUCTURE = re.compile(
    rb"^(?:struct|union) (\w+)(?:;\n| \{\n"
    rb"(?: (?!.*\b(?:struct|union|enum)\s+\w+\s*\{)(?!.*\benum\s*\{).*\n)*+"
    rb"\}(?: ?__attribute__\(\([\w() ,*]*\)\))*;\n)",
    re.MULTILINE,
)
# Attributes with which a function is code although nothing calls it.
_KEPT = (b"__used__", b"constructor", b"destructor", b"section", b"alias")
# Two expressions, for each begins with what can be looked for fast: texts have 5 MB.
_COUNTED = (re.compile(rb"(__UNIQUE_ID_\w*?)\d+\b"), re.compile(rb"(__compiletime_assert_)\d+\b"))
# What is in no word, as a blank.
_IN_WORDS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_BLANK = bytes(code if code in _IN_WORDS else 32 for code in range(256))


@dataclass(frozen=True)
class Seen:
    """The hash of what becomes code, and the hashes of the pieces that do not."""

    code: str
    pieces: frozenset[str]


def seen(text: bytes, command: Iterable[bytes] = ()) -> Seen:
    """What is seen of a preprocessed text that a command compiles."""
    for counted in _COUNTED:
        text = counted.sub(rb"\1", text)
    outside, functions = _without(text, _FUNCTION, lambda match: _name_of(match[0].partition(b"{")[0]))
    outside, declared = _without(outside, _DECLARED, _declared)
    outside, structures = _without(outside, _STRUCTURE, lambda match: match[1])
    asserted = _ASSERTION.findall(outside)
    outside = _ASSERTION.sub(b"", outside)
    named = _words(outside)
    # What another structure makes wrong is found where it is compiled: in functions that nothing calls, too.
    checked = _words(b" ".join([*asserted, *(body for _, body in functions)]))
    needed = _used(named | checked, declared + structures)
    kept = [body for name, body in structures if name in needed]
    functions += declared
    used = _used(named | _words(b" ".join(kept)), functions)
    total = hashlib.sha256(b"\0".join([*command, outside, *kept]))
    for name, body in functions:
        if name in used:
            total.update(body)
    unused = [body for name, body in functions if name not in used]
    unused += [body for name, body in structures if name not in needed]
    pieces = (hashlib.blake2b(one, digest_size=8).hexdigest() for one in (*unused, *asserted))
    return Seen(total.hexdigest(), frozenset(map(sys.intern, pieces)))  # hundreds of files have the same


def _without(
    text: bytes, what: re.Pattern[bytes], name_of: Callable[[re.Match[bytes]], bytes | None]
) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """A text without the matches that have a name, and these, each with it."""
    rest: list[bytes] = []
    found: list[tuple[bytes, bytes]] = []
    end = 0
    for match in what.finditer(text):
        if name := name_of(match):
            rest.append(text[end : match.start()])
            found.append((name, match[0]))
            end = match.end()
    return b"".join([*rest, text[end:]]), found


def _declared(match: re.Match[bytes]) -> bytes | None:
    return None if b"__attribute__" in match[0] or b"__asm__" in match[0] else match[1]


@lru_cache(maxsize=1 << 15)  # a hundred files include the same headers
def _name_of(head: bytes) -> bytes | None:
    """The name of an inline function; None if it is code in any case, or the head is not understood."""
    if any(word in head for word in _KEPT):
        return None
    name = _NAME.fullmatch(_ATTRIBUTE.sub(b"", head))
    return name[1] if name else None


def _used(outside: set[bytes], functions: list[tuple[bytes, bytes]]) -> set[bytes]:
    """The functions (or structures) that are among the words outside of all, or named by one that is."""
    bodies: dict[bytes, list[bytes]] = {}
    for name, body in functions:
        bodies.setdefault(name, []).append(body)
    used: set[bytes] = set()
    new = bodies.keys() & outside
    while new:
        used |= new
        named = _words(b" ".join(body for name in new for body in bodies[name]))
        new = (bodies.keys() & named) - used
    return used


def _words(text: bytes) -> set[bytes]:
    return set(text.translate(_BLANK).split())
