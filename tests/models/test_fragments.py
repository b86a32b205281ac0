"""Fragments, counted by hand."""

from __future__ import annotations

import pytest

from rushhour.models.fragments import datagram_loss, fragments


@pytest.mark.parametrize(
    ("payload", "mtu", "count"),
    [
        (1472, 1500, 1),  # 1472 + 8 + 20 is the MTU
        (1473, 1500, 2),
        (2952, 1500, 2),  # 2960 are two of 1480
        (2953, 1500, 3),
        (64_512, 1500, 44),  # 64520 / 1480 = 43.6
        (64_512, 9000, 8),  # 64520 / 8976 = 7.2
        (62_800, 9000, 7),
        (8972, 9000, 1),  # one packet may fill the MTU to the last byte
        (8976 + 8972, 9000, 2),  # and so may the last fragment: 8976 + 8980
        (8976 + 8973, 9000, 3),
    ],
)
def test_fragments_of_a_datagram(payload: int, mtu: int, count: int) -> None:
    assert fragments(payload, mtu) == count


def test_a_datagram_is_lost_with_any_fragment() -> None:
    assert datagram_loss(0.5, 2) == 0.75
    assert datagram_loss(0.1, 1) == pytest.approx(0.1)
    assert datagram_loss(0.0, 44) == 0.0
