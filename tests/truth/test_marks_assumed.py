"""Marks that a sender assumes, in a record as Linux 7 makes it: older kernels know no accurate ECN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import numpy as np
import pytest

from rushhour.explain import explain

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.record import Record

TAKEN, STEP_NS = 400, 100_000_000
ACCURATE, RFC_3168 = 2, 1
"""tcpi_ecn_mode of <linux/tcp.h>."""


def marked(folder: Path, came: int, mode: int = ACCURATE) -> Record:
    """A flow of 10 s: `TAKEN` segments were taken for marked from its begin on, `came` came so."""
    t_ns = np.arange(STEP_NS, 10 * make.SECOND + 1, STEP_NS)
    part = np.linspace(0.01, 1.0, len(t_ns))
    ends = [
        make.tcp_info(
            t_ns, side=side, length=280, ecn_bits=mode, snd_mss=1448, snd_cwnd=20, snd_ssthresh=20,
            busy_time=t_ns // 1000, delivered_ce=np.ceil(TAKEN * part) * (side == 0),
            received_ce=np.ceil(came * part) * side, data_segs_out=69_060 * part, notsent_bytes=1_000_000,
        )
        for side in (0, 1)
    ]  # fmt: skip
    nodes = {0: {"from": "s1", "to": "r1"}}
    return make.record(folder, {"tcp_info": np.sort(np.concatenate(ends), order="t_ns")}, planned=nodes)


@pytest.mark.parametrize(
    ("came", "mode", "cause"),
    [
        (40, ACCURATE, "marks_assumed"),
        (TAKEN, ACCURATE, "marks"),
        (TAKEN * 3 // 4, ACCURATE, "marks"),
        (0, RFC_3168, "marks"),  # what came is not told
    ],
)
def test_marks_that_never_came_are_told_apart(came: int, mode: int, cause: str, tmp_path: Path) -> None:
    (found,) = explain(marked(tmp_path, came, mode))
    assert found.findings[0].cause == cause
    if cause == "marks_assumed":
        assert f"s1 took {TAKEN} segments for marked, and {came} came marked." in found.findings[0].says
