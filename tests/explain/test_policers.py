"""What policers let pass, by the words they were made with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from rushhour.explain import policers

if TYPE_CHECKING:
    from rushhour.record.context import End


def end(queue: str, rate_bps: int | None = None) -> End:
    return cast("End", SimpleNamespace(queue=queue, rate_bps=rate_bps))


BYTES = end("police burst 20000b", 8_000_000)
PACKETS = end("police of 500 packets a second, burst 10")


def test_of_bytes_the_words_have_the_bucket_and_the_end_the_rate() -> None:
    assert policers.bucket([BYTES], 1514) == 20_000
    assert policers.rate_bps([BYTES], 1514) == 8e6
    assert policers.per_second([BYTES]) is None
    assert not policers.counts_packets(BYTES)


def test_packets_count_as_full_frames() -> None:
    assert policers.bucket([PACKETS, BYTES], 1514) == 15_140
    assert policers.rate_bps([PACKETS], 1514) == 500 * 1514 * 8
    assert policers.per_second([PACKETS, BYTES]) == 500
    assert policers.counts_packets(PACKETS)


def test_without_policers_nothing_is_known() -> None:
    assert policers.bucket([], 1514) is None
    assert policers.rate_bps([], 1514) is None
