"""Metrics that were measured before are found again, and only where measuring would give the same."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from report_records import make_record, make_set

from rushhour.errors import RecordError
from rushhour.files import remembered
from rushhour.lab import manifest as manifests
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import sealed
from rushhour.summary import index, measured
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/rushhour/metrics.sqlite"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_record(tmp_path / "run", {"cc": "cubic"}, seconds=4)


def relabelled(run: Path, **changed: Any) -> Record:
    """The record with other entries in its manifest, sealed anew."""
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(sealed({**manifest, **changed})))
    return Record.open(run)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Record]]:
    """The records that were measured."""
    found: list[Record] = []
    whole = Record.metrics

    def measure(record: Record) -> Any:
        found.append(record)
        return whole(record)

    monkeypatch.setattr(Record, "metrics", measure)
    return found  # type: ignore[return-value]


def test_a_record_is_measured_once(run: Path, counted: list[Record]) -> None:
    first = metrics_of(Record.open(run))
    assert metrics_of(Record.open(run)) == first
    assert len(counted) == 1
    assert first == Record.open(run).metrics()
    assert len({value.metric for value in first}) > 20
    assert any(value.value is None for value in first)


def test_on_demand_it_is_measured_again(run: Path, counted: list[Record]) -> None:
    assert metrics_of(Record.open(run)) == metrics_of(Record.open(run), fresh=True)
    assert len(counted) == 2


def test_a_known_run_that_serves_another_cell_is_not_measured_again(run: Path, counted: list[Record]) -> None:
    first = metrics_of(Record.open(run))
    other = relabelled(run, cell={"index": 7, "factors": {}}, repetition=3, elapsed_s=9.0, host={})
    assert metrics_of(other) == first
    assert len(counted) == 1


@pytest.mark.parametrize("changed", [{"seed": 2}, {"kernel": {"name": "other"}}, {"lab": "netns"}])
def test_a_record_of_other_contents_is_measured(run: Path, counted: list[Record], changed: Any) -> None:
    metrics_of(Record.open(run))
    metrics_of(relabelled(run, **changed))
    assert len(counted) == 2


def test_other_code_measures_again(run: Path, counted: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    metrics_of(Record.open(run))
    monkeypatch.setattr(measured, "code", lambda: "other")
    metrics_of(Record.open(run))
    assert len(counted) == 2


def test_a_changed_table_is_an_error_also_where_its_metrics_are_known(run: Path) -> None:
    metrics_of(Record.open(run))
    table = run / "raw/tcp_probe.rh"
    table.chmod(0o644)
    table.write_bytes(table.read_bytes()[:-8] + b"tampered")
    with pytest.raises(RecordError, match="was changed after the run"):
        metrics_of(Record.open(run))


def test_a_record_without_a_seal_is_always_measured(run: Path, counted: list[Record]) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if k != "sealed"}))
    assert metrics_of(Record.open(run)) == metrics_of(Record.open(run))
    assert len(counted) == 2


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 40])
def test_what_was_changed_in_the_cache_is_not_believed(
    run: Path, cache: Path, counted: list[Record], damage: bytes
) -> None:
    first = metrics_of(Record.open(run))
    with sqlite3.connect(cache) as store:
        kept = store.execute("SELECT value FROM remembered").fetchone()[0]
        store.execute("UPDATE remembered SET value = ?", (kept[:-1] + damage if damage else b"",))
    store.close()
    assert metrics_of(Record.open(run)) == first
    assert len(counted) == 2


def test_values_of_one_record_are_not_those_of_another(run: Path, cache: Path, counted: list[Record]) -> None:
    metrics_of(Record.open(run))
    other = relabelled(run, seed=2)
    with sqlite3.connect(cache) as store:
        store.execute("UPDATE remembered SET key = ?", (measured.key_of(other),))
    store.close()
    metrics_of(other)
    assert len(counted) == 2


def test_values_in_other_units_are_not_believed(run: Path, counted: list[Record]) -> None:
    record = Record.open(run)
    first = metrics_of(record)
    strange = [[one.metric, one.scope, one.value, "furlong", one.note] for one in first]
    remembered.keep(measured.key_of(record), zlib.compress(json.dumps(strange).encode()))
    assert metrics_of(record) == first
    assert len(counted) == 2


def test_a_damaged_cache_is_made_anew(run: Path, cache: Path, counted: list[Record]) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"no database " * 1000)
    assert metrics_of(Record.open(run)) == metrics_of(Record.open(run))
    assert len(counted) == 1


def test_without_a_cache_everything_is_measured(
    run: Path, tmp_path: Path, counted: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert metrics_of(Record.open(run)) == metrics_of(Record.open(run))
    assert len(counted) == 2


def test_of_very_many_the_older_are_forgotten(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_MOST", 1500)
    for number in range(3000):
        remembered.keep(str(number), b"value")
    assert remembered.recall("2999") == b"value"
    assert remembered.recall("0") is None
    with sqlite3.connect(cache) as store:
        assert store.execute("SELECT count(*) FROM remembered").fetchone()[0] <= 2500
    store.close()


def test_values_are_kept_together_or_not_at_all_and_the_next_are_kept_again(cache: Path) -> None:
    with pytest.raises(TypeError):
        remembered.keep_all([("first", b"value"), ("second", "no bytes")])  # type: ignore[list-item]
    assert remembered.recall("first") is None
    remembered.keep_all([("first", b"value"), ("second", b"other")])
    with closing(sqlite3.connect(cache)) as store:  # another command has them at once
        assert store.execute("SELECT count(*) FROM remembered").fetchone()[0] == 2
    assert remembered.recall("second") == b"other"


def test_no_metric_reads_a_label(run: Path) -> None:
    """What the key leaves out must not matter; a metric that reads it fails here."""
    record = Record.open(run)
    for name in measured.UNREAD - {"sealed"}:
        del record.manifest.__dict__[name]
    for name in measured.UNREAD:
        record.manifest.pop(name, None)
    # The class has defaults, so what is read nevertheless has to be noticed by its type.
    manifest = type("Guarded", (type(record.manifest),), {
        name: property(lambda _, name=name: pytest.fail(f"a metric reads manifest.{name}"))  # type: ignore[misc]
        for name in measured.UNREAD - {"sealed"}
    })  # fmt: skip
    object.__setattr__(record.manifest, "__class__", manifest)
    with pytest.raises(pytest.fail.Exception):
        _ = record.manifest.cell
    assert record.metrics() == Record.open(run).metrics()


def test_the_code_that_is_hashed_is_all_that_measures() -> None:
    code = "import sys, rushhour.metrics.catalog; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("rushhour.")}
    # Words of errors, the world's files, and the door to Parquet: none of them changes a number.
    assert rooms - set(measured._CODE) <= {"errors", "files", "plain", "version"}


def test_an_index_is_the_same_with_and_without_what_is_known(tmp_path: Path, counted: list[Record]) -> None:
    results = ResultSet.open(make_set(tmp_path / "set", [{"cc": cc} for cc in ("cubic", "reno")], seconds=4))
    first = index.write(results).read_bytes()
    assert index.write(results).read_bytes() == first
    assert len(counted) == 2
    assert [part.values for part in index.parts(results)] == [record.metrics() for record in results]


def test_a_run_is_judged_once_whichever_kernel_made_the_same_files(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calibration reads files, context, scenario and lab; the judgement is remembered by these."""
    judged: list[str] = []
    whole = manifests._judged

    def judge(folder: Path, told: dict[str, object]) -> dict[str, object]:
        judged.append(str(folder))
        return whole(folder, told)

    monkeypatch.setattr(manifests, "_judged", judge)
    told = {**json.loads((run / "manifest.json").read_text()), "lab": "uml"}
    files = told.pop("files")

    def once(changed: dict[str, object], sums: dict[str, str] = files) -> dict[str, object]:
        return manifests._judged_once(run, {**told, **changed}, sums)

    first = once({})
    assert once({"kernel": {"name": "other"}, "key": "other", "repetition": 5})["valid"] == first["valid"]
    assert len(judged) == 1
    scenario = {**told["scenario"], "resolved": {**told["scenario"]["resolved"], "title": "another"}}
    once({"scenario": scenario})
    once({"warnings": ["a doubt"]})
    once({}, {**files, "result.json": "0" * 64})
    assert len(judged) == 4
    monkeypatch.setattr(measured, "code", lambda: "other")
    once({})
    assert len(judged) == 5


def test_to_remember_makes_no_file_that_goes_again(cache: Path) -> None:
    journal = cache.with_name(f"{cache.name}-journal")
    remembered.keep("first", b"1")
    first = journal.stat().st_ino
    remembered.keep("second", b"2")
    assert journal.stat().st_ino == first
    assert [remembered.recall(key) for key in ("first", "second")] == [b"1", b"2"]
