"""Texts from elsewhere, made harmless for terminals, which obey control characters, and for spreadsheets."""

from __future__ import annotations

import re
from typing import Any

# C0 without tab and line feed, DEL, C1, and those that turn the direction of what follows.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_WRITTEN = re.compile(
    rb"\\u00(?:[01]|7[fF]|[89])|\\u20(?:2[a-eA-E]|6[6-9])|\\[bfr]|\x7f|\xc2[\x80-\x9f]"
    rb"|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def is_control(sign: str) -> bool:
    """Whether a terminal would obey this character rather than show it."""
    return _CONTROL.match(sign) is not None


def control(text: str) -> str | None:
    """The first character of a text that a terminal would obey, if there is one."""
    found = _CONTROL.search(text)
    return found and found[0]


def may_speak(text: bytes) -> bool:
    """Whether a JSON text could hold control characters: written as escapes, or as bytes of UTF-8."""
    if text.isascii() and b"\\" not in text and b"\x7f" not in text:  # most texts, at a twentieth of the time
        return False
    return _WRITTEN.search(text) is not None


def harmless(value: Any) -> Any:
    """A JSON value without control characters in texts and keys; U+FFFD stands where they stood."""
    if isinstance(value, str):
        return _CONTROL.sub("\ufffd", value)
    if isinstance(value, list):
        return [harmless(one) for one in value]
    if isinstance(value, dict):
        return {harmless(key): harmless(one) for key, one in value.items()}
    return value


def one_line(text: str) -> str:
    """A file's name, harmless and on one line: what follows a line feed would pass for ours."""
    return str(harmless(text)).replace("\n", "\ufffd")


def indented(text: str) -> str:
    """A text of ours that names files: a line feed in a name begins no line at the margin."""
    return re.sub(r"\n(?! )", "\n  ", text)


def slug(text: str, most: int = 60) -> str:
    """A text as a part of a file's name: its plain letters and digits, at most so many; may be empty."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")
    return words[:most].rstrip("-.")


def cell(text: str) -> str:
    """A text for a CSV cell; one that a spreadsheet would evaluate gets an apostrophe in front."""
    return f"'{text}" if text.startswith(_FORMULA) else text
