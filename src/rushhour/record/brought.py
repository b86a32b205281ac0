"""Algorithms that a kernel brings besides its own: whose fields of inet_diag theirs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record.record import Record


def cc_info_of(record: Record, algorithm: bytes) -> bytes:
    """The kernel's algorithm whose fields of inet_diag this one fills: itself, unless told."""
    told = record.manifest.kernel.brings.cc_info.get(algorithm.decode(errors="replace"))
    return told.encode() if told else algorithm


def tells_as(record: Record, algorithms: NDArray[np.bytes_], name: bytes) -> NDArray[np.bool_]:
    """Which of these [n] fill the fields of inet_diag that the kernel's algorithm `name` fills."""
    brings = record.manifest.kernel.brings.cc_info.items()
    own = [word.encode() for word, of in brings if of.encode() == name]
    return np.isin(algorithms, [name, *own]) if own else algorithms == name
