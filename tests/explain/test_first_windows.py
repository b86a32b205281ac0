"""First windows that routes make small, in real runs: named where they bind, and only there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_outages import explained

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.virtual


def cell(nodes: str = "", flow: str = 'bytes = "200kB"', rate: str = "1gbit") -> str:
    return f"""
title = "First windows"
question = "What is said of a window that a route makes?"
duration = "2s"
[topology]
preset = "dumbbell"
rate = "{rate}"
rtt = "50ms"
buffer = "5MB"
[[node]]
name = "s1"
{nodes}
[[flow]]
name = "bulk"
cc = "cubic"
{flow}
"""


def routes(initcwnd: int | None = None, initrwnd: int | None = None) -> str:
    sender = "" if initcwnd is None else f"initcwnd = {initcwnd}\n"
    return sender + ("" if initrwnd is None else f'[[node]]\nname = "r1"\ninitrwnd = {initrwnd}\n')


@pytest.mark.parametrize("kernel", ["debian-6.1", "debian-6.12"])
def test_a_route_that_offers_little_is_named_and_no_buffer_is_blamed(kernel: str, tmp_path: Path) -> None:
    _, by_cause = explained(cell(routes(initcwnd=40, initrwnd=20)), tmp_path, kernel)
    assert next(iter(by_cause)) == "window_growing"
    says, remedy = by_cause["window_growing"].says, by_cause["window_growing"].remedy
    assert "the route of r1 lets it begin with 20 segments (initrwnd)" in says
    assert remedy is not None
    assert remedy.advice.startswith("Take initrwnd from the route of r1")
    assert "receive_buffer" not in by_cause
    assert "initcwnd" not in (by_cause["slow_start"].remedy or remedy).advice  # the route has more already


def test_a_first_window_that_the_receiver_s_route_makes_small_is_not_the_sender_s(tmp_path: Path) -> None:
    _, by_cause = explained(cell(routes(initrwnd=4)), tmp_path)
    first = by_cause["initial_window"]
    assert (
        "Connections of r1 begin with 4 segments instead of 10" in first.says
        or "offers no more" in first.says
    )
    assert first.remedy is not None
    assert first.remedy.advice.startswith("Take initrwnd from the route of r1")
    assert "receive_buffer" not in by_cause


def test_a_route_by_which_connections_begin_with_less_is_named(tmp_path: Path) -> None:
    _, by_cause = explained(cell(routes(initcwnd=4)), tmp_path)
    assert next(iter(by_cause)) == "initial_window"
    assert "Connections of s1 begin with 4 segments instead of 10" in by_cause["initial_window"].says
    assert "initrwnd" not in by_cause["initial_window"].says
    assert "slow_start" not in by_cause


@pytest.mark.parametrize(
    ("nodes", "flow", "rate", "why"),
    [
        ("", 'bytes = "200kB"', "1gbit", "no route says anything"),
        (routes(initcwnd=10, initrwnd=45), 'bytes = "200kB"', "1gbit", "what the kernel takes anyway"),
        (
            routes(initcwnd=4, initrwnd=4),
            'bytes = "200kB"\nrate = "400kbit"',
            "1gbit",
            "its program is slower",
        ),
        (routes(initrwnd=20), "", "10mbit", "the path holds less than that"),
        (routes(initrwnd=20), 'rcvbuf = "64KiB"', "100mbit", "its buffer holds it for longer"),
    ],
)
def test_a_route_that_does_not_bind_is_not_named(
    nodes: str, flow: str, rate: str, why: str, tmp_path: Path
) -> None:
    found, by_cause = explained(cell(nodes, flow, rate), tmp_path)
    said = " ".join(one.says for one in found.findings)
    assert not {"window_growing", "initial_window"} & {*by_cause}, why
    assert "initrwnd" not in said, why


def test_a_buffer_that_is_too_small_for_long_is_the_buffer_s(tmp_path: Path) -> None:
    _, by_cause = explained(cell(flow='rcvbuf = "64KiB"', rate="100mbit"), tmp_path)
    assert next(iter(by_cause)) == "receive_buffer"


def test_a_window_that_grows_from_the_kernel_s_own_first_one_needs_no_larger_buffer(tmp_path: Path) -> None:
    """Frames of 9 kB: ten of them are more than the 65535 bytes that a SYN-ACK can offer."""
    text = cell(flow='bytes = "400kB"').replace('buffer = "5MB"', 'buffer = "5MB"\nmtu = "9000B"')
    _, by_cause = explained(text, tmp_path)
    growing = by_cause["window_growing"]
    assert "it began with 62.6 kB" in growing.says
    assert growing.remedy is not None
    assert not growing.remedy.overrides
    assert "receive_buffer" not in by_cause
