"""Plays a film of segments: takes each at the bit rate that the buffer allows, tells what was to be seen.

The rate follows the buffer (Huang et al., SIGCOMM 2014): the least up to RESERVOIR, the most from CUSHION on,
between them in proportion.
"""

import itertools
import os
import socket
import time

LADDER = [400_000, 1_000_000, 2_000_000, 3_500_000, 6_000_000]  # bit/s
SEGMENT, RESERVOIR, CUSHION, LARGEST = 2.0, 4.0, 16.0, 20.0  # seconds of film


def choose(buffer: float) -> int:
    share = (buffer - RESERVOIR) / (CUSHION - RESERVOIR)
    return LADDER[max(0, min(len(LADDER) - 1, int(share * len(LADDER))))]


def fetch(server: socket.socket, size: int) -> None:
    server.sendall(b"GET /%d HTTP/1.1\r\nHost: s1\r\n\r\n" % size)
    head = b""
    while b"\r\n\r\n" not in head:
        head += server.recv(65536)
    left = size - len(head.partition(b"\r\n\r\n")[2])
    while left:
        left -= len(server.recv(min(left, 65536)))


def main() -> None:
    rates: list[int] = []
    stalled, begun = 0.0, time.monotonic()
    dry = first = 0.0  # when there is nothing left to show; when the first segment was there
    with socket.create_connection(("s1", 80)) as server:
        for _ in range(int(os.environ["SECONDS"]) // int(SEGMENT)):
            buffer = max(0.0, dry - time.monotonic())
            time.sleep(max(0.0, buffer - (LARGEST - SEGMENT)))
            rates.append(choose(min(buffer, LARGEST - SEGMENT)))
            fetch(server, int(rates[-1] * SEGMENT / 8))
            now = time.monotonic()
            first = first or now
            stalled += max(0.0, now - (dry or now))
            dry = max(dry, now) + SEGMENT
    time.sleep(max(0.0, dry - time.monotonic()))
    switches = sum(one != other for one, other in itertools.pairwise(rates))
    print(f"began after {first - begun:.2f} s, stood still for {stalled:.2f} s, ", end="")
    print(f"{sum(rates) / len(rates) / 1e6:.2f} Mbit/s in the mean, {switches} changes of quality")


main()
