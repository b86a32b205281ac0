"""What the runs of a side say alike, kept once."""

from __future__ import annotations

import json
from typing import Any, TypeVar

T = TypeVar("T")


class Shared:
    """Values by how they are spelled: of 100 000 runs one description of the kernel and the machine."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def one(self, value: T) -> T:
        """The first value that was spelled like this one."""
        known: T = self._known.setdefault(json.dumps(value, default=str), value)
        return known
