"""Looking for failures: the first ends a comparison."""

from pathlib import Path

import pytest
from test_running import Judge, bench, found, many_cells, seeded

from rushhour.errors import GuestError

__all__ = ["bench"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_where_failures_are_looked_for_the_first_ends_it_and_nothing_else_has_more_seeds(
    bench: Judge, tmp_path: Path, jobs: int
) -> None:
    (tmp_path / "fake.toml").write_text(many_cells(10))

    def behaviour(kernel: str, cc: str, seed: int) -> float:
        if kernel == "new" and cc == "bbr":
            raise GuestError("the kernel complains")
        return 90 + seeded(kernel, seed).gauss(10 * (kernel == "new"), 3)

    verdict = bench(behaviour, failures=True, jobs=jobs)
    failed = [cell for cell in verdict.cells if cell.failed]
    assert 1 <= len(failed) <= jobs, "what ran beside it"
    assert verdict.stopped
    assert len(bench.lab.ran) <= 2 * (4 + jobs), "one seed of each"  # type: ignore[attr-defined]
    assert verdict.planned == 40


def test_what_the_base_fails_in_as_well_ends_nothing(bench: Judge) -> None:
    def behaviour(_kernel: str, cc: str, _seed: int) -> float:
        if cc == "bbr":
            raise GuestError("the kernel complains")
        return 90.0

    verdict = bench(behaviour, failures=True, jobs=1)
    assert found(verdict) == {"cubic": "same", "reno": "same", "vegas": "same", "bbr": "invalid"}
    assert not verdict.stopped
