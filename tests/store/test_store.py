"""The results database: what is imported is found again, once, whatever happens in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import verdict_documents as verdicts
from result_sets import kernel, result_set, study
from sqlalchemy import select, text

import rushhour
from rushhour import baseline
from rushhour.errors import RecordError, RushHourError, StoreError, UsageError
from rushhour.store import Store, schema
from rushhour.summary import index
from rushhour.web.browse import lists

STABLE, NEXT = kernel("stable", "6.12.1"), kernel("next", "6.13.0")
HERE = {**os.environ, "PYTHONPATH": str(Path(rushhour.__file__).parents[1])}


def comparison(folder: Path, **more: Any) -> Path:
    """A comparison's folder with one worse and one equal cell."""
    side = {"kind": "kernel", "records": "elsewhere"}
    metric = {
        "metric": "goodput_bps", "scope": "total", "unit": "bit/s", "better": "higher",
        "base": {"n": 2, "mean": 80e6}, "candidate": {"n": 2, "mean": 70e6}, "change": -0.125,
        "interval": [-0.14, -0.11], "minimum": "5%", "p": None, "verdict": "worse", "reason": "12.5 % less",
    }  # fmt: skip
    cell = {
        "scenario": "suite/start", "title": "A start", "cell": 0, "factors": {"cc": "cubic"},
        "label": "cc=cubic",        "guards": "slow start", "verdict": "worse", "reason": "goodput fell",
        "identical": False, "seeds": [1, 101],
        "runs": {"base": [], "candidate": []}, "metrics": [metric], "expectations": [], "divergence": None,
    }  # fmt: skip
    document = {
        "format": "rushhour-verdict/1", "rushhour": "0.1.0", "made": "2026-11-21T09:00:00Z",
        "verdict": "worse", "exit": 1, "variable": "kernel",
        "base": {**side, "name": "stable", "kernel": STABLE},
        "candidate": {**side, "name": "next", "kernel": NEXT}, "rule": {"minimum": 0.05},
        "counts": {"same": 1, "worse": 1}, "elapsed_s": 3.0,
        "cells": [cell, {**cell, "cell": 1, "factors": {"cc": "reno"}, "verdict": "same", "metrics": []}],
        "next": [], **more,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verdict.json").write_text(json.dumps(document))
    return folder


def test_a_result_set_is_found_again(database: str, tmp_path: Path) -> None:
    results = result_set(tmp_path / "20261121-090000", kernels=[STABLE, NEXT], repeat=2)

    with Store.open(database) as store:
        told: list[str] = []
        done = store.import_folder(results.path, tell=told.append)
        runs = store.runs(limit=1000)

        assert (done.sets, done.runs, done.new) == (1, 8, 8)
        reading = [f"{results.name}: looking through run {number} of 8" for number in range(1, 9)]
        assert told == [*reading, f"storing {runs[0].scenario}: 8 runs"]
        assert len(runs) == 8
        by_key = {record.key: record for record in results}
        for run in runs:
            record = by_key[run.key]
            assert sorted(store.metrics(run.id), key=str) == sorted(record.metrics(), key=str)
            assert (run.factors, run.kernel, run.seed) == (
                record.factors, record.manifest["kernel"]["name"], record.manifest["seed"],
            )  # fmt: skip
            assert Path(run.folder) == record.path
            assert run.made == "2026-11-21T09:00:00Z"
            assert store.record_folder(run.key) == record.path


def test_importing_again_changes_nothing(database: str, tmp_path: Path) -> None:
    result_set(tmp_path / "20261121-090000", kernels=[STABLE, NEXT])

    with Store.open(database) as store:
        store.import_folder(tmp_path / "20261121-090000", tags=["nightly"])
        before = _contents(store)
        done = store.import_folder(tmp_path / "20261121-090000", tags=["nightly"])
        assert done.new == 0
        after = _contents(store)

    assert before == after


def test_a_set_that_has_grown_is_one_set(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "20261121-090000"
    results = result_set(folder, repeat=2)
    away = results.folders()[-1]
    away.rename(tmp_path / "away")

    with Store.open(database) as store:
        assert store.import_folder(folder).new == 3
        (tmp_path / "away").rename(away)
        assert store.import_folder(folder).new == 1

        [found] = store.sets()
        assert (found.runs, found.kernels) == (4, ["stable"])


def test_a_folder_that_moved_is_found_at_its_new_place(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "a/20261121-090000"
    key = next(iter(result_set(folder))).key
    with Store.open(database) as store:
        store.import_folder(folder)
        (tmp_path / "b").mkdir()
        folder.rename(tmp_path / "b/20261121-090000")
        assert store.record_folder(key) is None
        store.import_folder(tmp_path / "b/20261121-090000")

        assert len(store.sets()) == 1
        found = store.record_folder(key)
        assert found is not None
        assert found.parent.parent == tmp_path / "b/20261121-090000"


def test_values_that_were_measured_anew_replace_the_old(database: str, tmp_path: Path) -> None:
    results = result_set(tmp_path / "20261121-090000")
    with Store.open(database) as store:
        store.import_folder(results.path)
        doubled = [
            replace(part, values=[replace(one, value=one.value and 2 * one.value) for one in part.values])
            for part in index.parts(results)
        ]
        notes = index.read(results.path / "index.parquet").schema.metadata_str
        index.put(doubled, results.path / "index.parquet", json.loads(notes["seal"])["records"])
        store.import_folder(results.path)

        [run, _] = store.runs()
        values = {(one.metric, one.scope): one.value for one in store.metrics(run.id)}
        assert values["goodput_bps", "total"] == 2 * (80e6 + 1e6 * run.cell)


def test_studies_comparisons_and_baselines(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = comparison(tmp_path / "compare/20261121-100000", base={"name": "stable", "records": "base"})
    for name in ("start", "loss"):
        result_set(folder / "base" / name, scenario=f"suite/{name}", kernels=[STABLE])
    study(folder / "base", [folder / "base/start", folder / "base/loss"])
    made = baseline.save("kept", folder / "base", time="2026-11-21T09:00:00Z", slim=True)

    with Store.open(database) as store:
        done = store.import_folder(folder, tags=["release"])
        assert (done.sets, done.runs, done.comparisons) == (2, 4, 1)
        assert store.import_folder(folder).new == 0
        # The runs of the baseline are those that are there.
        done = store.import_folder(made.path)
        assert (done.sets, done.runs, done.baselines, done.new) == (2, 4, 1, 1)

        [found] = store.comparisons(tag="release")
        assert (found.base, found.candidate, found.verdict) == ("stable", "next", "worse")
        assert found.counts == {"same": 1, "worse": 1}
        cells = store.verdicts(comparison=found.id)
        assert [(cell.factors["cc"], cell.verdict) for cell in cells] == [
            ("cubic", "worse"),
            ("reno", "same"),
        ]
        [metric] = store.verdict_metrics(cells[0].id)
        assert (metric.base, metric.candidate, metric.change, metric.low) == (80e6, 70e6, -0.125, -0.14)
        assert [one.scenario for one in store.verdicts(verdict="worse")] == ["suite/start"]
        assert store.info()["runs"] == 4
        assert {one.name for one in store.kernels()} == {"stable", "next"}


def test_a_departure_is_told_beside_its_verdict(database: str, tmp_path: Path) -> None:
    mere = [verdicts.metric(better="none", reason="it departs: it rose by 12 %")]
    cells = [
        verdicts.cell(0, metrics=mere),
        verdicts.cell(1, metrics=[*mere, verdicts.metric()]),
        verdicts.cell(2, metrics=mere, reason="the expectation loss < 1 % is broken"),
        verdicts.cell(3, "same"),
    ]
    for name, these in (("some", cells), ("mere", [cells[0], cells[3]])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "verdict.json").write_text(json.dumps(verdicts.document(these)))
    with Store.open(database) as store:
        for name in ("some", "mere"):
            store.import_folder(tmp_path / name)
        told = {len(store.verdicts(comparison=one.id)): one for one in store.comparisons()}
        assert [told[size].departing for size in (4, 2)] == [1, 1]
        assert {one.verdict for one in told.values()} == {"worse"}
        found = store.verdicts(comparison=told[4].id)
        assert [one.departs for one in found] == [True, False, False, False]
        assert [one.verdict for one in found] == ["worse"] * 3 + ["same"]
        shown = [lists.comparison(told[size]) for size in (4, 2)]
    assert [one["told"] for one in shown] == ["worse", "departs"]
    assert [one["verdict"] for one in shown] == ["worse", "worse"]
    assert [one["told_counts"]["departs"] for one in shown] == [1, 1]
    assert [one["told_counts"]["worse"] for one in shown] == [2, 0]


def test_questions_have_filters_limits_and_offsets(database: str, tmp_path: Path) -> None:
    result_set(tmp_path / "20261120-090000", kernels=[STABLE], factors=[{"topology.rtt": "10ms"}])
    result_set(
        tmp_path / "20261121-090000",
        scenario="aqm/red",
        kernels=[STABLE, NEXT],
        factors=[{"topology.rtt": "10ms"}, {"topology.rtt": "20ms"}],
        repeat=2,
    )
    with Store.open(database) as store:
        for name in ("20261120-090000", "20261121-090000"):
            store.import_folder(tmp_path / name)

        assert len(store.runs(scenario="aqm")) == len(store.runs(scenario="aqm/red")) == 8
        assert store.runs(scenario="aq") == []
        assert len(store.runs(where={"rtt": "10ms"})) == 5
        assert len(store.runs(where={"topology.rtt": ["10ms", "20ms"]}, kernel="6.13.0")) == 4
        assert len(store.runs(since="2026-11-21")) == 8
        assert [run.scenario for run in store.runs(since="2026-11-20", limit=1, offset=8)] == ["suite/start"]
        assert store.runs(valid=False) == []
        every = [run.id for run in store.runs(limit=9)]
        assert [store.runs(limit=1, offset=place)[0].id for place in range(9)] == every
        assert [one.scenario for one in store.sets(since="2026-11-21")] == ["aqm/red"]
        assert [(one.scenario, one.cells, one.runs, one.kernels) for one in store.scenarios()] == [
            ("aqm/red", 2, 8, 2),
            ("suite/start", 1, 1, 1),
        ]
        known = {(one.metric, one.scope): one.runs for one in store.quantities("aqm")}
        assert known["goodput_bps", "total"] == 8
        assert ("retransmits", "flow:long") not in known
        pairs = store.compare_pairs("stable", "next")
        assert len(pairs) == 4
        assert all(pair.identical for pair in pairs)
        assert all(
            (one.base.factors, one.base.seed, one.base.kernel)
            == (one.candidate.factors, one.candidate.seed, "stable")
            for one in pairs
        )
        assert [pair.base.id for pair in store.compare_pairs("stable", "next", limit=2, offset=2)] == [
            pair.base.id for pair in pairs[2:]
        ]


def test_an_unknown_folder_or_format_is_refused(database: str, tmp_path: Path) -> None:
    folder = comparison(tmp_path / "compared", format="rushhour-verdict/9")
    with Store.open(database) as store:
        with pytest.raises(RecordError, match="no records here"):
            store.import_folder(tmp_path)
        with pytest.raises(RecordError, match="rushhour-verdict/9"):
            store.import_folder(folder)
        (folder / "verdict.json").write_text('{"format": "rushhour-verdict/1"}')
        with pytest.raises(RecordError, match="verdict is None"):
            store.import_folder(folder)


@pytest.mark.parametrize(
    "harm",
    [
        {"cells": 3}, {"cells": [7]}, {"cells": [{"metrics": [{"interval": 5}]}]}, {"base": [1]},
        {"candidate": {"kernel": {"name": {}}}}, {"cells": [{"cell": "x"}]}, {"elapsed_s": {"a": 1}},
        {"cells": [{"metrics": [{"base": {"mean": [1]}}]}]}, {"rule": None, "counts": 5},
    ],
)  # fmt: skip
def test_a_verdict_that_makes_no_sense_is_refused_or_harmless(
    database: str, tmp_path: Path, harm: dict[str, Any]
) -> None:
    folder = comparison(tmp_path / "compared", **harm)
    with Store.open(database) as store:
        try:
            store.import_folder(folder)
        except RushHourError:
            assert store.comparisons() == []
            assert store.info()["kernels"] == 0
        else:
            assert len(store.comparisons()) == 1


WORK = """
import sys
from rushhour.store import Store
with Store.open(sys.argv[1]) as store:
    for folder in sys.argv[2:]:
        store.import_folder(folder, tags=["worker"])
"""


def test_two_writers_at_once_lose_nothing(database: str, tmp_path: Path) -> None:
    folders = [
        str(result_set(tmp_path / f"20261121-0900{n:02d}", scenario=f"suite/s{n % 3}", kernels=[STABLE]).path)
        for n in range(6)
    ]
    # Nobody has made the database yet; all import everything, each in another order.
    orders = [folders, folders[::-1], folders[3:] + folders[:3]]
    workers = [subprocess.Popen([sys.executable, "-c", WORK, database, *order], env=HERE) for order in orders]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0, 0]

    with Store.open(database) as store:
        assert len(store.sets()) == 6
        assert len(store.runs()) == 6
        assert all(store.metrics(run.id) for run in store.runs())
        assert all(one.tags == ["worker"] for one in store.sets())


KILLED = """
import sys, time
from rushhour.store import Store, core
whole = core.put
def slow(connection, parcel, now):
    done = whole(connection, parcel, now)
    if "second" in str(parcel.folder):
        print("in the middle", flush=True)
        time.sleep(60)
    return done
core.put = slow
with Store.open(sys.argv[1]) as store:
    for folder in sys.argv[2:]:
        store.import_folder(folder)
"""


def test_killed_in_the_middle_nothing_is_half_there(database: str, tmp_path: Path) -> None:
    first = result_set(tmp_path / "first", scenario="suite/first").path
    second = result_set(tmp_path / "second", scenario="suite/second").path
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED, database, str(first), str(second)],
        env=HERE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stdout is not None
    assert worker.stdout.readline() == "in the middle\n"
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()

    with Store.open(database) as store:
        assert {run.scenario for run in store.runs()} == {"suite/first"}
        assert [one.scenario for one in store.sets()] == ["suite/first"]
        assert store.import_folder(second).new == 2
        assert len(store.runs()) == 4


def test_a_writer_that_does_not_finish_is_waited_for_and_named(database: str, tmp_path: Path) -> None:
    folder = result_set(tmp_path / "set").path
    with Store.open(database) as other, other._writing() as connection:
        connection.execute(schema.tags.insert(), {"kind": "set", "owner_id": 1, "tag": "x"})
        started = time.monotonic()
        with Store.open(database, wait_s=0.2) as store, pytest.raises(StoreError, match="another program"):
            store.import_folder(folder)
        assert time.monotonic() - started >= 0.2
        # Reading does not wait for writing.
        with Store.open(database, wait_s=0.2) as store:
            assert store.runs() == []


def test_a_newer_version_is_refused_and_not_changed(database: str) -> None:
    with Store.open(database) as store, store._writing() as connection:
        schema.set_version(connection, 99)

    with pytest.raises(StoreError, match="version 99") as caught:
        Store.open(database)

    assert "newer rushhour" in str(caught.value.hint)


def test_an_older_version_becomes_the_present_one(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(database) as store:
        store.import_folder(result_set(tmp_path / "set").path)

    def add(connection: Any) -> None:
        connection.execute(text("ALTER TABLE runs ADD COLUMN colour TEXT"))

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add))
    with pytest.raises(StoreError, match="older version"):
        Store.open(database, create=False)
    with Store.open(database) as store:
        assert store.info()["version"] == 2
        with store.connection() as connection:
            assert [row[0] for row in connection.execute(text("SELECT colour FROM runs"))] == [None, None]
        assert len(store.runs()) == 2


def test_a_migration_that_fails_leaves_the_old_version(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(database) as store:
        store.import_folder(result_set(tmp_path / "set").path)

    def fail(connection: Any) -> None:
        connection.execute(text("ALTER TABLE runs ADD COLUMN colour TEXT"))
        connection.execute(text("SELECT 1 FROM nowhere"))

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
        with pytest.raises(StoreError):
            Store.open(database)
    with Store.open(database) as store:
        assert len(store.runs()) == 2
        with store.connection() as connection:
            row = connection.execute(text("SELECT * FROM runs")).mappings().first()
            assert row is not None
            assert "colour" not in row


def test_somebody_elses_database_is_left_alone(database: str) -> None:
    from rushhour.store import connect  # noqa: PLC0415

    engine = connect.engine(connect.parse(database), 1.0, create=True)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE flowers (name TEXT)"))
    engine.dispose()

    with pytest.raises(StoreError, match="'flowers'"):
        Store.open(database)


def test_rows_belong_to_rows_that_are_there(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        store.import_folder(result_set(tmp_path / "set").path)
        with pytest.raises(StoreError), store._writing() as connection:
            connection.execute(schema.measurements.insert(), {"run_id": 999, "quantity_id": 1, "value": 1.0})
        with store._writing() as connection:
            connection.execute(schema.cells.delete())
        assert store.info()["measurements"] == 0


def test_a_word_that_names_no_database_is_refused() -> None:
    for word in ("mysql://me:secret@host/db", "postgresql://me:secret@host:port/db", "sqlite://"):
        with pytest.raises(UsageError) as caught:
            Store.open(word)
        assert "secret" not in str(caught.value)


def _contents(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    with store.connection() as connection:
        return {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=str)
            for name, table in schema.metadata.tables.items()
        }
