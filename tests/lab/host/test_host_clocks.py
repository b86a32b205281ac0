"""Clocks: the truth lies within the stated error, whatever the ways there and back take."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rushhour.lab.host import clocks
from rushhour.lab.host.clocks import Clock, Offset, offset, offsets
from rushhour.lab.host.session import Timed


class Far:
    """A host whose clock is off by so much, behind ways of these delays."""

    def __init__(self, off_ns: int, delays: list[tuple[int, int]], boot: str = "far") -> None:
        self.hello: dict[str, Any] = {"boot_id": boot}
        self.off_ns, self.delays, self.asked = off_ns, delays, 0
        self.now = 10**12

    def timed(self, _verb: str) -> Timed:
        there, back = self.delays[self.asked % len(self.delays)]
        self.asked += 1
        sent, self.now = self.now, self.now + there + back
        return Timed({"monotonic_ns": sent + there + self.off_ns}, sent, self.now)


delay = st.integers(0, 10**9)


@given(st.integers(-(10**15), 10**15), st.lists(st.tuples(delay, delay), min_size=1, max_size=40))
def test_the_truth_lies_within_the_stated_error(off_ns: int, delays: list[tuple[int, int]]) -> None:
    found = offset(Far(off_ns, delays), samples=len(delays))
    assert abs(found.ns - off_ns) <= found.error_ns


def test_the_smallest_round_trip_wins() -> None:
    dice = random.Random(5)
    delays = [(dice.randrange(10**7), dice.randrange(10**7)) for _ in range(20)] + [(1000, 1200)]
    found = offset(Far(77, delays), samples=len(delays))
    assert abs(found.ns - 77) <= 101


def test_one_machine_has_one_clock() -> None:
    here = clocks._BOOT.read_text().strip()
    assert offset(Far(0, [(500, 900)], here)).error_ns == 0
    assert offset(Far(0, [(500, 900)], here)).ns == 0
    # A time namespace: the same machine, and another clock.
    assert offset(Far(10**9, [(500, 900)], here)).ns - 10**9 in range(-1000, 1000)


def test_hosts_on_one_machine_share_the_best_offset() -> None:
    hosts = {
        "near": Far(1000, [(300, 300)], "m"),
        "slow": Far(1000, [(1, 10**6)], "m"),
        "other": Far(-5, [(1, 9)], "n"),
        "odd": Far(10**9, [(1, 1)], "m"),
    }
    found = offsets(hosts)
    assert found["near"] == found["slow"]
    assert found["slow"].ns == 1000
    assert abs(found["other"].ns + 5) < 10
    assert found["odd"].ns == 10**9


def test_a_clock_that_drifts_is_followed() -> None:
    # 100 ppm fast: after 10 s it is a millisecond ahead of where it was.
    before, after = Offset(5_000_000, 1000, 0), Offset(6_000_000, 1000, 10**10)
    clock = Clock(before, after)
    assert clock.drift_ppm == 100
    assert clock.ours(before.theirs(0)) == 0
    assert abs(clock.ours(10**10 + 6_000_000) - 10**10) <= 1
    # Half-way, ours is 5 s and theirs 5 s + 5.5 ms.
    assert abs(clock.ours(5 * 10**9 + 5_500_000) - 5 * 10**9) <= 1
    assert clock.error_ns == 1000 + 75_000
    # Outside of what was measured the nearer offset holds.
    assert clock.ours(-(10**9)) == -(10**9) - 5_000_000


def test_no_drift_is_claimed_that_was_not_seen() -> None:
    assert Clock(Offset(0, 600, 0), Offset(1000, 600, 10**9)).drift_ppm == 0
    same = Clock(Offset(0, 0, 0), Offset(0, 0, 10**9))
    assert (same.error_ns, same.ours(123)) == (0, 123)
