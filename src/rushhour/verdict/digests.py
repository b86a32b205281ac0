"""Checksums by name, in little memory: a comparison holds those of all its runs until all are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

_BYTES = 32


class Digests(Mapping[str, str]):
    """SHA-256 by name: 32 bytes each, names shared with all that have the same ones."""

    __slots__ = ("_names", "_sums")

    def __init__(self, names: tuple[str, ...], sums: bytes) -> None:
        self._names, self._sums = names, sums

    def __getitem__(self, name: str) -> str:
        """The checksum, in hexadecimal."""
        try:
            begin = self._names.index(name) * _BYTES
        except ValueError:
            raise KeyError(name) from None
        return self._sums[begin : begin + _BYTES].hex()

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._names)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._names)

    def __eq__(self, other: object) -> bool:
        """As a dictionary would be."""
        if isinstance(other, Digests) and self._names == other._names:
            return self._sums == other._sums
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """As a dictionary would be."""
        return repr(dict(self))


def packed(digests: Mapping[str, str]) -> Mapping[str, str]:
    """The same in little memory; as they are, where one is spelled otherwise than this program does."""
    try:
        sums = [bytes.fromhex(value) for value in digests.values()]
    except ValueError:
        return digests
    if any(made.hex() != value for made, value in zip(sums, digests.values(), strict=True)):
        return digests
    if any(len(made) != _BYTES for made in sums):
        return digests
    return Digests(_shared(tuple(digests)), b"".join(sums))


@lru_cache(256)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    return names
