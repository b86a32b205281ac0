"""Plays a film of segments: takes each at a bit rate that fits, tells what was to be seen.

CHOICE is `buffer`: the rate follows what is in the buffer (Huang et al., SIGCOMM 2014), the least up to a
fifth of BUFFER, the most from four fifths on, between them in proportion. Or `throughput`: the highest below
0.85 of the harmonic mean of the last five segments (FESTIVE, CoNEXT 2012).
"""

import itertools
import os
import socket
import time

LADDER = [400_000, 1_000_000, 2_000_000, 3_500_000, 6_000_000]  # bit/s
SEGMENT = 2.0  # seconds of film
LARGEST = float(os.environ.get("BUFFER", "20"))  # seconds of film
LAST, SAFETY = 5, 0.85  # segments; of the throughput


def by_buffer(buffer: float) -> int:
    reservoir, cushion = LARGEST / 5, LARGEST * 4 / 5
    share = (buffer - reservoir) / (cushion - reservoir)
    return LADDER[max(0, min(len(LADDER) - 1, int(share * len(LADDER))))]


def by_throughput(speeds: list[float]) -> int:
    last = speeds[-LAST:]
    mean = len(last) / sum(1 / speed for speed in last) if last else 0.0
    return max([rate for rate in LADDER if rate <= SAFETY * mean], default=LADDER[0])


def fetch(server: socket.socket, size: int) -> None:
    server.sendall(b"GET /%d HTTP/1.1\r\nHost: s1\r\n\r\n" % size)
    head = b""
    while b"\r\n\r\n" not in head:
        head += receive(server, 65536)
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise SystemExit(f"no segment of {size} bytes: {head!r}")
    left = size - len(head.partition(b"\r\n\r\n")[2])
    while left:
        left -= len(receive(server, min(left, 65536)))


def receive(server: socket.socket, most: int) -> bytes:
    if data := server.recv(most):
        return data
    raise SystemExit("the server has closed the connection")


def many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def main() -> None:
    rates: list[int] = []
    speeds: list[float] = []  # bit/s
    stalled, stalls, begun = 0.0, 0, time.monotonic()
    dry = first = 0.0  # when there is nothing left to show; when the first segment was there
    with socket.create_connection(("s1", 80)) as server:
        for _ in range(int(os.environ["SECONDS"]) // int(SEGMENT)):
            buffer = max(0.0, dry - time.monotonic())
            time.sleep(max(0.0, buffer - (LARGEST - SEGMENT)))
            full = min(buffer, LARGEST - SEGMENT)
            measured = os.environ.get("CHOICE") == "throughput"
            rates.append(by_throughput(speeds) if measured else by_buffer(full))
            asked = time.monotonic()
            fetch(server, int(rates[-1] * SEGMENT / 8))
            now = time.monotonic()
            speeds.append(rates[-1] * SEGMENT / (now - asked))
            first = first or now
            still = max(0.0, now - (dry or now))
            stalled, stalls = stalled + still, stalls + (still > 0)
            dry = max(dry, now) + SEGMENT
    time.sleep(max(0.0, dry - time.monotonic()))
    switches = sum(one != other for one, other in itertools.pairwise(rates))
    print(f"began after {first - begun:.2f} s, stood still for {stalled:.2f} s ", end="")
    print(f"({many(stalls, 'time')}), {sum(rates) / len(rates) / 1e6:.2f} Mbit/s in the mean, ", end="")
    print(f"{many(switches, 'change')} of quality")


main()
