"""Bandwidth-delay product and what a window can carry. Range: any path without loss."""

from __future__ import annotations


def bdp_bytes(rate_bps: float, rtt_s: float) -> float:
    """Bytes in flight that just fill a path of this rate and idle RTT: C·R/8 (RFC 6349, section 3.3.1)."""
    return rate_bps * rtt_s / 8


def window_limited_bps(window_bytes: float, rtt_s: float) -> float:
    """The most a window allows: W·8/R in bit/s (RFC 6349, section 3.3.1)."""
    return window_bytes * 8 / rtt_s


def goodput_bps(rate_bps: float, payload: int, frame: int) -> float:
    """Payload rate of a full link: rate · payload / frame, the frame as the shaper counts it."""
    return rate_bps * payload / frame
