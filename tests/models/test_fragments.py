"""Fragments, counted by hand."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import builders as make
import pytest

from rushhour.models.case import cases
from rushhour.models.fragments import datagram_loss, fragments
from rushhour.models.registry import MODELS, predict

if TYPE_CHECKING:
    from pathlib import Path


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


def test_ipv6_has_a_header_for_fragments() -> None:
    """40 + 8 bytes in front of each: 1452 of 1500 are left, of all but the last 1448."""
    assert fragments(1452, 1500, ipv6=True) == 1
    assert fragments(1453, 1500, ipv6=True) == 2
    assert fragments(1448 + 1452 - 8, 1500, ipv6=True) == 2
    assert fragments(1448 + 1452 - 7, 1500, ipv6=True) == 3


@pytest.mark.parametrize(
    ("payload", "destination", "ip_bytes"),
    [
        # 2953 + 8 = 2961 = 2 · 1480 + 1: three IPv4 headers.
        (2953, "10.0.2.2", 2953 + 8 + 3 * 20),
        (2952, "10.0.2.2", 2952 + 8 + 2 * 20),
        (2893, "fd00::2", 2893 + 8 + 3 * 48),
    ],
)
def test_what_a_fragmented_flow_offers(tmp_path: Path, payload: int, destination: str, ip_bytes: int) -> None:
    flow = make.flow(kind="udp", payload_per_packet=payload, frame_bytes=1514)
    planned = {0: {"rate_bps": 8_000_000, "packet_bytes": payload, "dst": destination}}
    count = fragments(payload, 1500, ipv6=":" in destination)
    case = cases(make.record(tmp_path / "run", flows=[flow], planned=planned))["long"]

    assert case.fragments == count
    assert case.offered_bps == pytest.approx(8e6 * (ip_bytes + 14 * count) / payload)
    full = predict(MODELS["bdp"], "goodput_bps", [dataclasses.replace(case, rate_bps=1e6)])
    assert full.value == pytest.approx(1e6 * payload / (ip_bytes + 14 * count))


def test_a_datagram_is_lost_with_any_fragment() -> None:
    assert datagram_loss(0.5, 2) == 0.75
    assert datagram_loss(0.1, 1) == pytest.approx(0.1)
    assert datagram_loss(0.0, 44) == 0.0
