"""Records of a diagnosis' experiments to what was measured in each direction.

Takes one record a phase (`measure`), gives `Measured`. Where the laboratory has a metric it is taken from
there; nothing here asks what was emulated, because on a real path nobody knows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rushhour.diagnosis import echoes, measure
from rushhour.diagnosis.case import sender
from rushhour.diagnosis.derive_tcp import capacity_of, tcp
from rushhour.diagnosis.measured import Measured, Sizes, Train, Udp
from rushhour.metrics.datagrams import losses
from rushhour.metrics.loss import reorder_extents
from rushhour.series.readings import first_arrivals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

HEAD = 0.25
"""Part of a train that is left out: a shaper's bucket lets it pass at once, or one interrupt took it."""
LEAST_TRAIN = 8
NOTHING = [("seq", "<u4"), ("tx_ns", "<i8"), ("rx_ns", "<i8")]


UNREACHABLE = "IcmpMsg.InType3"
"""Errors that a router sends for what does not fit (RFC 792: type 3)."""


def measured(records: Mapping[str, Record], direction: str) -> Measured:
    """What the records (by the phase's name) say of one direction."""
    end = sender(direction)
    way = direction.replace("→", "-to-")
    idle = records.get(measure.IDLE)
    asked = (measure.UDP, measure.SIZES)
    sizes = [record for name, record in records.items() if name.split("-")[0] in asked]
    made = Measured(direction, sizes=_sizes(sizes, end))
    if idle is not None:
        made = _idle(idle, end, made)
    udp = records.get(measure.UDP)
    if udp is not None and (flow := _flow(udp, f"train-{end}")) is not None:
        made = replace(made, train=_train(udp, flow))
    if udp is not None and (flow := _flow(udp, f"udp-{end}")) is not None:
        made = replace(made, udp=_udp(udp, flow))
    made = replace(made, counters=_counters(records, way))
    line = records.get(f"{measure.LINE}-{way}")
    if line is not None and (flow := _flow(line, f"udp-{end}")) is not None:
        made = replace(made, line=_udp(line, flow))
    return _with_tcp(
        made,
        single=records.get(f"{measure.SINGLE}-{way}"),
        several=records.get(f"{measure.SEVERAL}-{way}"),
        both=records.get(measure.BOTH),
        short=records.get(f"{measure.SHORT}-{way}"),
    )


def _with_tcp(made: Measured, **records: Record | None) -> Measured:
    """TCP's measurements: what filled the path is known when all of them are."""
    end = made.sender
    known = {name: record for name, record in records.items() if record is not None}
    most = max((capacity_of(record, end) for record in known.values()), default=0.0)
    most = max(most, *(udp.goodput_bps for udp in (made.udp, made.line) if udp is not None), 0.0)
    found = {name: tcp(record, end, most, made.idle_rtt_ns) for name, record in known.items()}
    brief = found.pop("short", None)
    if brief is not None and brief.error is None:
        made = replace(made, short_s=_completion(known["short"], end))
    trips = [one.rtt_ns[0] for one in found.values() if one.rtt_ns is not None]
    if made.idle_rtt_ns is None and trips:  # echoes are not answered, segments are
        made = replace(made, idle_rtt_ns=min(trips))
    return replace(made, single=found.get("single"), several=found.get("several"), both=found.get("both"))


def _counters(records: Mapping[str, Record], way: str) -> dict[str, dict[str, float]]:
    """By how much the counters of both ends rose while data went this way (`Udp.InCsumErrors`)."""
    total: dict[str, dict[str, float]] = {"a": {}, "b": {}}
    for name, record in records.items():
        if not name.endswith(way) and name != measure.UDP:
            continue
        for end, own in total.items():
            for counter, rise in record.result.counters.get(end, {}).items():
                own[counter] = own.get(counter, 0) + rise
    return total


def _completion(record: Record, end: str) -> float | None:
    flow = _flow(record, f"tcp-{end}")
    done = None if flow is None else flow.outcome.receiver_done_ns
    return None if flow is None or done is None else (done - flow.start_ns) * 1e-9


def _idle(record: Record, end: str, made: Measured) -> Measured:
    trips = echoes.round_trips(record, f"ping-{end}")
    if trips is not None and len(trips):
        known = trips[~np.isnan(trips)]
        made = replace(made, ping_loss=echoes.lost(record, f"ping-{end}"))
        if len(known):
            middle, far = np.percentile(known, [50, 95])
            # The least is the path; what is above it is the machines' own tardiness, or others' traffic.
            made = replace(made, idle_rtt_ns=int(middle), idle_rtt_p95_ns=int(far))
    return made


