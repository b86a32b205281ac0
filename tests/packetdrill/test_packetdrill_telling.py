"""What is said of scripts that could not be compared."""

from rushhour.packetdrill.comparing import compare
from rushhour.packetdrill.outcome import Outcome
from rushhour.packetdrill.scripts import Script
from rushhour.packetdrill.telling import left_out

ABSENT = "error executing init command: sh: 1: ../common/defaults.sh: not found"


def outcome(path: str, reason: str = "") -> Outcome:
    if not reason:
        return Outcome(Script(path), "ipv4", "pass")
    name = path.rpartition("/")[2]
    return Outcome(Script(path), "ipv4", "fail", "program", reason=f"{name}: {reason}")


def test_each_reason_is_told_once_with_how_often_and_where_first() -> None:
    pairs = [("a/one.pkt", ABSENT), ("a/two.pkt", "no python3"), ("b/three.pkt", ABSENT), ("b/four.pkt", "")]
    changes = [compare(outcome(path, said), outcome(path, said), "") for path, said in pairs]
    assert left_out(changes) == [
        f"2 skipped, a/one.pkt (ipv4) first: {ABSENT}",
        "1 skipped, a/two.pkt (ipv4) first: no python3",
    ]


def test_the_candidates_reason_where_the_base_has_none() -> None:
    change = compare(outcome("one.pkt"), outcome("one.pkt", ABSENT), "")
    assert left_out([change]) == [f"1 skipped, one.pkt (ipv4) first: {ABSENT}"]
