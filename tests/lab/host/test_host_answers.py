"""Answers of an agent: read as what they are, and refused in words where they are something else."""

from __future__ import annotations

from typing import Any

import pytest

from rushhour.errors import HostError
from rushhour.lab.host import answers, settings

SYSCTL = {"kind": "sysctl", "name": "net.ipv4.tcp_sack", "value": 1}


class Says:
    """A session whose agent gives the same answer to everything."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer

    def call(self, verb: str, *, timeout_s: float | None = None, **arguments: Any) -> dict[str, Any]:
        assert verb in {"check", "revert"}
        assert arguments
        assert timeout_s is None or timeout_s > 0
        return self.answer


def test_what_would_be_changed_is_told_with_its_values_or_its_error() -> None:
    error = {"message": "no such file", "hint": "", "where": None, "kind": None}
    rows = [
        {"change": SYSCTL, "key": "k", "before": "0", "after": "1", "same": False},
        {"change": SYSCTL | {"if_there": True}, "error": error},
    ]
    made, missing = settings.check(Says({"rows": rows}), [SYSCTL, SYSCTL])
    assert (made.key, made.before, made.after, made.skipped) == ("k", "0", "1", False)
    assert (missing.error, missing.hint, missing.skipped) == ("no such file", None, True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "undone is None; expected something"),
        ({"undone": [{"change": SYSCTL, "outcome": 3}]}, "undone.0.outcome is 3; expected a text"),
        ({"undone": [{"change": {}, "outcome": "gone"}]}, "undone.0.change.kind is None"),
    ],
)
def test_an_answer_of_another_shape_is_the_agents_fault(answer: dict[str, Any], said: str) -> None:
    with pytest.raises(HostError, match="the agent's answer cannot be read") as caught:
        settings.revert(Says(answer), kept=True)
    assert said in caught.value.message
    assert caught.value.kind == "garbled"


def test_an_answer_keeps_what_nobody_asked_for() -> None:
    hello = answers.typed(answers.Hello, {"format": "x", "kernel": {"release": "6.1"}, "moon": "full"})
    assert (hello.kernel.release, hello.cpus, hello["moon"]) == ("6.1", 1, "full")
