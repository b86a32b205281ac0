"""Records that were changed after the run: nowhere are they taken for the run's."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import builders
import fakes
import pytest
from click.testing import CliRunner
from result_sets import result_set

from rushhour.cli import cli
from rushhour.errors import RecordError
from rushhour.files import sums
from rushhour.lab import kernel
from rushhour.record import kept
from rushhour.record.json_file import read_json
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import MANIFEST, SET_FILE, manifest_sum, sealed, write_json
from rushhour.running import runner
from rushhour.summary import index


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("RUSHHOUR_DB", raising=False)
    yield
    sums._known.clear()


def cut(run: Path) -> None:
    table = next((run / "raw").glob("*.rh"))
    table.write_bytes(table.read_bytes()[: -(table.stat().st_size // 3)])


def multiply(run: Path) -> None:
    path = run / "result.json"
    result = json.loads(path.read_text())
    for flow in result["flows"]:
        flow["bytes_received"] *= 10
    path.write_text(json.dumps(result))


def call_valid(run: Path) -> None:
    path = run / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"valid": "yes", "warnings": []}))


def zero(run: Path) -> None:
    (run / "plan.json").unlink()
    (run / "plan.json").symlink_to("/dev/zero")


def add(run: Path) -> None:
    (run / "raw/wire.rh").write_bytes(b"")


def add_link(run: Path) -> None:
    (run / "raw/more").symlink_to("/etc")


def take(run: Path) -> None:
    next((run / "raw").glob("*.rh")).unlink()


WAYS = [cut, multiply, call_valid, zero, add, add_link, take]
COMMANDS = [
    ["compare", "{set}", "{other}"],
    ["compare", "{other}", "{set}"],
    ["report", "{set}", "--format", "md"],
    ["report", "{set}", "--format", "csv"],
    ["report", "{set}"],
    ["baseline", "save", "kept", "{set}"],
    ["db", "import", "{set}"],
    ["export", "{set}", "--to", "junit"],
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_changed_record_is_refused(way: Callable[[Path], None], tmp_path: Path) -> None:
    results = result_set(tmp_path / "set")
    way(results.folders()[0])
    with pytest.raises(RecordError, match=r"a file of the record|expected true or false"):
        list(ResultSet.open(results.path))


@pytest.mark.parametrize("way", [cut, multiply])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_takes_it_for_the_runs(
    words: list[str], way: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("set", "other"):
        result_set(tmp_path / name)
    way(ResultSet.open(tmp_path / "set").folders()[0])
    found = CliRunner().invoke(cli, [word.format(set="set", other="other") for word in words])
    assert isinstance(found.exception, RecordError), found.output
    assert "was changed after the run" in found.exception.message


@pytest.mark.parametrize("way", [cut, multiply, zero, add, take])
def test_nothing_of_it_is_read(way: Callable[[Path], None], tmp_path: Path) -> None:
    record = builders.record(tmp_path / "run", {"tcp_probe": builders.rows(builders.TCP_PROBE, t_ns=[0, 1])})
    way(record.path)
    with pytest.raises(RecordError, match=r"a file of the record|expected true or false"):
        Record.open(record.path).metrics()


def test_an_index_of_other_records_is_not_believed(tmp_path: Path) -> None:
    results = result_set(tmp_path / "set")
    true = index.values(results)
    # Edited: other cells under the old seal.
    whole = (results.path / index.INDEX).read_bytes()
    parts = index.parts(results)
    wrong = type(parts[0].values[0])("goodput_bps", "total", 1e12, "bit/s", None)
    parts[0] = replace(parts[0], values=[wrong, *parts[0].values[1:]])
    index.put(parts, results.path / index.INDEX)
    assert index.values(results) == true
    # Stale: of records that were there before.
    (results.path / index.INDEX).write_bytes(whole)
    assert index.known(results) is not None
    path = results.folders()[0] / MANIFEST
    about = json.loads(path.read_text()) | {"seed": 77}
    path.write_text(json.dumps(sealed({name: value for name, value in about.items() if name != "sealed"})))
    assert index.known(results) is None


def run(tmp_path: Path, lab: Any, name: str, **options: Any) -> list[runner.Outcome]:
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO)
    batches = runner.prepare([tmp_path / "fake.toml"], out=tmp_path / name)
    return list(runner.carry_out(batches, lab, **options))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fakes.FakeLab:
    monkeypatch.setattr(kernel, "default", lambda: fakes.kernel("k", tmp_path))
    return fakes.FakeLab(lambda *_: 50.0)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_results_edited_in_place_do_not_poison_the_cache(
    way: Callable[[Path], None], lab: fakes.FakeLab, tmp_path: Path
) -> None:
    first = run(tmp_path, lab, "first")
    assert len(lab.ran) == len(first) == 4
    for outcome in first:
        assert outcome.folder is not None
        known = kept.find(Record.open(outcome.folder).key)
        assert known is not None
        # By way of the link, and in the cache itself.
        way(known)
    second = run(tmp_path, lab, "second")
    assert [outcome.cached for outcome in second] == [False] * 4
    assert len(list(ResultSet.open(tmp_path / "second"))) == 4
    assert [outcome.cached for outcome in run(tmp_path, lab, "third")] == [True] * 4


def test_a_damaged_run_in_the_folder_is_run_again(lab: fakes.FakeLab, tmp_path: Path) -> None:
    for outcome in run(tmp_path, lab, "set"):
        assert outcome.folder is not None
        take(outcome.folder)
    again = run(tmp_path, lab, "set")
    assert all(outcome.error is None for outcome in again)
    assert len(list(ResultSet.open(tmp_path / "set"))) == 4


@pytest.mark.parametrize("content", ["{}", "[]", "", '{"format": "rushhour-record/1"}', "[" * 5000])
def test_rubbish_in_the_cache_is_run_again(content: str, lab: fakes.FakeLab, tmp_path: Path) -> None:
    for outcome in run(tmp_path, lab, "first"):
        assert outcome.folder is not None
        known = kept.find(Record.open(outcome.folder).key)
        assert known is not None
        (known / MANIFEST).unlink()
        (known / MANIFEST).write_text(content)
    assert [outcome.error for outcome in run(tmp_path, lab, "second")] == [None] * 4


def test_a_file_is_read_once_and_again_when_it_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(2 << 20))
    monkeypatch.setattr(sums, "_RACY_NS", -(10**12))
    before = sums.sum_of(path)
    reads: list[int] = []
    digest = sums._digest

    def counted(descriptor: int, size: int) -> str:
        reads.append(size)
        return digest(descriptor, size)

    monkeypatch.setattr(sums, "_digest", counted)
    sums._known.clear()
    assert sums.sum_of(path) == before
    assert not reads, "the next command remembers"
    about = path.stat()
    with path.open("r+b") as file:
        file.write(b"1")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert sums.sum_of(path) != before, "a date that was put back hides nothing"
    assert reads == [path.stat().st_size]
    (tmp_path / "cache/rushhour/sums.sqlite").write_bytes(b"rubbish" * 999)
    sums._known.clear()
    assert sums.sum_of(path) != before


def test_what_a_file_costs_does_not_grow_with_those_that_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "_RACY_NS", -(10**12))
    monkeypatch.setattr(sums, "_LARGE", 10)
    monkeypatch.setattr(sums, "_kept", count())
    opened: list[object] = []
    connect = sqlite3.connect

    def counted(*words: Any, **named: Any) -> sqlite3.Connection:
        opened.append(words)
        made: sqlite3.Connection = connect(*words, **named)
        return made

    monkeypatch.setattr(sqlite3, "connect", counted)
    asked: list[str] = []
    for number in range(20):
        path = tmp_path / f"table-{number}"
        path.write_bytes(bytes(100 + number))
        sums.sum_of(path)
        if not number:  # the first may count what is there
            sums._store().set_trace_callback(asked.append)
    assert sum("INSERT" in one for one in asked) == 19
    assert not [one for one in asked if "count" in one]
    assert len(opened) == 1
    monkeypatch.setattr(sums, "_MOST", 10)
    monkeypatch.setattr(sums, "_kept", count(999))
    for number in range(2):
        (tmp_path / f"more-{number}").write_bytes(bytes(50 + number))
        sums.sum_of(tmp_path / f"more-{number}")
    left = sums._store().execute("SELECT count(*) FROM sums").fetchone()[0]
    assert left == 1, "where too many are remembered all are forgotten, at the thousandth"


def about_of(results: ResultSet, **changes: Any) -> Path:
    """Give a set a sealed `set.json`, and then change it without one."""
    path = results.path / SET_FILE
    about = {"format": "rushhour-set/1", "scenario": {"title": "was \x1b[2J"}, "kernels": [{"name": "k"}]}
    write_json(path, sealed(about))
    if changes:
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


# CSV holds what the records tell, nothing of what the set says of itself.
@pytest.mark.parametrize("words", [words for words in COMMANDS if "csv" not in words], ids=" ".join)
def test_a_set_that_was_renamed_is_not_taken_for_itself(words: list[str], tmp_path: Path) -> None:
    results, other = result_set(tmp_path / "set"), result_set(tmp_path / "other")
    about_of(results, quick=True)
    found = CliRunner().invoke(cli, [word.format(set=results.path, other=other.path) for word in words])
    assert isinstance(found.exception, RecordError), found.output
    assert "its checksum does not match" in found.exception.message


def test_a_set_as_it_was_and_one_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    results = result_set(tmp_path / "set")
    path = about_of(results)
    assert ResultSet(results.path).about["kernels"] == [{"name": "k"}]
    old = {name: value for name, value in json.loads(path.read_text()).items() if name != "sealed"}
    path.write_text(json.dumps(old | {"seed": 7}))
    assert ResultSet(results.path).about["seed"] == 7


def test_a_checksum_is_that_of_what_is_read_again(tmp_path: Path) -> None:
    for number, value in enumerate(("\x1b[2J", "\x9b", {2: "b", 10: "a"}, (1, 2), 1e400, "\ud7ff")):
        path = tmp_path / f"{number}.json"
        write_json(path, sealed({"a": value, "failures": [{"message": value}]}))
        found = read_json(path)
        assert found["sealed"] == manifest_sum(found), value
