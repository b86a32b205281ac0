"""Files: read and parse TOML texts, or report why not.

Takes a file, gives its text and then its document; what the keys mean is for others to judge. Their problems
become faults with lines.
"""

from __future__ import annotations

import re
import tomllib
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from rushhour.errors import Fault, ScenarioError
from rushhour.spec.lines import find_line, key_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

    from rushhour.spec.check.problem import Problem

LARGEST_FILE = 2**20
DEEPEST = 32  # levels of tables and lists
MOST_TABLES = 2000
MOST_KEYS = 500  # of one table
_LARGEST_WHOLE = 2**63  # TOML's whole numbers have 64 bits
_DIGITS = re.compile(r"[0-9_]+")
_KEY_PART = re.compile(r"""\s*(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')\s*""")
_AT = re.compile(r"(.*) \(at (?:line (\d+), column \d+|(end of document))\)", re.DOTALL)
_BEGIN = "begin with a title, a [topology] and a [[flow]]; `rushhour list` names examples"


def read_text(file: Traversable) -> str:
    """Read a file of sane size as UTF-8.

    Raises:
        ScenarioError: there is no such text; says why.
    """
    name = str(file)
    try:
        with file.open("rb") as stream:
            raw = stream.read(LARGEST_FILE + 1)
    except IsADirectoryError as error:
        raise _unreadable(name, "is a folder, not a file", "name a file in it") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _unreadable(name, f"cannot be read: {reason}", None) from error
    if len(raw) > LARGEST_FILE:
        raise _unreadable(name, "is larger than 1 MiB", "a scenario is a small TOML file")
    if b"\0" in raw:
        raise _unreadable(name, "is a binary file", "a scenario is a TOML text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise ScenarioError([Fault(name, line, "", message, "save the file as UTF-8")]) from error


def _unreadable(file: str, message: str, hint: str | None) -> ScenarioError:
    return ScenarioError([Fault(file, None, "", message, hint)])


def parse_toml(text: str, file: str, begin: str = _BEGIN) -> dict[str, Any]:
    """Give the document of a TOML text; `file` is its name in faults, `begin` what to write in an empty one.

    Raises:
        ScenarioError: it is no TOML, or nothing, or nested beyond sense.
    """
    _check_keys(text, file)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT.fullmatch(str(error))
        message = match[1] if match else str(error)
        line = int(match[2]) if match and match[2] else text.count("\n") + 1
        raise ScenarioError(
            [Fault(file, line, "", f"not TOML: {message}", _toml_hint(text, line))]
        ) from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except ValueError as error:  # a whole number of thousands of digits, which Python does not read
        raise _too_large(file, _longest_digits(text)) from error
    if _levels(document) > DEEPEST:
        raise _too_deep(file)
    _check_values(document, text, file)
    if not document:
        raise _unreadable(file, "says nothing: there is no key in it", begin)
    return document


def _too_deep(file: str) -> ScenarioError:
    return _unreadable(file, "is nested too deeply", "a scenario has no more than a few levels")


def _too_large(file: str, line: int | None) -> ScenarioError:
    return ScenarioError(
        [Fault(file, line, "", "a whole number has more than 64 bits", "write a smaller one")]
    )


def _longest_digits(text: str) -> int:
    """The line of the longest number."""
    longest = max(_DIGITS.finditer(text), key=lambda match: match.end() - match.start())
    return text.count("\n", 0, longest.start()) + 1


def _check_keys(text: str, file: str) -> None:
    """Refuse keys of more parts than sense has levels: what reads TOML takes their square in time."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") <= DEEPEST:
            continue
        # A key begins the line, a header, or an entry of a table; in a text dots are dots.
        for piece in re.split(r"[={,\[]", line):
            parts = takewhile(_KEY_PART.fullmatch, piece.split("."))
            if sum(1 for _ in parts) > DEEPEST:
                message, hint = "the key is nested too deeply", "a scenario has no more than a few levels"
                raise ScenarioError([Fault(file, number, "", message, hint)])


def _check_values(document: dict[str, object], text: str, file: str) -> None:
    """Refuse numbers beyond TOML's, and more than a person would ever write."""
    tables = 0
    values: list[tuple[tuple[str | int, ...], object]] = [((), document)]
    while values:
        path, value = values.pop()
        if isinstance(value, dict):
            tables += 1
            if tables > MOST_TABLES or len(value) > MOST_KEYS:
                what = f"{MOST_TABLES} tables" if tables > MOST_TABLES else f"{MOST_KEYS} keys in one table"
                line = find_line(key_lines(text), path) if path else None
                message = f"has more than {what}"
                raise ScenarioError([Fault(file, line, "", message, "equal flows take a count")])
            values += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            values += [((*path, number), item) for number, item in enumerate(value)]
        elif isinstance(value, int) and not -_LARGEST_WHOLE <= value < _LARGEST_WHOLE:
            raise _too_large(file, find_line(key_lines(text), path))


def _levels(document: dict[str, Any]) -> int:
    """Levels of tables and lists, up to one more than allowed: TOML's dotted keys nest without limit."""
    values: list[Any] = [document]
    levels = 0
    while values and levels <= DEEPEST:
        levels += 1
        nested = (value.values() if isinstance(value, dict) else value for value in values)
        values = [item for items in nested for item in items if isinstance(item, dict | list)]
    return levels


def _toml_hint(text: str, line: int) -> str | None:
    """Guess the most common slip: a word without quotes."""
    lines = text.splitlines()
    found = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    match = re.fullmatch(r"([\w.\"'-]+)\s*=\s*([A-Za-z0-9.][\w.%/ -]*)", found)
    return f'texts stand in quotes: {match[1]} = "{match[2].strip()}"' if match else (found[:80] or None)


def faults_in(text: str, file: str, problems: Iterable[Problem]) -> ScenarioError:
    """The error that says of each problem where in the file it stands; elements of lists count from 1."""
    lines = key_lines(text)

    def fault(problem: Problem) -> Fault:
        key = ".".join(str(part + 1 if isinstance(part, int) else part) for part in problem.path)
        return Fault(file, find_line(lines, problem.path), key, problem.message, problem.hint)

    return ScenarioError(sorted(map(fault, problems), key=lambda fault: fault.line or 0))
