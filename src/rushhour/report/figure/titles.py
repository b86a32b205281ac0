"""How quantities and factors are called along an axis."""

from __future__ import annotations

import re

from rushhour.quantities.words import quantity
from rushhour.report.tables import TELLING
from rushhour.spec.levels import worth
from rushhour.spec.sweep import LABEL

_TITLES = {
    "snd_cwnd": "Congestion window",
    "ssthresh": "Slow-start threshold (as at each ACK)",
    "snd_ssthresh": "Slow-start threshold",
    "srtt_us": "Smoothed round-trip time",
    "rtt_us": "Smoothed round-trip time",
    "rttvar_us": "Round-trip time variation",
    "min_rtt_us": "Least round-trip time",
    "snd_wnd": "Send window",
    "rcv_wnd": "Receive window",
    "inflight": "Data in flight",
    "snd_nxt": "Sequence number to be sent next",
    "snd_una": "Sequence number not acknowledged",
    "data_len": "Length of the segment",
    "goodput_bps": "Goodput",
    "goodput_steady_bps": "Goodput after warm-up",
    "goodput_share": "Share of the goodput",
    "send_rate_bps": "Sending rate",
    "delivery_rate_bps": "Delivery rate",
    "pacing_rate_bps": "Pacing rate",
    "bbr_bandwidth_bps": "Bandwidth estimate of BBR",
    "dctcp_alpha": "DCTCP's alpha",
    "cong_state": "Congestion state",
    "one_way_delay_us": "One-way delay",
    "ipdv_us": "Delay variation (ipdv)",
    "ping_rtt_us": "Echo round-trip time",
    "transaction_us": "Transaction time",
    "srtt_queue_delay_us": "Queue delay (smoothed RTT less idle RTT)",
    "queue_bytes": "Queue",
    "queue_packets": "Queue",
    "queue_delay_us": "Queue delay",
    "sojourn_us": "Time in the queue",
    "flow_sojourn_us": "Time in the queue of the bottleneck",
    "tx_rate_bps": "Rate on the link",
    "wire_lost": "Lost on the wire",
    "limited_rwnd_pct": "Time limited by the receiver's window",
    "limited_sndbuf_pct": "Time limited by the send buffer",
    "limited_path_pct": "Time with a full path",
    "limited_losses_pct": "Time limited by losses",
    "limited_timeouts_pct": "Time waiting for timeouts",
    "limited_slow_start_pct": "Time in slow start",
}
_STEMS = {
    "ping_rtt": "echo round-trip time",
    "one_way_delay": "one-way delay",
    "srtt": "smoothed round-trip time",
    "transaction": "transaction time",
    "ipdv": "delay variation (ipdv)",
}
_SHORT = dict(TELLING)
_UNIT = re.compile(r"_(bps|us|s|bytes|pct)$")
_STATISTICS = {
    "min": "least",
    "mean": "mean",
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "greatest",
}
_ACRONYMS = {"rtt": "RTT", "tcp": "TCP", "fct": "FCT"}


def title_of(quantity: str) -> str:
    """The title of a metric or series: `Goodput`, `Queue delay, 95th percentile`."""
    if quantity in _TITLES:
        return _TITLES[quantity]
    if quantity in _SHORT and quantity.count("_") < 2:
        return _capital(_SHORT[quantity])
    words = _UNIT.sub("", quantity).split("_")
    said = next((_STATISTICS[word] for word in words if word in _STATISTICS), "")
    stem = [word for word in words if word not in _STATISTICS]
    name = _STEMS.get("_".join(stem)) or " ".join(_ACRONYMS.get(word, word) for word in stem)
    return _capital(f"{name}, {said}" if said else name)


_NAMES = {"cc": "algorithm", "rtt": "base RTT", "rtts": "base RTTs", "mtu": "MTU", "ecn": "ECN", "mss": "MSS"}


def name_of(factor: str) -> str:
    """The short name of a factor: `topology.rtt` is `rtt`, `label.over-subscription` loses its `label`."""
    if factor.startswith(LABEL):
        return factor.removeprefix(LABEL).replace("_", " ")
    parts = factor.split(".")
    if parts[0] == "sysctl":
        return parts[-1]
    if len(parts) == 3 and parts[1] != "*":
        return f"{_NAMES.get(parts[2], parts[2])} of {parts[1]}"
    return _NAMES.get(parts[-1], parts[-1].replace("_", " "))


def spoken(level: str) -> str:
    """A factor's level with its unit as people write it: `10ms` is `10 ms`, `100mbit` is `100 Mbit/s`."""
    found = worth([level])
    if found is None or found.unit in ("", "1"):
        return level
    if found.unit in ("packets", "BDP"):
        return f"{found.values[0]:g} {found.unit}"
    return quantity(found.values[0], found.unit)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
