"""What packetdrill writes → outcomes → TAP, JUnit, JSON."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from fakes import kernel

from rushhour.export.junit import junit
from rushhour.export.tap import tap
from rushhour.lab.commands import Ended
from rushhour.packetdrill import telling
from rushhour.packetdrill.outcome import CLASSES, Outcome, judge
from rushhour.packetdrill.scripts import Script

SCRIPT = Script("tcp/a/one.pkt")
LATE = """sysctl: cannot stat /proc/sys/net/ipv4/tcp_new: No such file or directory
one.pkt:27: error handling packet: timing error: expected outbound packet at 0.2 sec but happened at 0.3 sec; tolerance 0.004 sec
script packet:  0.200000 . 1:1001(1000) ack 1
actual packet:  0.300000 . 1:1001(1000) ack 1 win 1050
"""  # noqa: E501 - as it is written
ASSERTED = """one.pkt:31: error in Python code
Traceback (most recent call last):
  File "/tmp/code_x", line 8, in <module>
    assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd
AssertionError: 11
"""


def judged(output: str, **how: Any) -> Outcome:
    ended = {"exit": 1, "signal": None, "late": False, "took_s": 1.5} | how
    return judge(SCRIPT, "ipv4", Ended(**ended, output=output))


def test_a_script_that_ends_well_has_passed() -> None:
    assert judged("a warning\n", exit=0).status == "pass"


@pytest.mark.parametrize(
    ("output", "kind", "line"),
    [
        (LATE, "time", 27),
        (ASSERTED, "assertion", 31),
        (
            "one.pkt:9: error handling packet: live packet field tcp_fin: expected: 1 vs actual: 0\n",
            "packet",
            9,
        ),
        ("one.pkt:9: runtime error in write call: Expected result 5 but got 4 with errno 2\n", "call", 9),
        ("one.pkt:9: runtime error in setsockopt call: errno 92 (Protocol not available)\n", "setting", 9),
        ("one.pkt:9: error executing `x` command: non-zero status 1\n", "setting", 9),
        ("linux_af_alg_socket: Failed to bind AF_ALG socket(hash,sha1): No such file\n", "setting", 0),
        ("one.pkt:9: syntax error at '+'\n", "script", 9),
        (
            "sh: 1: nft: not found\none.pkt:9: error executing `nft` command: non-zero status 127\n",
            "program",
            9,
        ),
        ("assertion len >= sizeof(struct _tcp_info) failed at code.c line 148\n", "newer", 0),
        ("", "packet", 0),
    ],
)
def test_a_failure_has_a_line_and_a_class(output: str, kind: str, line: int) -> None:
    found = judged(output)
    assert (found.kind, found.line) == (kind, line)
    assert found.kind in CLASSES
    assert found.reason


def test_ends_that_are_none_of_the_scripts_are_told() -> None:
    assert judged("", exit=None, signal=11).kind == "crash"
    assert "300 s" in judged("", exit=None, signal=9, late=True, took_s=300.0).reason


def test_both_packets_are_told() -> None:
    head, expected, actual = telling.details(judged(LATE))
    assert head.startswith("tcp/a/one.pkt:27 (ipv4): error handling packet: timing error")
    assert expected.split()[:2] == ["expected", "0.200000"]
    assert actual.split()[:2] == ["actual", "0.300000"]


def test_formats_have_the_line_and_both_packets(tmp_path: Path) -> None:
    outcomes = [judged(LATE), judged("", exit=0)]
    report = telling.report(outcomes, kernel("under-test", tmp_path), {"sha256": "abc"}, 2.0)
    text = tap(report)
    assert "not ok 1 tcp/a/one.pkt ipv4" in text
    assert "# actual 0.300000" in text
    assert "ok 2 tcp/a/one.pkt ipv4" in text
    failure = ET.fromstring(junit(report).encode()).find(".//failure")
    assert failure is not None
    assert failure.text
    assert "one.pkt:27" in failure.text
    assert "expected  0.200000" in failure.text


def test_the_document_tells_all_of_it(tmp_path: Path) -> None:
    told = telling.document([judged(ASSERTED)], kernel("under-test", tmp_path), {"sha256": "abc"})
    assert told["headline"] == "0 of 1 passed; failed: assertion 1"
    assert told["scripts"][0]["reason"].endswith("tcpi_snd_cwnd: AssertionError: 11")
