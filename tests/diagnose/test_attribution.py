"""What limits a direction, told from a real kernel's records of paths with exactly one cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from virtual_paths import VirtualPath

from rushhour.diagnosis.bottleneck import causes
from rushhour.explain import explain
from rushhour.record.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.virtual

CAUSES: Mapping[str, Mapping[str, Any]] = {
    "path-rate": {},
    "receive-buffer-too-small": {"node": {"b": {"net.ipv4.tcp_rmem": "4096 65536 65536"}}},
    "window-scaling-off": {"node": {"b": {"net.ipv4.tcp_window_scaling": 0}}},
    "send-buffer-too-small": {"node": {"a": {"net.ipv4.tcp_wmem": "4096 65536 65536"}}},
    "random-loss": {"forward": {"loss": "1%"}},
    "corruption": {"forward": {"netem": "corrupt 1%"}},
    "policer": {"access": {"police": {"rate": "20mbit", "burst": "30kB"}}},
    "shallow-queue": {"forward": {"buffer": "10p"}},
    "reordering": {"forward": {"jitter": "5ms", "reorder": True}},
    "slow-reader": {"flow": {"read_rate": "20mbit"}},
    "slow-writer": {"flow": {"rate": "20mbit"}},
    "sack-off": {"forward": {"buffer": "60kB"}, "node": {"b": {"net.ipv4.tcp_sack": 0}}},
}
"""The key of the cause → a path that has it from a to b, and no other."""


@pytest.mark.parametrize("key", CAUSES)
def test_the_one_cause_is_named_first_and_the_way_back_is_not_blamed(key: str, tmp_path: Path) -> None:
    found = VirtualPath(tmp_path, **CAUSES[key]).measured()
    there = causes(found["a→b"])
    assert there[0].key == key, (there, found["a→b"])
    assert there[0].limited > 0.4
    # The record of the single flow, explained for itself, has the same cause first.
    (single,) = tmp_path.glob("*-single-a-to-b")
    first = explain(Record.open(single))[0].findings[0]
    assert first.key == key, first
    if key not in ("slow-reader", "slow-writer", "sack-off", "window-scaling-off"):  # these hold both ways
        assert causes(found["b→a"])[0].key == "path-rate"


def test_what_is_measured_is_what_was_built(tmp_path: Path) -> None:
    found = VirtualPath(tmp_path, reverse={"rate": "50mbit"}).measured()
    there, back = found["a→b"], found["b→a"]
    # A full frame is 1514 bytes at the shaper and carries 1448.
    assert there.capacity_bps == pytest.approx(100e6 * 1448 / 1514, rel=0.02)
    assert back.capacity_bps == pytest.approx(50e6 * 1448 / 1514, rel=0.02)
    assert there.idle_rtt_ns == pytest.approx(20e6, rel=0.02)
    assert there.train is not None
    assert there.train.rate_bps == pytest.approx(100e6 * 1500 / 1514, rel=0.03)
    assert there.path_mtu == 1500
    assert there.sizes.lost is None
    assert there.udp is not None
    assert there.udp.loss == 0


def test_an_overlong_queue_shows_as_delay_under_load(tmp_path: Path) -> None:
    found = VirtualPath(tmp_path, forward={"buffer": "10MB", "rate": "20mbit"}).measured()
    assert (found["a→b"].queue_ns or 0) > 3 * (found["a→b"].idle_rtt_ns or 0)
    assert (found["b→a"].queue_ns or 0) < (found["b→a"].idle_rtt_ns or 0)


def test_echoes_that_the_end_overtakes_are_not_lost(tmp_path: Path) -> None:
    # A fifth of the requests are under way when the idle path has been watched for 300 ms.
    far = {"delay": "30ms"}
    for way in VirtualPath(tmp_path, forward=far, reverse=far).measured().values():
        assert way.ping_loss == 0
        assert way.single is not None
        assert way.single.ping_loss == 0


def test_echoes_that_are_lost_are_counted(tmp_path: Path) -> None:
    # Of 30 requests, the last two under way, and of their 28 answers, by one seed.
    for way in VirtualPath(tmp_path, forward={"loss": "20%"}).measured().values():
        assert way.ping_loss is not None
        assert way.ping_loss * 28 == pytest.approx(round(way.ping_loss * 28))
        assert 0.05 < way.ping_loss < 0.4
