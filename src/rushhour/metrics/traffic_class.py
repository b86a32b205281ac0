"""In which traffic class datagrams arrive: marks that a program gets to see, and what was rewritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import Found, Metric, of_flow
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.record.record import Record

_ECN = 0b11  # the two low bits (RFC 3168, section 5); marked: both


def _read(record: Record) -> Iterator[tuple[str, int, Mapping[int, int]]]:
    """Flows whose receiver was to read it: scope, the class that was sent, how many came of each."""
    for flow in record.flows(*kinds.UDP_STREAMS):
        asked = record.plan.flow(flow.id)
        if asked.read_class:
            yield of_flow(flow), asked.tos, flow.outcome.classes


def _marked(record: Record) -> Iterator[Found]:
    for scope, _, classes in _read(record):
        yield Found(scope, float(sum(many for tos, many in classes.items() if tos & _ECN == _ECN)))


def _rewritten(record: Record) -> Iterator[Found]:
    for scope, sent, classes in _read(record):
        # Who may be marked has one of the two bits; a mark sets the other.
        kept = {sent, sent | _ECN} if sent & _ECN else {sent}
        yield Found(scope, float(sum(many for tos, many in classes.items() if tos not in kept)))


METRICS = [
    Metric(
        "datagrams_marked",
        "packets",
        "none",
        ("flow",),
        "Datagrams that the receiving program got with Congestion Experienced, where it reads the traffic "
        "class: also if the mark was on one of their fragments (RFC 3168, section 5.3).",
        _marked,
    ),
    Metric(
        "datagrams_reclassed",
        "packets",
        "lower",
        ("flow",),
        "Datagrams that the receiving program got with another DSCP, or another ECN field, than they were "
        "sent with, marks apart.",
        _rewritten,
    ),
]