def _train(record: Record, flow: Flow) -> Train | None:
    if not record.has("udp") or not flow.count:
        return None
    rows = first_arrivals(record, flow)
    rates = [rate for n in range(flow.count // measure.TRAIN) if (rate := _dispersion(rows, n, flow))]
    unread = min(flow.count - min(flow.count, len(rows)), _unread(_received(record, flow)))
    return Train(flow.count, len(rows), float(np.median(rates)) if rates else None, unread)


def _dispersion(rows: NDArray[np.void], number: int, flow: Flow) -> float | None:
    """Rate at which the packets of one train came, its head left out: bits of IP packets over their span."""
    first = number * measure.TRAIN
    mine = rows[(rows["seq"] >= first) & (rows["seq"] < first + measure.TRAIN)]
    mine = np.sort(mine["rx_ns"])[int(HEAD * len(mine)) :]
    if len(mine) < LEAST_TRAIN or mine[-1] <= mine[0]:
        return None
    bits = 8 * ((flow.packet_bytes or 0) + measure.HEADERS["ipv4"])
    return (len(mine) - 1) * bits * 1e9 / float(mine[-1] - mine[0])


def _sizes(records: Sequence[Record], end: str) -> Sizes:
    """The largest size that was answered, and the smallest that never was."""
    answered: dict[int, bool] = {}
    found = [(record, flow) for record in records for flow in record.flows("ping")]
    for record, flow in found:
        if not flow.name.endswith(f"-{end}") or not flow.name.startswith("size-"):
            continue
        trips = echoes.round_trips(record, flow.name)
        # An error of one size is told to the sockets of all: what counts is whether an answer came.
        answered[int(flow.name.split("-")[1])] = trips is not None and not bool(np.isnan(trips).all())
    passed = max((size for size, came in answered.items() if came), default=None)
    if passed is None:
        return Sizes()  # no echo at all tells nothing of sizes
    errors = [record.result.counters.get(end, {}).get(UNREACHABLE, 0) for record, _ in found]
    lost = min((size for size in answered if size > passed), default=None)
    return Sizes(passed, lost, told=any(errors))


def _udp(record: Record, flow: Flow) -> Udp:
    sent = flow.outcome.packets_sent or 0
    rows = first_arrivals(record, flow) if record.has("udp") else np.zeros(0, NOTHING)
    every = record.table("udp", flow=flow.id) if record.has("udp") else rows
    span = ((flow.stop_ns or record.context.duration_ns) - flow.start_ns) * 1e-9
    rate_bps = record.plan.flow(flow.id).rate_bps or 0.0
    extents = reorder_extents(rows["seq"])
    _, runs = losses(rows["seq"], rows["rx_ns"])
    gap_ns = 8e9 * (flow.packet_bytes or 0) / rate_bps if rate_bps else 0.0
    late = rows["tx_ns"] - flow.start_ns - rows["seq"] * gap_ns if len(rows) else np.zeros(0)
    jitter = record.series("ipdv_us", flow=flow.id).values if len(rows) > 1 else np.zeros(0)
    return Udp(
        rate_bps=float(rate_bps),
        goodput_bps=8 * len(rows) * (flow.packet_bytes or 0) / span if span > 0 else 0.0,
        sent=sent,
        received=min(sent, len(rows)),
        duplicates=len(every) - len(rows),
        reordered=len(extents) / len(rows) if len(rows) else 0.0,
        reorder_extent=int(extents.max(initial=0)),
        loss_run=float(runs.mean()) if len(runs) else None,
        jitter_ns=int(np.median(np.abs(jitter)) * 1e3) if len(jitter) else None,
        unread=min(sent - min(sent, len(rows)), _unread(_received(record, flow))),
        late_ns=int(late.max(initial=0)),
        gap_ns=int(gap_ns),
        error=flow.outcome.error,
    )


def _received(record: Record, flow: Flow) -> Mapping[str, int]:
    """By how much the counters of the host that a flow goes to rose."""
    return record.result.counters.get(record.plan.flow(flow.id).to, {})


def _unread(rose: Mapping[str, int]) -> int:
    """Datagrams that reached a host and no program: full sockets, closed ones, or lying there at the end.

    What lies there is what IP delivered (RFC 4293) less what was taken, refused or dropped (RFC 4113).
    """

    def sum_of(*names: str) -> int:
        return sum(rose.get(name, 0) for name in names)

    others = sum_of("Icmp.InMsgs", "Tcp.InSegs", "Udp.InDatagrams", "Udp.NoPorts", "Udp.InErrors")
    return sum_of("Udp.RcvbufErrors", "Udp.NoPorts") + max(0, sum_of("Ip.InDelivers") - others)


def _flow(record: Record, name: str) -> Flow | None:
    return next((flow for flow in record.flows() if flow.name == name), None)
