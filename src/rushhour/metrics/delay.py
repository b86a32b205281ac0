"""How long things took on the way: smoothed RTT, ping, one-way delay and its variation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import Found, Metric, Telling, distribution, of_flow
from rushhour.metrics.windows import steady_window, within
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rushhour.metrics.value import Distribution
    from rushhour.record.record import Record


def _after_warmup(
    name: str, of: Sequence[str], *, absolute: bool = False
) -> Callable[[Record], Iterator[Distribution]]:
    # The samples of one series of every flow of a kind, after the warm-up.
    def samples(record: Record) -> Iterator[Distribution]:
        for flow in record.flows(*of):
            series = record.series(name, flow=flow.id)
            if not series.source:
                continue
            values = series.values[series.t_s >= record.context.warmup_ns * 1e-9]
            yield of_flow(flow), np.abs(values) if absolute else values

    return samples


def srtt(record: Record) -> Iterator[Distribution]:
    """Smoothed RTT of every TCP flow while it was active after the warm-up, in µs."""
    for flow in record.flows(*kinds.TCP_STREAMS):
        series = record.series("srtt_us", flow=flow.id)
        if series.source:
            yield of_flow(flow), series.values[within(series.t_s, steady_window(record, flow))]


def _min_rtt(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        series = record.series("min_rtt_us", flow=flow.id)
        known = series.values[~np.isnan(series.values)]
        yield Found(
            of_flow(flow),
            float(known.min()) if len(known) else None,
            None if len(known) else "the kernel reported no RTT",
        )


def _mdev(record: Record) -> Iterator[Found]:
    for scope, rtts in _after_warmup("ping_rtt_us", kinds.ECHOES)(record):
        known = rtts[~np.isnan(rtts)]
        yield Found(scope, float(np.std(known)) if len(known) else None, None if len(known) else "no answer")


def _clocks(record: Record) -> str | None:
    """How far two clocks that stamped a delay may be apart; None where it was one."""
    clocks = [machine.clock for machine in record.manifest.hosts.values()]
    errors = sorted(float(clock.error_ns) for clock in clocks if clock is not None)
    apart = sum(errors[-2:])
    return f"by two clocks, compared to ± {apart / 1e3:.3g} µs" if apart else None


METRICS = [
    *distribution(
        "srtt",
        ("flow",),
        "the smoothed RTT (RFC 6298, as the kernel keeps it) at each ACK that reached the sender while the "
        "flow was active after the warm-up; without per-ACK readings, at each sample of tcp_info.",
        srtt,
        title="smoothed round-trip time",
        telling={"p50": Telling("RTT median", 60), "p95": Telling("RTT p95", 70)},
    ),
    Metric(
        "min_rtt_us",
        "µs",
        "lower",
        ("flow",),
        "The least tcpi_min_rtt: the smallest unsmoothed RTT of any segment of the flow.",
        _min_rtt,
        title="Least round-trip time",
    ),
    *distribution(
        "ping_rtt",
        ("flow",),
        "the round-trip time of ICMP echo requests sent after the warm-up (RFC 2681); requests without an "
        "answer count in loss.",
        _after_warmup("ping_rtt_us", kinds.ECHOES),
        title="echo round-trip time",
        telling={"p50": Telling("echo RTT median", 80), "p95": Telling("echo RTT p95", 90)},
    ),
    Metric(
        "ping_rtt_mdev_us",
        "µs",
        "lower",
        ("flow",),
        "Standard deviation of ping_rtt, √(mean of squares - square of the mean): what ping prints as mdev.",
        _mdev,
    ),
    *distribution(
        "one_way_delay",
        ("flow",),
        "the one-way delay (RFC 7679) of the UDP datagrams that arrived after the warm-up, duplicates "
        "included; between machines by compared clocks, to within the error that a note states.",
        _after_warmup("one_way_delay_us", kinds.UDP_STREAMS),
        doubt=_clocks,
        title="one-way delay",
        telling={"p50": Telling("one-way delay median", 120), "p95": Telling("one-way delay p95", 130)},
    ),
    *distribution(
        "ipdv",
        ("flow",),
        "|delay(n) - delay(n-1)| (RFC 3393) of datagrams that are neighbours in sequence, both arrived, "
        "the second after the warm-up.",
        _after_warmup("ipdv_us", kinds.UDP_STREAMS, absolute=True),
        title="delay variation (ipdv)",
        telling={"p95": Telling("ipdv p95", 140)},
    ),
]
