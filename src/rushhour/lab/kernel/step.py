"""What a build says while it goes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A message of a build: what is being done, objects made, about how many there will be."""

    text: str
    done: int = 0
    total: int | None = None
