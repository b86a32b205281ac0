"""What became of the runs of a command, in some bytes for each: there may be a hundred thousand.

A run that left a record follows from its number, and the record's folder from its key. So these are kept, and
an `Outcome` is made when it is looked at; one that failed, or lies elsewhere, is kept as it is.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING

from rushhour.running.batch import KEY_IN_NAME, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rushhour.running.batch import Batch

_KEY = re.compile(rf"[0-9a-f]{{{KEY_IN_NAME}}}")


@dataclass
class _Done:
    """Runs of a batch that left records: their numbers, the keys in their names, whether they were known."""

    batch: Batch
    numbers: array[int] = field(default_factory=lambda: array("Q"))
    keys: array[int] = field(default_factory=lambda: array("Q"))
    cached: bytearray = field(default_factory=bytearray)

    def each(self) -> Iterator[Outcome]:
        """The outcomes by number."""
        batch = self.batch
        for place in sorted(range(len(self.numbers)), key=self.numbers.__getitem__):
            run = batch.run(self.numbers[place])
            folder = batch.place(run, f"{self.keys[place]:0{KEY_IN_NAME}x}")
            yield Outcome(batch, run, folder, None, cached=bool(self.cached[place]))


class Outcomes:
    """Outcomes of some batches; each is made anew when it is looked at."""

    def __init__(self) -> None:
        self._done: dict[int, _Done] = {}
        self._others: list[Outcome] = []

    def extend(self, outcomes: Iterable[Outcome]) -> None:
        """Keep these, too."""
        for one in outcomes:
            if not self._kept(one):
                self._others.append(one)

    def _kept(self, one: Outcome) -> bool:
        batch, run = one.batch, one.run
        key = "" if one.folder is None else one.folder.name.rpartition("-")[2]
        if not _KEY.fullmatch(key) or one.folder != batch.place(run, key) or batch.run(run.number) != run:
            return False
        done = self._done.setdefault(id(batch), _Done(batch))
        done.numbers.append(run.number)
        done.keys.append(int(key, 16))
        done.cached.append(one.cached)
        return True

    def of(self, batch: Batch) -> Iterator[Outcome]:
        """Those of a batch, by the number of the run."""
        done = self._done.get(id(batch))
        rest = sorted((one for one in self._others if one.batch is batch), key=_number)
        return merge(done.each() if done else (), rest, key=_number)

    def without_record(self) -> list[Outcome]:
        """Those that failed or were skipped, in the order in which they came."""
        return [one for one in self._others if one.error is not None]

    def __iter__(self) -> Iterator[Outcome]:
        """All of them."""
        for done in self._done.values():
            yield from done.each()
        yield from self._others

    def __len__(self) -> int:
        """How many there are."""
        return len(self._others) + sum(len(done.numbers) for done in self._done.values())


def _number(outcome: Outcome) -> int:
    return outcome.run.number
