"""The receive window that a kernel advertises for a receive buffer, once the reader keeps up.

The buffer is what the socket has (SO_RCVBUF doubled). It holds memory, not payload: a segment of `mss` bytes
takes `mss + overhead`, its truesize, and the kernel guesses how much of the buffer will be payload. Source:
`tcp_win_from_space`, `tcp_grow_window`, `__tcp_select_window`, `tcp_select_initial_window` of Linux. Range: a
fixed buffer (`tcp_moderate_rcvbuf` 0, or SO_RCVBUF set), full segments, no offloads, a reader that never
waits.
"""

from __future__ import annotations

MSS = 1448
OLD_OVERHEAD, NEW_OVERHEAD = 768, 832
"""Memory of a segment beside its payload, in the labs' kernels 6.1 and 6.12 (64 bits)."""
_LARGEST = 65_535  # the field of the header (RFC 9293)
_RATIO_BITS = 8
_DEFAULT_RATIO = 128  # of 256: what a socket begins with, and the handshake's scale is made of


def old_window(rcvbuf: int, adv_win_scale: int = 1, mss: int = MSS, overhead: int = OLD_OVERHEAD) -> int:
    """Bytes advertised by kernels before 6.6: the buffer less a fixed part of it, `tcp_adv_win_scale`.

    A scale of 1 (the default since 3.4) leaves a half, 2 (the default before) three quarters. One segment is
    reserved, and the segment that is just arriving takes its part.
    """

    def payload(space: int) -> int:
        return space - (space >> adv_win_scale)

    whole = payload(rcvbuf)
    return _sent(min(whole - mss, payload(rcvbuf - mss - overhead)), whole, mss)


def new_window(rcvbuf: int, mss: int = MSS, overhead: int = NEW_OVERHEAD) -> int:
    """Bytes advertised by kernels from 6.6 on: the buffer times the measured payload of its memory."""
    ratio = scaling_ratio(mss, overhead)
    room = (rcvbuf - mss - overhead) * ratio >> _RATIO_BITS
    return _sent(room, rcvbuf * _DEFAULT_RATIO >> _RATIO_BITS, mss)


def scaling_ratio(mss: int = MSS, overhead: int = NEW_OVERHEAD) -> int:
    """Payload of a segment over its truesize, in 256ths (`tcp_sock.scaling_ratio`)."""
    return (mss << _RATIO_BITS) // (mss + overhead)


def _sent(room: int, at_handshake: int, mss: int) -> int:
    """The window as it goes into the header: scaled as the handshake allowed for, else whole segments."""
    scale = min(14, max(0, at_handshake.bit_length() - 16))
    if scale == 0:
        return min(room, _LARGEST) // mss * mss
    return min(-(-room // (1 << scale)), _LARGEST) << scale
