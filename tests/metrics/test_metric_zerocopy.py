"""What the kernel says of sends without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
from builders import found

if TYPE_CHECKING:
    from pathlib import Path


def test_sends_and_those_that_were_copied_are_counted(tmp_path: Path) -> None:
    told = make.outcome(zerocopy_sends=8, zerocopy_copied=2, zerocopy_refused=3)
    record = make.record(tmp_path / "run", outcomes=[told])
    assert found(record, "zerocopy_sends") == {"flow:long": 8}
    assert found(record, "zerocopy_copied") == {"flow:long": 0.25}
    assert found(record, "zerocopy_refused") == {"flow:long": 3}


def test_without_zerocopy_there_is_nothing_to_tell(tmp_path: Path) -> None:
    record = make.record(tmp_path / "run")
    assert found(record, "zerocopy_sends") == {}
    assert found(record, "zerocopy_copied") == {}
    assert found(record, "zerocopy_refused") == {}


def test_of_no_send_there_is_no_share(tmp_path: Path) -> None:
    told = make.outcome(zerocopy_sends=0, zerocopy_copied=0)
    record = make.record(tmp_path / "run", outcomes=[told])
    assert found(record, "zerocopy_copied") == {"flow:long": None}
