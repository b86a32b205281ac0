"""What a file of C registers with the kernel, as far as its text tells: algorithms and queue disciplines.

Not a compiler: comments are left out, initialisers are found by their braces, and names that a macro of the
same file gives. What is not found this way is not judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# What a comment or a string is; strings stay.
_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_OPS = re.compile(r"\bstruct\s+(tcp_congestion_ops|Qdisc_ops)\s+(\w+)[^=;{}()]*=\s*\{")
_FIELD = {"tcp_congestion_ops": "name", "Qdisc_ops": "id"}
_CALL = re.compile(r"\b(?:tcp_register_congestion_control|register_qdisc)\s*\(")
_INIT = re.compile(r"\b(?:module_init|\w*initcall\w*)\s*\(")
_TELLS = re.compile(r"\bINET_DIAG_(VEGAS|DCTCP|BBR)INFO\s*;")
_LICENSE = re.compile(r'\bMODULE_LICENSE\s*\(\s*"([^"]*)"')
_DEFINE = r'^[ \t]*#[ \t]*define[ \t]+{}[ \t]+"([^"]*)"'


@dataclass(frozen=True)
class Name:
    """A name that is registered, its line, and whether it is a congestion control (else a qdisc)."""

    text: str
    line: int
    is_algorithm: bool


@dataclass(frozen=True)
class Registered:
    """What a file says: names, whether it registers and is called at all, its licence.

    `tells` is the kernel's algorithm whose fields `get_info` fills (`*attr = INET_DIAG_VEGASINFO;`).
    """

    names: tuple[Name, ...]
    registers: bool
    begins: bool
    license: str | None
    tells: str | None


def of(text: str) -> Registered:
    """What a file of C says, given its text."""
    code = _TOKEN.sub(_blank, text)
    found = (_name(code, match) for match in _OPS.finditer(code))
    licence = _LICENSE.search(code)
    tells = {match[1] for match in _TELLS.finditer(code)}
    return Registered(
        tuple(name for name in found if name),
        bool(_CALL.search(code)),
        bool(_INIT.search(code)),
        licence[1] if licence else None,
        tells.pop().lower() if len(tells) == 1 else None,
    )


def _blank(token: re.Match[str]) -> str:
    """A comment as the line breaks in it, so that lines keep their numbers."""
    return token[0] if token[0].startswith('"') else " " + "\n" * token[0].count("\n")


def _name(code: str, match: re.Match[str]) -> Name | None:
    body = _braced(code, match.end())
    given = re.search(rf'\.\s*{_FIELD[match[1]]}\s*=\s*(?:"([^"]*)"|(\w+))', body)
    if not given:
        return None
    text = given[1]
    if text is None:
        defined = re.search(_DEFINE.format(given[2]), code, re.MULTILINE)
        text = defined[1] if defined else None
    line = code.count("\n", 0, match.end() + given.start()) + 1
    return None if text is None else Name(text, line, match[1] == "tcp_congestion_ops")


def _braced(code: str, begin: int) -> str:
    """The text from here to the brace that closes it."""
    depth = 1
    for at in range(begin, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if not depth:
            return code[begin:at]
    return code[begin:]
