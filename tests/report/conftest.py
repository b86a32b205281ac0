"""Result sets that the tests of reports share; made once, never changed."""

from pathlib import Path

import pytest
from report_records import make_set

from rushhour.record import ResultSet


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> ResultSet:
    """One run of two flows."""
    return ResultSet.open(make_set(tmp_path_factory.mktemp("single"), [{}]))


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> ResultSet:
    """Two algorithms by three losses; short."""
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("cubic", "reno") for loss in ("0%", "0.1%", "1%")]
    return ResultSet.open(make_set(tmp_path_factory.mktemp("sweep"), cells, seconds=6))


@pytest.fixture
def hostile(tmp_path: Path) -> ResultSet:
    """A run whose every word is an attack on the page."""
    attack = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    kernel = {"name": attack, "release": attack, "hz": 1000}
    folder = make_set(
        tmp_path, [{"cc": attack}, {"cc": "reno"}], title=attack, question=attack, warnings=[attack], kernel=kernel,
        valid=False, invalid_reasons=[attack], seconds=6, rushhour=attack,
    )  # fmt: skip
    return ResultSet.open(folder)
