"""What an explanation advises is tried: a sample of the generated cells here, more when it is asked for.

`RUSHHOUR_ADVICE=400` tries the cells 0 to 399 (a quarter of an hour);
`python tests/explain/advice.py -- 7 20` tries these and tells.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from advice import NAMES, Trial, wrong
from faults import CAUSES, causes, fault

from rushhour.spec.load import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = [2 * place + place % 2 for place in range(len(CAUSES))]
"""Every cause once, every other one together with another."""
MENDED = [7, 85, 205, 243, 251, 257, 300, 1143]
"""Cells whose advice did not hold once links took time to send, or promised too much before."""
ASKED = int(os.environ.get("RUSHHOUR_ADVICE", "0"))


@pytest.mark.virtual
@pytest.mark.parametrize("number", range(ASKED) if ASKED else sorted({*SAMPLE, *MENDED}))
def test_every_advice_keeps_its_promise(number: int, tmp_path: Path) -> None:
    assert list(wrong(fault(number), Trial(tmp_path))) == []


def test_every_cause_is_generated_and_has_a_name() -> None:
    assert {name for number in SAMPLE for name in causes(number)} == CAUSES.keys() == NAMES.keys()


@pytest.mark.parametrize("number", range(0, 400, 7))
def test_cells_are_scenarios_and_the_same_every_time(number: int, tmp_path: Path) -> None:
    for without in ("", *causes(number)):
        text = fault(number, without).text
        assert text == fault(number, without).text
        path = tmp_path / "cell.toml"
        path.write_text(text)
        assert load_scenario(str(path)).flow[0].label == "bulk"
