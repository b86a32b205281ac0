"""Places of very many records: their folders have long paths, and few parents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_END = b"\0"


class Places:
    """Paths in the order in which they came, by parent; each takes the bytes of its last name."""

    def __init__(self) -> None:
        self._names: dict[str, bytearray] = {}

    def append(self, place: str) -> None:
        """Keep this one, too."""
        parent, name = os.path.split(place)
        self._names.setdefault(parent, bytearray()).extend(os.fsencode(name) + _END)

    def __iter__(self) -> Iterator[str]:
        """Each of them."""
        for parent, names in self._names.items():
            for name in bytes(names).split(_END)[:-1]:
                yield os.path.join(parent, os.fsdecode(name))  # noqa: PTH118 - a text, as it came

    def __len__(self) -> int:
        """How many there are."""
        return sum(names.count(_END) for names in self._names.values())
