"""What a flow's datagrams tell of what they passed: the gaps they arrive in, how their losses are spaced.

None of these has a better side: they say what a shaper, a drop law or an impairment did, whatever was asked
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.loss import datagram_flows
from rushhour.metrics.value import Found, Metric, distribution, of_flow, ratio
from rushhour.series.readings import first_arrivals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.metrics.value import Distribution
    from rushhour.record.record import Record


def _arrival_gaps(record: Record) -> Iterator[Distribution]:
    for flow in datagram_flows(record):
        arrivals = record.table("udp", flow=flow.id)["rx_ns"]
        yield of_flow(flow), np.diff(arrivals[arrivals >= record.context.warmup_ns]) * 1e-3


def _spread(record: Record) -> Iterator[Found]:
    for flow in datagram_flows(record):
        rows = record.table("udp", flow=flow.id)
        rows = rows[rows["rx_ns"] >= record.context.warmup_ns]
        if len(rows):
            yield Found(of_flow(flow), float(np.std((rows["rx_ns"] - rows["tx_ns"]) * 1e-3)))
        else:
            yield Found(of_flow(flow), None, "no datagram arrived")


def losses(
    sequence: NDArray[np.integer], arrivals: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When runs of lost datagrams were seen, and how many each were.

    `sequence` [n] are the numbers that arrived, without duplicates, `arrivals` [n] their times. A number
    below the greatest that never came is lost; it is seen when the next number arrives. → times [runs],
    lengths [runs], in the order of the numbers.
    """
    order = np.argsort(sequence, kind="stable")
    known = np.concatenate([[-1], sequence[order].astype(np.int64)])
    missing = np.diff(known) - 1
    after = np.flatnonzero(missing > 0)
    return arrivals[order][after].astype(np.int64), missing[after]


def _losses(record: Record) -> list[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    found = []
    for flow in datagram_flows(record):
        rows = first_arrivals(record, flow)
        found.append((of_flow(flow), *losses(rows["seq"], rows["rx_ns"])))
    return found


def _first_loss(record: Record) -> Iterator[Found]:
    for scope, seen, _ in record.once(_losses):
        known = len(seen) > 0
        yield Found(scope, float(seen[0]) * 1e-3 if known else None, None if known else "nothing was lost")


def _loss_gaps(record: Record) -> Iterator[Distribution]:
    for scope, seen, _ in record.once(_losses):
        yield scope, np.abs(np.diff(seen)) * 1e-3


def _run_mean(record: Record) -> Iterator[Found]:
    for scope, _, lengths in record.once(_losses):
        known = len(lengths) > 0
        yield Found(scope, float(lengths.mean()) if known else None, None if known else "nothing was lost")


def _run_max(record: Record) -> Iterator[Found]:
    for scope, _, lengths in record.once(_losses):
        yield Found(scope, float(lengths.max(initial=0)))


def _per_read(record: Record) -> Iterator[Found]:
    for flow in datagram_flows(record):
        reads, came = flow.outcome.reads, flow.outcome.packets_received
        if reads is not None and came is not None:
            yield ratio(of_flow(flow), float(came), float(reads), "nothing was read")


METRICS = [
    *distribution(
        "arrival_gap",
        ("flow",),
        "the time between two arrivals of a UDP flow, whatever their numbers, duplicates included, both "
        "after the warm-up.",
        _arrival_gaps,
        better="none",
    ),
    Metric(
        "one_way_delay_sd_us",
        "µs",
        "none",
        ("flow",),
        "Standard deviation of one_way_delay: √(mean of squares - square of the mean).",
        _spread,
    ),
    Metric(
        "first_loss_us",
        "µs",
        "none",
        ("flow",),
        "When the first loss of a UDP flow was seen: the arrival of the datagram behind the first number "
        "that never came.",
        _first_loss,
    ),
    *distribution(
        "loss_gap",
        ("flow",),
        "the time from one loss of a UDP flow to the next, each seen when the datagram behind the missing "
        "ones arrives; numbers missing in a row are one loss. CoDel's law is interval / √n (RFC 8289, "
        "section 3.3).",
        _loss_gaps,
        better="none",
    ),
    Metric(
        "loss_run_mean",
        "packets",
        "none",
        ("flow",),
        "Mean length of a run of UDP datagrams lost in a row: 1 / (1 - p) of independent losses of "
        "probability p, 1 / r of a Gilbert channel that turns good with probability r.",
        _run_mean,
    ),
    Metric(
        "loss_run_max",
        "packets",
        "none",
        ("flow",),
        "Longest run of UDP datagrams lost in a row, before the greatest number that arrived.",
        _run_max,
    ),
    Metric(
        "datagrams_per_read",
        "packets",
        "none",
        ("flow",),
        "Mean number of datagrams that one read of the receiving program gave, where it takes several at "
        "once (UDP_GRO): what the sender handed over as one and nobody cut, or what was put together where "
        "it arrived.",
        _per_read,
    ),
]
