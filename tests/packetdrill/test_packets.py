"""A capture → packets in the words of scripts; the lines on which a script has them."""

import struct

import pytest

from rushhour.errors import LabError
from rushhour.packetdrill import comparing, lines, packets
from rushhour.packetdrill.outcome import Class, Outcome, Status
from rushhour.packetdrill.scripts import Script

HEAD = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 276)
HERE, THERE = bytes([192, 168, 0, 1]), bytes([192, 0, 2, 1])
TEXT = """// a comment: +0 < S 0:0(0)
`echo
 +0 > in a command`
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 < S 0:0(0) win 257 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1~+.2 > . 1:1(0) ack 1
/* +0 < . */
%{
 1 < 2
}%
* > F. 1:1(0) ack 1
"""


def frame(time_ns: int, sent: bool, data: bytes, protocol: int = 0x0800) -> bytes:
    link = struct.pack("!HHIHBB8x", protocol, 0, 2, 0xFFFE, 4 if sent else 0, 0)
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return struct.pack("=IIII", seconds, rest, 20 + len(data), 20 + len(data)) + link + data


def segment(flags: int, sequence: int, ack: int, options: bytes = b"", **how: int) -> bytes:
    ports, size, window = how.get("ports", 8080), how.get("size", 0), how.get("window", 100)
    head = struct.pack(
        "!HHIIBBHHH", ports, 9, sequence, ack, (5 + len(options) // 4) << 4, flags, window, 0, 0
    )
    return head + options + bytes(size)


def ipv4(data: bytes, *, sent: bool, protocol: int = 6, service: int = 0, claimed: int = 0) -> bytes:
    ends = HERE + THERE if sent else THERE + HERE
    return (
        struct.pack("!BBHHHBBH", 0x45, service, claimed or 20 + len(data), 7, 0, 64, protocol, 0)
        + ends
        + data
    )


def back(data: bytes) -> bytes:
    """The same segment in the other direction."""
    return data[2:4] + data[:2] + data[4:]


def read(*frames: bytes) -> list[str]:
    return [packet.text for packet in packets.read(HEAD + b"".join(frames))]


def test_numbers_count_from_the_connections_own() -> None:
    stamps = bytes([1, 1, 8, 10]) + struct.pack("!II", 7000, 100)
    later = bytes([1, 1, 8, 10]) + struct.pack("!II", 7050, 200)
    assert read(
        frame(1, False, ipv4(back(segment(0x02, 5000, 0, bytes([2, 4, 3, 232]))), sent=False)),
        frame(2, True, ipv4(segment(0x12, 4294967290, 5001, stamps), sent=True)),
        frame(3, True, ipv4(segment(0x18, 4294967291, 5001, later, size=10, window=9), sent=True, service=2)),
        frame(4, False, ipv4(back(segment(0x10, 5001, 5, sackblock(3, 7))), sent=False)),
    ) == [
        "S 0:0(0) win 100 <mss 1000>",
        "S. 0:0(0) ack 1 win 100 <nop,nop,TS val 0 ecr 100>",
        "[ect0] P. 1:11(10) ack 1 win 9 <nop,nop,TS val 50 ecr 200>",
        ". 1:1(0) ack 11 win 100 <nop,nop,sack 9:13>",
    ]


def sackblock(left: int, right: int) -> bytes:
    return bytes([1, 1, 5, 10]) + struct.pack("!II", left, right)


def test_a_new_connection_of_the_same_ends_has_its_own_number() -> None:
    found = packets.read(
        HEAD
        + b"".join(
            frame(1, True, ipv4(segment(0x02, begin, 0, ports=port), sent=True))
            for begin, port in [(10, 1), (10, 1), (99, 1), (10, 2)]
        )
    )
    assert [packet.connection for packet in found] == [0, 0, 1, 2]
    assert {packet.text for packet in found} == {"S 0:0(0) win 100"}


def test_what_is_no_tcp_is_told_and_housekeeping_left_out() -> None:
    solicitation = struct.pack("!IHBB", 6 << 28, 8, 58, 255) + bytes(32) + bytes([135, 0]) + bytes(6)
    options = bytes([58, 0, 5, 2, 0, 0, 1, 0])
    group_report = struct.pack("!IHBB", 6 << 28, 36, 0, 1) + bytes(32) + options + bytes([143]) + bytes(27)
    assert read(
        frame(1, True, ipv4(bytes(8) + bytes(100), sent=True, protocol=17)),
        frame(2, False, ipv4(struct.pack("!BBHI", 3, 4, 0, 1200), sent=False, protocol=1)),
        frame(3, True, ipv4(b"", sent=True, protocol=2)),
        frame(4, True, solicitation, 0x86DD),
        frame(5, True, group_report, 0x86DD),
        frame(6, True, bytes(30), 0x0806),
    ) == ["udp (100)", "icmp type 3 code 4 1200", "protocol 0x0806 (30)"]


def test_keys_of_mptcp_say_nothing() -> None:
    option = bytes([30, 12, 0x01, 0x81]) + bytes(range(8))
    other = bytes([30, 12, 0x01, 0x81]) + bytes(8)
    assert (
        read(frame(1, True, ipv4(segment(2, 1, 0, option), sent=True)))
        == read(frame(1, True, ipv4(segment(2, 1, 0, other), sent=True)))
        == ["S 0:0(0) win 100 <mptcp capable (12)>"]
    )


@pytest.mark.parametrize(
    "capture",
    [
        b"",
        b"x" * 30,
        HEAD + b"cut",
        HEAD + frame(1, True, b""),
        HEAD + frame(1, True, ipv4(b"short", sent=True)),
    ],
)
def test_a_broken_capture_is_an_error(capture: bytes) -> None:
    with pytest.raises(LabError, match="cannot be read"):
        packets.read(capture)


@pytest.mark.parametrize("options", [bytes([8, 0, 0, 0]), bytes([5, 3, 1, 0]), bytes([30, 2, 0, 0])])
def test_broken_options_end_nothing(options: bytes) -> None:
    assert read(frame(1, True, ipv4(segment(2, 1, 0, options), sent=True)))[0].startswith(
        "S 0:0(0) win 100 <"
    )


def test_lines_are_those_of_packets_alone() -> None:
    found = lines.of_packets(TEXT)
    assert [(line.number, line.sent) for line in found] == [(5, False), (6, True), (7, True), (12, True)]


def test_several_packets_may_be_of_one_line() -> None:
    script = lines.Reader(
        "+0 > P. 1:10001(10000) ack 1\n+0 < . 1:1(0) ack 10001\n+0 > P. 10001:10002(1) ack 1\n"
    )
    seen = []
    for size in (5000, 5000, 1, 1):
        seen.append(script.line(sent=True))
        script.take(size, sent=True)
    assert seen == [1, 1, 3, 0]
    assert script.line(sent=False) == 2


def outcome(
    times_ms: list[float], status: Status = "pass", kind: Class = "", line: int = 0, **how: int
) -> Outcome:
    window = how.get("window", 100)
    frames = [
        frame(
            round(at * 1e6) + how.get("late_ns", 0), True, ipv4(segment(0x10, 1, 1, window=window), sent=True)
        )
        for at in times_ms
    ]
    first_ns = round(times_ms[0] * 1e6) if times_ms else None
    return Outcome(
        Script("a.pkt"), "ipv4", status, kind, line, capture=HEAD + b"".join(frames), first_ns=first_ns
    )


def word(base: Outcome, candidate: Outcome) -> tuple[str, str | None, int | None]:
    found = comparing.compare(base, candidate, TEXT)
    parted = found.later or found.divergence
    return found.word, parted.what if parted else None, parted.line if parted else None


def test_times_count_from_the_scripts_begin_and_small_differences_do_not() -> None:
    base = outcome([10, 20, 30])
    assert word(base, outcome([10, 20, 30], late_ns=10_000_000))[0] == "same"
    assert word(base, outcome([10, 20.005, 30]))[0] == "same"
    assert word(base, outcome([10, 20, 31])) == ("departs", "1.000 ms later", 12)
    assert word(base, outcome([9, 20, 30])) == ("departs", "1.000 ms earlier", 6)
    assert word(base, outcome([10, 20])) == ("departs", "a packet less", 12)
    assert word(base, outcome([])) == ("departs", "a packet less", 6)


def test_a_window_alone_is_told_first_and_what_matters_after_it() -> None:
    found = comparing.compare(outcome([10, 20, 30]), outcome([10, 20, 35], window=7), TEXT)
    assert found.divergence is not None
    assert found.later is not None
    assert (found.divergence.what, found.divergence.line) == ("another window", 6)
    assert (found.later.what, found.later.line) == ("5.000 ms later", 12)
    assert found.divergence.base == "0.010000 > . 0:0(0) ack 1 win 100"


def test_outcomes_decide_before_packets() -> None:
    passed, failed = outcome([10]), outcome([10], "fail", "time", 6)
    assert word(passed, failed)[0] == "worse"
    assert word(failed, passed)[0] == "better"
    assert word(failed, failed)[0] == "same"
    assert word(failed, outcome([10], "fail", "packet", 6))[0] == "departs"
    assert word(outcome([], "error", "crash"), passed)[0] == "invalid"
    assert word(passed, outcome([], "error", "crash"))[0] == "worse"
    assert word(outcome([], "fail", "newer"), passed)[0] == "skipped"
    assert word(outcome([], "fail", "setting"), passed)[0] == "skipped"
    assert word(passed, outcome([], "fail", "setting"))[0] == "worse"


def test_a_packet_behind_the_line_that_failed_is_of_no_line() -> None:
    failed = outcome([10, 20], "fail", "time", 6)
    assert word(failed, outcome([10, 25], "fail", "time", 6)) == ("departs", "5.000 ms later", 0)


def test_the_whole_is_as_its_worst_part_and_nothing_is_no_success() -> None:
    same = comparing.compare(outcome([10]), outcome([10]), TEXT)
    worse = comparing.compare(outcome([10]), outcome([10], "fail", "time", 6), TEXT)
    skipped = comparing.compare(outcome([], "fail", "newer"), outcome([10]), TEXT)
    assert comparing.verdict([same, worse, skipped]) == "worse"
    assert comparing.verdict([same, skipped]) == "same"
    assert comparing.verdict([skipped]) == "invalid"
