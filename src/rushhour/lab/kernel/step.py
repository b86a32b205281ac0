"""What a build says while it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from rushhour.quantities.words import plural


@dataclass(frozen=True)
class Step:
    """A message of a build: what is being done, objects made, about how many there will be."""

    text: str
    done: int = 0
    total: int | None = None

    def __str__(self) -> str:
        """In a line: "compiling: 120 objects of about 1330"."""
        if not self.done:
            return self.text
        return f"{self.text}: {objects(self.done)}" + (f" of about {self.total}" if self.total else "")


def objects(count: int) -> str:
    """How many, in words."""
    return plural(count, "object")
