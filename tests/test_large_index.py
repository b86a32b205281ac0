"""The index of a large set: files of so many runs each, a few at a time, equal to the one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from result_sets import result_set

import rushhour
from benchmarks import many
from rushhour.errors import RecordError
from rushhour.record.result_set import ResultSet
from rushhour.summary import index

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 23


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultSet:
    """A set with the index in one file, and metrics that differ from run to run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    template = next(iter(result_set(tmp_path / "template"))).path
    results = many.make(template, tmp_path / "many", RUNS)
    results.write_index()
    return results


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on sets of more than ten runs are large, and a file has the rows of four."""
    monkeypatch.setattr(index, "WHOLE", 10)
    monkeypatch.setattr(index, "CHUNK", 4)


@pytest.fixture
def large(whole: ResultSet, request: pytest.FixtureRequest) -> ResultSet:
    request.getfixturevalue("small")
    assert whole.write_index() == whole.path / "index"
    return ResultSet.open(whole.path)


def test_made_up_runs_are_whole_and_differ(whole: ResultSet) -> None:
    values = [part.values for part in index.parts(whole)]
    assert len(whole) == RUNS
    assert len({str(one) for one in values}) == RUNS
    assert len({record.manifest.cell.index for record in whole}) == 5


def test_parts_hold_what_the_one_file_holds(whole: ResultSet, request: pytest.FixtureRequest) -> None:
    before, table = index.parts(whole), whole.index()
    request.getfixturevalue("small")
    whole.write_index()
    again = ResultSet.open(whole.path)
    assert sorted(path.name for path in (whole.path / "index").iterdir()) == [
        f"part-{number:05d}.parquet" for number in range(6)
    ]
    assert not (whole.path / "index.parquet").exists()
    assert index.parts(again) == before
    assert dict(index.values(again)) == {part.folder: list(part.values) for part in before}
    assert again.index().equals(table)


def test_a_set_that_was_large_and_is_small_has_the_one_file_again(
    large: ResultSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "WHOLE", 100)
    assert large.write_index() == large.path / "index.parquet"
    assert not (large.path / "index").exists()


def test_an_index_in_one_file_of_a_large_set_is_made_anew(whole: ResultSet, small: None) -> None:
    """As an older version wrote it: it is not read, and goes when the new one is there."""
    assert index.known(whole) is None
    assert len(index.parts(whole)) == RUNS
    whole.write_index()
    assert not (whole.path / "index.parquet").exists()


def test_a_few_chunks_are_in_memory(large: ResultSet) -> None:
    values = index.values(large)
    assert isinstance(values, index._Values)
    for folder in values:
        assert values[folder]
        assert len(values._held) <= index.HELD
    with pytest.raises(KeyError):
        values["no such run"]


def test_a_part_of_other_records_is_measured_anew(large: ResultSet) -> None:
    first, second = (large.path / "index" / f"part-{number:05d}.parquet" for number in (0, 1))
    before = index.parts(large)
    second.write_bytes(first.read_bytes())
    assert [chunk.known() is None for chunk in index.chunks(large)] == [False, True, *[False] * 4]
    assert index.parts(large) == before
    with pytest.raises(RecordError, match="no index of its records"):
        large.dataset()


def test_a_damaged_part_is_an_error_that_names_it(large: ResultSet) -> None:
    (large.path / "index/part-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(RecordError) as caught:
        index.parts(large)
    assert "part-00002.parquet" in str(caught.value.where)


def test_a_data_set_is_filtered_and_summed_up(large: ResultSet) -> None:
    data = large.dataset()
    goodput = data.to_table(
        columns=["cell", "value"],
        filter=(pc.field("metric") == "goodput_bps") & (pc.field("scope") == "total"),
    )
    means = goodput.group_by("cell").aggregate([("value", "mean")])
    assert means.num_rows == 5
    expected: dict[int, list[float]] = {}
    for record in large:
        values = index.values(large)[record.path.name]
        value = next(one for one in values if (one.metric, one.scope) == ("goodput_bps", "total"))
        expected.setdefault(record.manifest.cell.index, []).append(value.value or 0.0)
    found = dict(zip(means["cell"].to_pylist(), means["value_mean"].to_pylist(), strict=True))
    assert found == pytest.approx({cell: sum(one) / len(one) for cell, one in expected.items()})


def test_a_small_set_is_a_data_set_too(whole: ResultSet) -> None:
    assert whole.dataset().count_rows() == whole.index().num_rows


def test_every_file_has_every_column(large: ResultSet) -> None:
    schemas = [pq.read_schema(path) for path in sorted((large.path / "index").iterdir())]
    assert len({tuple(schema.names) for schema in schemas}) == 1


def test_the_interface_reads_a_large_set(large: ResultSet) -> None:
    results = rushhour.open(large.path)
    assert sum(1 for _ in results) == len(results) == RUNS
    assert results.index().num_rows == results.dataset().count_rows()
