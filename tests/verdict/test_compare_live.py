"""Kernels compared in the laboratory: a fault is found where it is, a harmless change is none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from edited import edited, symbols

from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel
from rushhour.verdict import Verdict, compare

pytestmark = pytest.mark.virtual

SCENARIO = """
title = "Loss"
question = "How much of the window is kept after a loss?"
guards = "{cc} would lose more than it must after a loss"
duration = "1s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "40ms"
buffer = "1MB"
drop = [120]
[[flow]]
name = "long"
[sweep]
cc = ["cubic", "reno"]
[[judge]]
metric = "cwnd_min_segments"
[[judge]]
metric = "cwnd_mean_segments"
minimum = "3%"
"""

Judge = Callable[..., dict[str, Any]]


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Compares an edited kernel with the one it comes from; the cells by their algorithm."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loss.toml").write_text(SCENARIO)
    find = kernels.find

    def judge(candidate: Kernel, **options: Any) -> dict[str, Any]:
        known = {candidate.name: candidate}
        monkeypatch.setattr(kernels, "find", lambda name: known.get(name) or find(name))
        verdict: Verdict = compare("debian-6.12", candidate.name, scenarios=["loss.toml"], **options)
        assert not verdict.missing
        return {str(cell.cell.factors["cc"]): cell for cell in verdict.cells}

    return judge


def test_a_change_that_does_nothing_is_the_same_to_the_byte(judged: Judge, tmp_path: Path) -> None:
    """A word in a message that is never printed."""
    image = kernels.find("debian-6.12").image.read_bytes()
    place = image.index(b"Illegal window scaling value")
    cells = judged(edited("harmless", tmp_path / "k", {place: (b"Illegal", b"Unusual")}))
    assert {cell.verdict for cell in cells.values()} == {"same"}
    assert all(cell.identical for cell in cells.values())


def test_a_wrong_constant_of_cubic_is_found_in_cubic(judged: Judge, tmp_path: Path) -> None:
    """717/1024 of the window is kept after a loss (RFC 9438, section 4.6: 0.7); 614/1024 is 0.6."""
    found = symbols("beta", "bic_scale")
    place = min(found["beta"], key=lambda beta: abs(beta - found["bic_scale"][0]))
    words = (value.to_bytes(4, "little") for value in (717, 614))
    cells = judged(edited("beta", tmp_path / "k", {place: tuple(words)}))  # type: ignore[dict-item]
    assert cells["reno"].identical
    cubic = cells["cubic"]
    assert cubic.verdict == "worse"
    assert "cwnd" in cubic.reason
    assert cubic.divergence is not None
    assert "snd_cwnd" in cubic.divergence["differs"] or "ssthresh" in cubic.divergence["differs"]
    assert cubic.divergence["flow"] == "long"


def test_a_kernel_that_panics_in_some_cells(judged: Judge, tmp_path: Path) -> None:
    """An undefined instruction where CUBIC grows its window: the other cells are judged."""
    (place,) = symbols("cubictcp_cong_avoid")["cubictcp_cong_avoid"]
    image = kernels.find("debian-6.12").image.read_bytes()
    cells = judged(edited("panic", tmp_path / "k", {place: (image[place : place + 2], b"\x0f\x0b")}))
    assert cells["reno"].verdict == "same"
    assert cells["cubic"].verdict == "worse"
    assert "panicked" in cells["cubic"].reason
    assert "cubictcp" in cells["cubic"].reason or "Kernel" in cells["cubic"].reason


def test_a_kernel_that_spins_in_some_cells(
    judged: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A jump to itself at the same place; what a busy machine may take is left to the other cells."""
    monkeypatch.setenv("RUSHHOUR_STALL", "2")
    (place,) = symbols("cubictcp_cong_avoid")["cubictcp_cong_avoid"]
    image = kernels.find("debian-6.12").image.read_bytes()
    cells = judged(edited("spins", tmp_path / "k", {place: (image[place : place + 2], b"\xeb\xfe")}))
    assert (cells["reno"].verdict, cells["cubic"].verdict) == ("same", "worse")
    assert "virtual time stood still" in cells["cubic"].reason


def test_a_kernel_that_does_not_boot(judged: Judge, tmp_path: Path) -> None:
    (place,) = symbols("start_kernel")["start_kernel"]
    image = kernels.find("debian-6.12").image.read_bytes()
    cells = judged(edited("dead", tmp_path / "k", {place: (image[place : place + 2], b"\x0f\x0b")}))
    assert {cell.verdict for cell in cells.values()} == {"invalid"}
    assert "ran in no cell" in cells["reno"].reason


def test_two_versions_of_the_kernel(judged: Judge) -> None:
    """They differ in microseconds from the first packet on, and keep the same part of a window."""
    cells = judged(kernels.find("debian-6.1"))
    assert {cell.verdict for cell in cells.values()} == {"same"}
    assert not any(cell.identical for cell in cells.values())
