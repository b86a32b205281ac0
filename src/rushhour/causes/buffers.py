"""How much memory a window takes, by the kernel's own formulas; what `diagnose` and `tune` set buffers to."""

from __future__ import annotations

import re

from rushhour.causes.thresholds import WINDOWS

MIB = 1 << 20
LEAST_RECEIVE, LEAST_SEND = 6 * MIB, 4 * MIB
"""The defaults of tcp_rmem[2] and tcp_wmem[2] (tcp_init, net/ipv4/tcp.c); less is never recommended."""
_PAGE = 4096
_RATIO_SINCE = (6, 6)


def version(release: str) -> tuple[int, int]:
    """Major and minor number of a kernel's release; (0, 0) where it has none."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def window_of(space: int, release: str, adv_win_scale: int) -> int:
    """The window that so many bytes of buffer become; the reverse of `receive_space`."""
    if version(release) >= _RATIO_SINCE:
        return space // 2
    return space >> -adv_win_scale if adv_win_scale <= 0 else space - (space >> adv_win_scale)


def receive_space(window: float, release: str, adv_win_scale: int) -> tuple[int, str]:
    """Bytes of buffer that become a window of so many bytes, and the formula in words.

    Since Linux 6.6 the window is the buffer times `scaling_ratio`, the payload's part of a packet's memory,
    which begins at a half (`TCP_DEFAULT_SCALING_RATIO`, include/net/tcp.h); before, `tcp_adv_win_scale` took
    its part (`tcp_win_from_space`: space - space/2^scale, for a scale of 0 or less space/2^-scale).
    """
    if version(release) >= _RATIO_SINCE:
        return int(2 * window), "the window is half of the buffer (scaling_ratio, tcp_win_from_space)"
    if adv_win_scale <= 0:
        words = f"the window is the buffer / 2^{-adv_win_scale} (tcp_adv_win_scale)"
        return int(window * 2**-adv_win_scale), words
    part = 1 - 2**-adv_win_scale
    words = f"the window is {part:.2g} of the buffer (tcp_adv_win_scale {adv_win_scale})"
    return int(window / part), words


def send_space(window: float) -> tuple[int, str]:
    """Bytes of send buffer for a window: the kernel makes room for twice the congestion window.

    `tcp_sndbuf_expand` (net/ipv4/tcp_input.c): what is in flight is kept until it is acknowledged, and as
    much again may be written meanwhile.
    """
    return int(2 * window), "the kernel keeps twice what is in flight (tcp_sndbuf_expand)"


def receive(held: float, release: str, adv_win_scale: int) -> tuple[int, str]:
    """Bytes of receive buffer for a path that holds so many, and the formula in words."""
    return receive_space(WINDOWS * held, release, adv_win_scale)


def send(held: float) -> tuple[int, str]:
    """Bytes of send buffer for such a path, and the formula in words."""
    return send_space(WINDOWS * held)


def own(held: float) -> int:
    """What a program that sets its buffer may have to ask for; the kernel doubles it. In whole MiB."""
    return rounded(WINDOWS * held)


def rounded(size: float) -> int:
    """The next whole MiB."""
    return -(-int(size) // MIB) * MIB


def pages(size: float) -> int:
    """The next whole page."""
    return -(-int(size) // _PAGE)
