"""IP fragmentation: how many packets a datagram travels in, and what is lost of it by chance.

Source: RFC 791, section 3.2, and RFC 8200, section 4.5 (fragments but the last carry a multiple of eight
bytes; IPv6 has a header of its own for them); a datagram is put
together from all its fragments or not at all. Range: each packet is lost by itself with one probability. A
queue that is always full loses packets evenly, and so hits more datagrams: one packet in ten is one fragment
of each ten.
"""

from __future__ import annotations

IP_HEADER = 20
IPV6_HEADER = 40
IPV6_FRAGMENT_HEADER = 8
UDP_HEADER = 8
_UNIT = 8


def fragments(payload: int, mtu: int, *, ipv6: bool = False) -> int:
    """Packets that a UDP datagram of `payload` bytes takes over IPv4 (or IPv6) on a link of that MTU."""
    whole = payload + UDP_HEADER
    if whole + (IPV6_HEADER if ipv6 else IP_HEADER) <= mtu:
        return 1
    room = mtu - fragment_header(ipv6=ipv6)
    each = room // _UNIT * _UNIT
    last = room - each  # the last fragment is not bound to the unit
    return max(2, -(-(whole - last) // each))


def fragment_header(*, ipv6: bool) -> int:
    """Bytes of IP in front of each fragment."""
    return IPV6_HEADER + IPV6_FRAGMENT_HEADER if ipv6 else IP_HEADER


def datagram_loss(loss: float, count: int) -> float:
    """Probability that one of `count` fragments is lost, and with it the datagram: 1 - (1 - p)^n."""
    return float(1 - (1 - loss) ** count)
