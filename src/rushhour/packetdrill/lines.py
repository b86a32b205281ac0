"""On which lines of a script its packets stand."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Comments, commands of the shell and code are blanked, their line ends stay.
_NOT_EVENTS = re.compile(r"`(?:\\.|[^`])*`|//[^\n]*|/\*.*?\*/|%\{.*?\}%", re.DOTALL)
_TIME = r"\+?\s*(?:\d+\.?\d*|\.\d+)"
_PACKET = re.compile(rf"^[ \t]*(?:\*|{_TIME}(?:\s*~\s*{_TIME})?)\s*([<>])", re.MULTILINE)


_SIZE = re.compile(r"\d+:\d+\((\d+)\)")


@dataclass(frozen=True)
class Line:
    """A line, from 1, with a packet that the kernel is expected to send, or that the script sends.

    `size` is its payload in bytes: what is expected as one packet may come as several.
    """

    number: int
    sent: bool
    size: int


def of_packets(text: str) -> list[Line]:
    """The lines of a script with packets, in order."""
    plain = _NOT_EVENTS.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = []
    for found in _PACKET.finditer(plain):
        size = _SIZE.search(plain[found.end() :].partition("\n")[0])
        number = plain.count("\n", 0, found.start(1)) + 1
        lines.append(Line(number, found[1] == ">", int(size[1]) if size else 0))
    return lines


class Reader:
    """Goes through a script's lines as its packets come, each direction by itself."""

    def __init__(self, text: str) -> None:
        found = of_packets(text)
        self._left = {sent: [line for line in found if line.sent is sent] for sent in (True, False)}
        self._bytes = {True: 0, False: 0}

    def line(self, *, sent: bool) -> int:
        """The line of the next packet of this direction; 0 behind the last."""
        return self._left[sent][0].number if self._left[sent] else 0

    def take(self, size: int, *, sent: bool) -> None:
        """A packet with so many bytes of payload has come."""
        left = self._left[sent]
        self._bytes[sent] += size
        if left and self._bytes[sent] >= left[0].size:
            self._bytes[sent] = 0
            left.pop(0)
