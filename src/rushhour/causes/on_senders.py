"""Causes at a sender that settings of its kernel make, whatever its window could."""

from __future__ import annotations

from rushhour.causes.cause import Cause
from rushhour.causes.on_flows import IP_SYSCTL

SENDERS = (
    Cause(
        "remembered-threshold",
        "tcp",
        "Slow start ends at a threshold from before the connection",
        f"{IP_SYSCTL}, tcp_no_ssthresh_metrics_save; ip-route(8), ssthresh; tcp_init_metrics(), "
        "net/ipv4/tcp_metrics.c",
        says=(
            "{cc} on {host} left slow start at {segments}, a threshold that stood there when it began "
            "({whence}): {held} its window grew from there, below what the path holds."
        ),
        word="remembered_threshold",
        known_by=(
            "limit `window`; the first ACK found a threshold below what the path holds, before anything was "
            "lost"
        ),
        helps="`tcp_no_ssthresh_metrics_save = 1`; `ip tcp_metrics flush`; a route without `ssthresh`",
        shown_by=("record",),
    ),
    Cause(
        "pacing-ratio",
        "tcp",
        "The kernel's pacing sends less in a round trip than the window holds",
        f"{IP_SYSCTL}, tcp_pacing_ss_ratio, tcp_pacing_ca_ratio; tcp_update_pacing_rate(), "
        "net/ipv4/tcp_input.c",
        says=(
            "{name} on {host} lets a flow send {ratio} % of its window in a round trip: {held} that held it, "
            "with room in the window."
        ),
        word="pacing_ratio",
        known_by=(
            "limits `slow_start` and `window`, half of their time or more at 90 % of `tcpi_pacing_rate` with "
            "room in the window, and the scenario sets the ratio"
        ),
        helps="a ratio of 100 or more",
        shown_by=("record",),
    ),
)
