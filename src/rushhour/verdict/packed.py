"""A sequence that takes little memory: a comparison holds the numbers of its cells until all are judged."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


class Packed(Sequence[T]):
    """What `items` gave, deflated (to about a twentieth); every look at it inflates it again.

    The items must be values that pickle can write. It never leaves the process.
    """

    __slots__ = ("_count", "_data")

    def __init__(self, items: Iterable[T]) -> None:
        """Pack the items."""
        every = [*items]
        self._count = len(every)
        self._data = zlib.compress(pickle.dumps(every, pickle.HIGHEST_PROTOCOL), 1) if every else b""

    def _unpacked(self) -> list[T]:
        if not self._data:
            return []
        found: list[T] = pickle.loads(zlib.decompress(self._data))  # noqa: S301 - written above
        return found

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def __iter__(self) -> Iterator[T]:
        """Each of them."""
        return iter(self._unpacked())

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        """One of them, or some."""
        return self._unpacked()[place]

    def __repr__(self) -> str:
        """Its items, as a list."""
        return repr(self._unpacked())
