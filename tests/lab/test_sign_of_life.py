"""Where virtual time stood still: what is told of a guest that gives no more signs of life."""

import os
from pathlib import Path

import pytest

from rushhour.errors import GuestError
from rushhour.lab.confine import Ending, Sandbox
from rushhour.lab.ending import result_of
from rushhour.verdict.words import of_failure


def refusal(box: Sandbox) -> str:
    (box.out / "raw").mkdir(exist_ok=True)
    box.console.write_text("[    0.000000] Linux version 6.12\n")
    with pytest.raises(GuestError) as caught:
        result_of(Ending("stall", None, 9, 31.0, ()), box, "k, seed 1")
    assert caught.value.hangs
    return of_failure(caught.value.message)


def test_the_instant_of_the_last_sign_is_told(tmp_path: Path) -> None:
    with Sandbox(tmp_path) as box:
        assert refusal(box) == "virtual time stood still: the guest spins, or waits for nothing"
        (box.out / "progress").write_bytes((2_310_000_000).to_bytes(8, "little"))
        assert refusal(box).startswith("virtual time stood still 2.31 s after the start: ")


def test_what_is_no_sign_is_none(tmp_path: Path) -> None:
    with Sandbox(tmp_path) as box:
        (box.out / "progress").write_bytes(b"now")
        assert box.reached_s is None
        (box.out / "progress").unlink()
        os.mkfifo(box.out / "progress")
        assert box.reached_s is None
