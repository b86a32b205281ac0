"""The machine around a run: when it is worth a warning, and when a line is not what was asked."""

from pathlib import Path
from typing import Any

import builders
import pytest

from rushhour.metrics.surroundings import bound_ns, carried, sampling_error_ns, surroundings
from rushhour.record.document import read
from rushhour.record.record import Record
from rushhour.record.result_file import ResultFile

QUIET: dict[str, Any] = {
    "cpus": 2, "steal": 0.0, "others": [],
    "cpu_share": {"agent": 0.02, "experiment": 0.3, "others": 0.01, "idle": 0.67},
    "sampling_error_ns": {"p50": 40_000, "p99": 90_000, "max": 120_000},
}  # fmt: skip


def record_with(tmp_path: Path, machine: dict[str, Any]) -> Record:
    record = builders.record(tmp_path / "record", flows=[builders.flow(0)])
    vars(record)["result"] = read(ResultFile, {**record.result, "machine": machine}, "here")
    return record


def test_a_quiet_machine_is_not_worth_a_word(tmp_path: Path) -> None:
    record = record_with(tmp_path, {"": QUIET})
    assert surroundings(record) == []
    assert sampling_error_ns(record) == 120_000
    assert list(carried(record)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"cpu_share": {"others": 0.37}, "others": [{"name": "rustc", "cpu": 1, "share": 0.74}]},
            "37 % of this machine's",
        ),
        (
            {"cpu_share": {"others": 0.37}, "others": [{"name": "rustc", "cpu": 1, "share": 0.74}]},
            "rustc 74 % of CPU 1",
        ),
        ({"steal": 0.03}, "hypervisor took 3.0 %"),
        ({"sampling_error_ns": {"p50": 1, "p99": 80_000_000, "max": 90_000_000}}, "80 ms late"),
    ],
)
def test_what_disturbs_is_told_by_machine(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    (told,) = surroundings(record_with(tmp_path, {"s1": QUIET | change, "r1": QUIET}))
    assert told.startswith("s1: ")
    assert said in told


def test_a_line_may_be_late_by_a_share_of_the_round_trip(tmp_path: Path) -> None:
    line = [
        {"end": 2, "missed": 1, "refused": 2, "lateness_ns": {"p50": 1, "p99": 5_000_000, "max": 6_000_000}}
    ]
    record = record_with(tmp_path, {"": QUIET | {"line": line}})
    (one,) = carried(record)
    assert (one.end, one.late_ns, one.lost) == (2, 5_000_000, 3)
    assert bound_ns(record) >= 1_000_000
