"""Bytes of series as netem's `rate` counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.quantities.netem_rate import NetemRate


def as_counted(
    sizes: NDArray[Any], packets: NDArray[Any], by: NetemRate | None, *, so_far: bool = False
) -> NDArray[np.float64]:
    """Bytes [n] as netem counts them, of bytes and packets [n], `so_far` or each; without it what they are.

    Of packets that are told together as if all had the same size.
    """
    if by is None or by.is_plain:
        return sizes.astype(np.float64)
    size, count = sizes.astype(np.float64), packets.astype(np.float64)
    if so_far:
        size, count = np.diff(size, prepend=0.0), np.diff(count, prepend=0.0)
    mean = np.divide(size, count, out=np.zeros_like(size), where=count > 0)
    whole: NDArray[np.float64] = count * by.counted(mean)
    return np.cumsum(whole) if so_far else whole
