"""A part of a record is measured as if nothing else had been recorded."""

from pathlib import Path

import numpy as np
import pytest
from builders import SECOND, TCP_PROBE, UDP, end, flow, outcome, qdisc, record, rows, tcp_info

from rushhour.metrics.catalog import METRICS
from rushhour.record.record import Record
from rushhour.series.part import between

SAMPLE = SECOND // 10
AT = np.arange(0, 101) * SAMPLE


def measured(part: Record, metric: str) -> dict[str, float | None]:
    return {found.scope: found.value for found in METRICS[metric].function(part)}


def tcp(folder: Path) -> Record:
    """Ten seconds: 10 Mbit/s in the first five, 30 Mbit/s and a retransmission a second in the rest."""
    rate = np.where(AT < 5 * SECOND, 10e6, 30e6) / 8
    received = np.concatenate([[0], np.cumsum(rate[:-1] * 0.1)])
    again = np.maximum(0, AT - 5 * SECOND) // SECOND
    tables = {
        "tcp_probe": rows(TCP_PROBE, t_ns=AT, srtt=np.where(AT < 5 * SECOND, 20_000, 40_000)),
        "tcp_info": np.concatenate(
            [
                tcp_info(AT, side=0, total_retrans=again, data_segs_out=received / 1000),
                tcp_info(AT, side=1, bytes_received=received),
            ]
        ),
        "qdisc": qdisc(AT, drops=AT // SECOND, backlog=np.where(AT < 5 * SECOND, 1000, 9000)),
    }
    done = outcome(bytes_received=int(received[-1]))
    return record(folder / "tcp", tables, outcomes=[done])


@pytest.mark.parametrize(
    ("begin", "done", "values"),
    [(None, 4.9, (10e6, 20_000, 0, 5)), (5, None, (30e6, 40_000, 5, 5)), (6, 7.9, (30e6, 40_000, 2, 2))],
)
def test_every_metric_measures_the_part_by_its_own_definition(
    tmp_path: Path, begin: float | None, done: float | None, values: tuple[float, ...]
) -> None:
    whole = tcp(tmp_path)
    part = between(whole, *(None if at is None else round(at * SECOND) for at in (begin, done)))
    rate, rtt, again, drops = values
    assert measured(part, "goodput_bps")["total"] == pytest.approx(rate)
    assert measured(part, "srtt_mean_us")["flow:long"] == pytest.approx(rtt)
    assert measured(part, "retransmits")["flow:long"] == pytest.approx(again, abs=1)
    assert measured(part, "drops")["total"] == pytest.approx(drops, abs=1)


def test_the_whole_is_a_part_too(tmp_path: Path) -> None:
    whole = tcp(tmp_path)
    part = between(whole, None, None)
    for metric in (
        "goodput_bps",
        "srtt_mean_us",
        "retransmits",
        "retransmit_fraction",
        "drops",
        "jain_index",
    ):
        assert measured(part, metric) == pytest.approx(measured(whole, metric)), metric


def test_datagrams_are_counted_between_the_first_and_the_last_of_the_part(tmp_path: Path) -> None:
    seq = np.arange(10_000)
    sent = seq * (10 * SECOND // len(seq))
    kept = (seq < 5000) | (seq % 2 == 0)  # in the second half every other one is lost
    table = rows(UDP, seq=seq[kept], tx_ns=sent[kept], rx_ns=sent[kept] + 1000)
    about = outcome(packets_sent=len(seq), packets_received=int(kept.sum()))
    whole = record(
        tmp_path / "udp",
        {"udp": table},
        flows=[flow(kind="udp")],
        outcomes=[about],
        planned={0: {"packet_bytes": 100}},
    )
    assert measured(whole, "loss")["flow:long"] == pytest.approx(0.25)
    assert measured(between(whole, None, 4 * SECOND), "loss")["flow:long"] == 0
    assert measured(between(whole, 6 * SECOND, None), "loss")["flow:long"] == pytest.approx(0.5, abs=1e-3)


def test_a_flow_that_is_not_there_in_the_part_has_no_numbers(tmp_path: Path) -> None:
    table = np.concatenate([tcp_info(AT[:20], side=1, bytes_received=AT[:20] / 1000)])
    ended = outcome(sender_done_ns=2 * SECOND, receiver_done_ns=2 * SECOND)
    whole = record(tmp_path / "short", {"tcp_info": table}, ends=[end()], outcomes=[ended])
    part = between(whole, 5 * SECOND, 8 * SECOND)
    assert measured(part, "goodput_bps") == {"flow:long": None, "total": None}
