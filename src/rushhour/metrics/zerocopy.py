"""What became of sends without a copy (`MSG_ZEROCOPY`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import Found, Metric, of_flow, ratio
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.record import Record


def _sends(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.OVER_TCP):
        if flow.outcome.zerocopy_sends is not None:
            yield Found(of_flow(flow), float(flow.outcome.zerocopy_sends))


def _copied(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.OVER_TCP):
        sends, copied = flow.outcome.zerocopy_sends, flow.outcome.zerocopy_copied
        if sends is not None and copied is not None:
            yield ratio(of_flow(flow), copied, sends, "the kernel was done with no send before the end")


def _refused(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.OVER_TCP):
        if flow.outcome.zerocopy_refused is not None:
            yield Found(of_flow(flow), float(flow.outcome.zerocopy_refused))


METRICS = [
    Metric(
        "zerocopy_sends",
        "events",
        "none",
        ("flow",),
        "Calls with MSG_ZEROCOPY whose pages the kernel was done with before the end, as it told.",
        _sends,
    ),
    Metric(
        "zerocopy_copied",
        "1",
        "lower",
        ("flow",),
        "Of these calls, those whose bytes the kernel copied after all (SO_EE_CODE_ZEROCOPY_COPIED): always "
        "where a receiver on the same machine keeps them.",
        _copied,
    ),
    Metric(
        "zerocopy_refused",
        "events",
        "lower",
        ("flow",),
        "Calls with MSG_ZEROCOPY that had to wait, for net.core.optmem_max left no room for the message "
        "that the kernel is done with them (ENOBUFS).",
        _refused,
    ),
]
