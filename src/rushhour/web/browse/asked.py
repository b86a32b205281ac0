"""What an address asks for: its query's words, each known and of its kind, or a refusal that says which."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rushhour.store.filters import SORTS
from rushhour.verdict.vocabulary import ORDER
from rushhour.web.answers import RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from starlette.datastructures import QueryParams

LONGEST = 200
MOST = 40
SIZE = 50
LARGEST = 500
# Beyond that lie more rows than anybody turns pages of.
DEEPEST = 1_000_000
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T\d\d(:\d\d(:\d\dZ?)?)?)?)?)?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"[0-9A-Za-z._-]{6,128}")
SETS = "set"


@dataclass(frozen=True)
class Asked:
    """Words by name; `where` are factors. An empty word counts as absent."""

    words: Mapping[str, str]
    where: Mapping[str, Sequence[str]]

    def word(self, name: str, default: str = "") -> str:
        """The value of a parameter, or its default."""
        return self.words.get(name, default)

    def number(self, name: str, default: int, most: int) -> int:
        """A number of zero or more.

        Raises:
            RefusedError: it is not a number, or too large.
        """
        word = self.words.get(name, str(default))
        if not (word.isascii() and word.isdecimal()) or len(word) > 12 or int(word) > most:
            raise _wrong(name, word, f"a number up to {most}")
        return int(word)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """What may be asked for as a verdict."""
        return ORDER

    @property
    def size(self) -> int:
        """How many rows a page has."""
        return max(1, self.number("limit", SIZE, LARGEST))

    @property
    def offset(self) -> int:
        """How many rows come before the page."""
        return self.number("offset", 0, DEEPEST)

    def query(self, **changes: object) -> str:
        """The same as a query, with some words changed; None leaves one out."""
        words = {**self.words, **changes}
        pairs = [(name, str(value)) for name, value in words.items() if value not in (None, "")]
        pairs += [("where", f"{name}={value}") for name, values in self.where.items() for value in values]
        return urlencode(pairs)


def asked(query: QueryParams, names: Collection[str], defaults: Mapping[str, str] | None = None) -> Asked:
    """Read a query.

    Raises:
        RefusedError: 400 with the word that is unknown or makes no sense.
    """
    pairs = query.multi_items()
    if len(pairs) > MOST:
        raise RefusedError(400, f"an address has at most {MOST} words", hint="ask for less at once")
    words: dict[str, str] = dict(defaults or {})
    where: dict[str, list[str]] = {}
    for name, value in pairs:
        text = _clean(name, value)
        if name == "where" and "where" in names:
            _factor(text, where)
        elif name not in names:
            raise _unknown(name, names)
        elif text:
            words[name] = text
    for name, text in words.items():
        _check(name, text)
    return Asked(words, where)


def _clean(name: str, value: str) -> str:
    if len(value) > LONGEST or len(name) > LONGEST:
        raise RefusedError(400, f"{name[:40]}: a word has at most {LONGEST} letters")
    text = value.strip()
    if not all(letter.isprintable() for letter in text) or not _encodes(text):
        raise RefusedError(400, f"{name[:40]!r} contains characters that are not allowed")
    return text


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _factor(text: str, where: dict[str, list[str]]) -> None:
    name, sign, value = text.partition("=")
    if not text:
        return
    if not sign or not name.strip():
        raise _wrong("where", text, "a factor and its value, as cc=cubic")
    where.setdefault(name.strip(), []).append(value.strip())


def _check(name: str, text: str) -> None:
    kinds = {
        "since": (_DATE, "a date as 2026-11-21, or its beginning"),
        "until": (_DATE, "a date as 2026-11-21, or its beginning"),
        "set": (_DIGEST, "the 64 digits of a set"),
        "key": (_KEY, "the key of a run, or its beginning"),
    }
    if name in kinds and not kinds[name][0].fullmatch(text):
        raise _wrong(name, text, kinds[name][1])
    words: dict[str, Sequence[str]] = {
        "sort": [*SORTS, *(f"-{one}" for one in SORTS)],
        "valid": ["yes", "no"],
        "by": ["kernel", "time"],
        "verdict": list(ORDER),
    }
    if name in words and text not in words[name]:
        raise _wrong(name, text, " or ".join(words[name]))


def _wrong(name: str, text: str, wanted: str) -> RefusedError:
    return RefusedError(400, f"{name}: {text[:60]!r} is not what it should be", hint=f"write {wanted}")


def _unknown(name: str, names: Collection[str]) -> RefusedError:
    near = get_close_matches(name, sorted(names), 1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(names))}"
    return RefusedError(400, f"there is no parameter {name[:40]!r} here", hint=hint)
