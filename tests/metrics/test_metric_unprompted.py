"""Retransmissions that no report of a hole prompted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest

from rushhour.metrics.repair import unprompted

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
PROBE, FAST, AFTER_TIMEOUT, SYN = 10, 20, 60, 5


def events(*at_ms: int) -> object:
    states = [2 if at == SYN else 1 for at in at_ms]
    return make.rows(make.TCP_RETRANSMIT, t_ns=[at * MS for at in at_ms], flow=0, state=states)


@pytest.mark.parametrize(
    ("sent", "count"),
    [((FAST,), 0), ((PROBE, FAST), 1), ((FAST, AFTER_TIMEOUT, AFTER_TIMEOUT + 1), 2), ((SYN, FAST), 0)],
)
def test_probes_and_what_a_timeout_sends_again_are_told_from_fast_ones(
    tmp_path: Path, sent: tuple[int, ...], count: int
) -> None:
    """Recovery from 20 to 40 ms, entered with its first retransmission; Loss from 60 ms on."""
    states = make.rows(make.CONG_STATE, t_ns=[20 * MS, 40 * MS, 60 * MS], flow=0, cong_state=[3, 0, 4])
    record = make.record(
        tmp_path / "run", {"tcp_retransmit_skb": events(*sent), "tcp_cong_state_set": states}
    )
    assert unprompted(record, record.context.flows[0]) == count


def test_without_the_events_nothing_is_claimed(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run", {"tcp_retransmit_skb": events(PROBE, FAST)})
    assert unprompted(record, record.context.flows[0]) == 0
