"""The fleet without tables: workers keep them, or put them into a store; all else is as usual."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fleets
import pytest
from fleets import Bed, Odd, bed

from rushhour.fleet.use import fleet
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.running import runner

if TYPE_CHECKING:
    from rushhour.record.slim import Wanted


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fleets.settle(tmp_path, monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def sweep(
    one: Bed, wanted: Wanted, repeat: int = 5, out: str = "out", **options: Any
) -> tuple[list[Any], list[str]]:
    """Four times `repeat` runs; the outcomes, and what was told."""
    told: list[str] = []
    lab = fleets.lab()
    batches = runner.prepare(["fake.toml"], repeat=repeat, out=Path(out))
    with (
        fleet(one.address, lab, tell=told.append, wanted=wanted, **options) as executor,
        closing(runner.carry_out(batches, lab, executor=executor, wanted=wanted)) as going,
    ):
        outcomes = [*going]
    assert not [outcome.error for outcome in outcomes if outcome.error is not None]
    return outcomes, told


def slim(store: str | None = None) -> Wanted:
    return runner.keeping("uml", None if store else "metrics", store)


def truthful(outcomes: list[Any], folder: Path) -> None:
    """Whether what came was measured of the bytes that the run has here."""
    lab = fleets.lab()
    for outcome in outcomes:
        thin = Record.verified(outcome.record)
        assert not thin.is_whole
        whole = Record.open(lab.run(outcome.batch.job(outcome.run), folder / thin.path.name))
        assert thin.manifest.files == whole.manifest.files
        assert thin.metrics() == whole.metrics()


def test_only_metrics_come_back(place: Path) -> None:
    with bed(place / "bed", Odd(), Odd()) as one:
        outcomes, told = sweep(one, slim(), audit=0.5)
        again, _ = sweep(one, slim())
        elsewhere, _ = sweep(one, slim(), out="elsewhere")
    assert not told
    assert len(outcomes) == 20
    truthful(outcomes, place / "truth")
    assert not [*place.glob("out/runs/*/raw")]
    assert all(outcome.cached for outcome in [*again, *elsewhere])
    assert len(ResultSet.open(place / "out")) == 20
    assert (place / "out/index.parquet").is_file()


@pytest.mark.parametrize("honest", [1, 2])
@pytest.mark.parametrize("odd", [Odd("lies", 0), Odd("lies", 5), Odd("boasts")])
def test_who_lies_of_tables_or_of_metrics_is_named(place: Path, odd: Odd, honest: int) -> None:
    with bed(place / "bed", odd, *[Odd("slow", 0.01)] * honest) as one:
        outcomes, told = sweep(one, slim(), repeat=10, audit=1.0)
    truthful(outcomes, place / "truth")
    aside = [text for text in told if "is set aside" in text]
    assert len(aside) == 1
    assert "it gave other" in aside[0]


def test_who_measures_otherwise_is_set_aside_where_nobody_can_measure_again(place: Path) -> None:
    with bed(place / "bed", Odd("measures"), Odd("slow", 0.01)) as one:
        outcomes, told = sweep(one, slim())
    truthful(outcomes, place / "truth")
    assert len(told) == 1
    assert "it measures with another Python or numpy" in told[0]


def test_workers_put_records_into_a_store_and_they_are_fetched(place: Path) -> None:
    with bed(place / "bed", Odd(), Odd()) as one:
        outcomes, told = sweep(one, slim(f"file://{place}/store"), audit=1.0)
    assert not told
    # What an audit makes twice has one name.
    assert len([*place.glob("store/*/*.tar.gz")]) == 20
    truthful(outcomes, place / "truth")
    for outcome in outcomes:
        assert len(Record.open(outcome.record).table("tcp_probe")) == 4
    shutil.rmtree(place / "cache")
    assert len(Record.open(outcomes[0].record).table("tcp_probe")) == 4


def test_a_worker_that_cannot_write_the_store_is_set_aside(place: Path) -> None:
    with bed(place / "bed", Odd("storeless"), Odd("slow", 0.01)) as one:
        outcomes, told = sweep(one, slim(f"file://{place}/store"))
    assert len(outcomes) == 20
    assert len(told) == 1
    assert "the storage cannot be written" in told[0]
