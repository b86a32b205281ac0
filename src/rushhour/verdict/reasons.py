"""What a TCP sender reacted to: which loss, timeout or mark, and which queue dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.verdict.flowlog import FlowLog, relative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.record.record import Record
    from rushhour.verdict.alignment import Difference

_WINDOW_RTTS = 2
"""A loss is known one round trip later, or a little more; so long ago is looked for a drop."""


def reason(sides: tuple[Record, Record], one: Difference, entered: Sequence[str]) -> str | None:
    """What the congestion states entered on an ACK, or before the next, were a reaction to; in words.

    None where none of them is one. Read from the first side that has the words' evidence.
    """
    names = [name for name in ("Loss", "Recovery", "CWR") if name in entered]
    if not names:
        return None
    if names[0] == "CWR":
        return "an ECN mark" if any(_marked(record, one) for record in sides) else "a congestion signal"
    log = FlowLog.of(sides[0], one.code)
    byte = int(relative(log.acks[: one.place + 1], "snd_una")[-1])
    queue = next((label for record in sides if (label := _dropping(record, one))), None)
    where = f" ({queue} had dropped)" if queue else ""
    what = "a retransmission timeout" if names[0] == "Loss" else "the loss"
    return f"{what} at byte {byte}{where}"


def _dropping(record: Record, one: Difference) -> str | None:
    """The queue on the flow's path that dropped within two round trips before."""
    flow = record.context.flows.get(one.code)
    if flow is None or not record.has("qdisc"):
        return None
    srtt_ns = int(FlowLog.of(record, one.code).acks["srtt"][one.place]) * 1000
    for number in flow.ends:
        end = record.context.ends.get(number)
        rows = record.root_qdisc(number) if end is not None else None
        if end is None or rows is None or not len(rows):
            continue
        # The sample before the window, and the first after the event.
        since, until = np.searchsorted(rows["t_ns"], [one.t_ns - _WINDOW_RTTS * srtt_ns, one.t_ns])
        before, after = rows["drops"][max(0, since - 1)], rows["drops"][min(until, len(rows) - 1)]
        if after > before:
            return f"the queue {end.label}"
    return None


def _marked(record: Record, one: Difference) -> bool:
    """Whether more marks had been reported to the sender at the sample after the event."""
    t_ns, info = record.tcp_info(one.code)
    if "delivered_ce" not in (info.dtype.names or ()) or not len(t_ns):
        return False
    after = min(int(np.searchsorted(t_ns, one.t_ns)), len(t_ns) - 1)
    return bool(info["delivered_ce"][after] > info["delivered_ce"][max(0, after - 1)])
