"""A column of few words in very many rows: each word once, and which of them stands in which row.

What a run has once (its key, its folder, its factors) stands in each of its rows. So whoever looks at a
column looks at its words, and at the rows where another begins, instead of at every row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

if TYPE_CHECKING:
    from arro3.core import ChunkedArray
    from numpy.typing import NDArray

_OFTEN = 4
"""Rows to a stretch of equal ones from which a column is spelled by stretches."""


class Coded(Sequence[Any]):
    """A column; `codes` has for each row the place of its word in `words`."""

    __slots__ = ("codes", "words")

    def __init__(self, words: Sequence[Any], codes: NDArray[np.integer[Any]]) -> None:
        self.words, self.codes = words, codes

    @classmethod
    def of(cls, cells: Iterable[Any]) -> Coded:
        """The column with these cells."""
        places: dict[tuple[type, Any], int] = {}
        # True and 1 are one key of a dictionary, and not one word.
        codes = [places.setdefault((type(cell), cell), len(places)) for cell in cells]
        return cls([cell for _, cell in places], np.asarray(codes, np.int64))

    @classmethod
    def spread(cls, cells: Sequence[Any], times: Sequence[int]) -> Coded:
        """The column that has each of these cells so many times, one after the other."""
        once = cls.of(cells)
        codes: NDArray[np.integer[Any]] = np.repeat(once.codes, times)
        return cls(once.words, codes)

    @classmethod
    def of_arrow(cls, column: ChunkedArray) -> Coded:
        """A column of Arrow's."""
        from arro3.core import DataType, dictionary_dictionary, dictionary_indices  # noqa: PLC0415 - as in `rows`

        if column.type == DataType.string():
            kind = DataType.dictionary(DataType.int32(), DataType.string())
            made = column.combine_chunks().cast(kind)
            words = cast("list[str]", dictionary_dictionary(made).to_pylist())
            places = dictionary_indices(made)
            if not places.null_count:
                return cls(words, places.to_numpy())
            none = len(words)
            filled = [none if place is None else place for place in places.to_pylist()]
            return cls([*words, None], np.asarray(filled, np.int32))
        if column.type == DataType.int64() and not column.null_count:
            numbers, codes = np.unique(column.combine_chunks().to_numpy(), return_inverse=True)
            distinct: list[int] = numbers.tolist()
            return cls(distinct, codes)
        return cls.of(column.to_pylist())

    def starts(self) -> list[int]:
        """The rows that begin with another word than the row before, the first one included."""
        codes = self.codes
        others = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        return [0, *others.tolist()] if len(codes) else []

    def spelled(self) -> str:
        """The column as JSON spells it: as `json.dumps` of its cells."""
        words = [json.dumps(word) for word in self.words]
        starts = self.starts()
        if not starts:
            return "[]"
        if len(starts) * _OFTEN > len(self.codes):
            return f"[{', '.join([words[code] for code in self.codes.tolist()])}]"
        often = np.diff(starts, append=len(self.codes)).tolist()
        codes = self.codes[starts].tolist()
        runs = (f"{words[code]}, " * count for code, count in zip(codes, often, strict=True))
        return f"[{''.join(runs)[:-2]}]"

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @overload
    def __getitem__(self, which: int) -> Any: ...

    @overload
    def __getitem__(self, which: slice) -> list[Any]: ...

    def __getitem__(self, which: int | slice) -> Any:
        """The cell of a row, or those of some; equal ones are one object."""
        words = self.words
        if isinstance(which, slice):
            return [words[code] for code in self.codes[which].tolist()]
        return words[self.codes[which]]
