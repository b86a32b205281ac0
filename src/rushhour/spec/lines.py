"""Where in a TOML file a key stands.

`tomllib` gives values without places. This scan finds the line of every header and key by the few rules
of TOML that matter for it: headers, dotted and quoted keys, strings and brackets that span lines. It runs
on text that tomllib has accepted, so it need not find faults.
"""

from __future__ import annotations

import re

NO_LINE = 0
"""Of what was put beside the text."""

_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*|[\[\]{}=,\n]|[^\"'\#\[\]{}=,\n]+|.",
    re.DOTALL,
)

_NEWLINE = "\n"
_HEADER_TOKENS = 200  # more than a header has: a long list is not looked at again at each of its lines


def key_lines(text: str) -> dict[str, int]:
    """Map dotted paths (`flow.0.cc`, `topology`) to lines counted from 1; elements of tables by number."""
    return _Scan(text).lines


def find_line(lines: dict[str, int], path: tuple[str | int, ...]) -> int | None:
    """Give the line of a path, else of the nearest table or key that encloses it."""
    parts = [str(part) for part in path]
    for length in range(len(parts), 0, -1):
        line = lines.get(".".join(parts[:length]))
        if line is not None:
            return line
    return 1 if lines else None


class _Scan:
    """One pass over the text; `lines` is its result."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, int] = {}
        self._arrays: dict[str, int] = {}  # path of an array of tables → number of its last element
        self._table: list[str] = []
        for number, statement in _statements(text):
            self._read(number, statement)

    def _read(self, number: int, statement: str) -> None:
        if header := _HEADER.match(statement):
            self._open(number, header[1] == "[[", _split(header[2]))
        elif key := _KEY.match(statement):
            self._note([*self._table, *_split(key[1])], number)
            self._inner([*self._table, *_split(key[1])], number, statement[key.end() :])

    def _open(self, number: int, array: bool, parts: list[str]) -> None:  # noqa: FBT001 one of two brackets
        path: list[str] = []
        for position, part in enumerate(parts):
            path.append(part)
            dotted = ".".join(path)
            last = position == len(parts) - 1
            if last and array:
                self._arrays[dotted] = self._arrays.get(dotted, -1) + 1
                self.lines.setdefault(dotted, number)
            if dotted in self._arrays:
                path.append(str(self._arrays[dotted]))
        self._table = path
        self._note(path, number)

    def _inner(self, path: list[str], line: int, value: str) -> None:
        """Note what stands inside a value: elements of arrays of inline tables, keys of the tables."""
        stack = [path]
        pending = ""
        for token in _TOKEN.findall(value):
            match token:
                case "[":
                    stack.append([*stack[-1], "0"])
                case "{":
                    self._note(stack[-1], line)
                    stack.append(stack[-1])
                case "]" | "}" if len(stack) > 1:
                    stack.pop()
                case "," if _is_array(stack):
                    stack[-1] = [*stack[-1][:-1], str(int(stack[-1][-1]) + 1)]
                case "=":
                    self._note([*stack[-1], *_split(pending)], line)
            pending = token.strip() or pending
            line += token.count("\n")

    def _note(self, path: list[str], number: int) -> None:
        """Note a path and the tables that a dotted key makes on its way."""
        for length in range(1, len(path) + 1):
            self.lines.setdefault(".".join(path[:length]), number)


def _is_array(stack: list[list[str]]) -> bool:
    """Whether the innermost bracket is an array's: a table shares its path with what is around it."""
    return len(stack) > 1 and stack[-1] != stack[-2]


def _split(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, dotted)]


def _statements(text: str) -> list[tuple[int, str]]:
    """Cut the text into statements with the line each begins on; brackets and strings may span lines."""
    result: list[tuple[int, str]] = []
    number, begun, depth, parts = 1, 1, 0, list[str]()
    for token in _TOKEN.findall(text):
        if token in _NEWLINE and (
            depth == 0 or (len(parts) < _HEADER_TOKENS and _HEADER.match("".join(parts)))
        ):
            result.append((begun, "".join(parts)))
            parts, begun, depth = [], number + 1, 0
        elif not token.startswith("#"):
            parts.append(token)
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        number += token.count("\n")
    result.append((begun, "".join(parts)))
    return [(line, statement) for line, statement in result if statement.strip()]
