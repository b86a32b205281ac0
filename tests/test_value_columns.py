"""Metric values by columns: the same values as one by one, and nothing that makes no sense."""

import hashlib
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Array, ChunkedArray, DataType
from arro3.io import write_parquet
from result_sets import result_set

from rushhour.metrics.value import MetricValue
from rushhour.summary import index, lines, measured, rows
from rushhour.summary.coded import Coded

VALUES = [
    MetricValue("goodput_bps", "flow:a", 1e6, "bit/s"),
    MetricValue("goodput_bps", "total", 2, "bit/s"),
    MetricValue("jain_index", "total", None, "1", "one flow"),
]
ROWS = [[one.metric, one.scope, one.value, one.unit, one.note] for one in VALUES]


def found() -> lines.Lines:
    read = lines.read(measured.written(VALUES))
    assert read is not None
    return read


def test_they_are_the_values_that_were_written() -> None:
    read = found()
    assert [*read] == VALUES == measured.read(measured.written(VALUES))
    assert read == VALUES
    assert read != VALUES[:2]
    assert read != VALUES[0]
    assert str(read) == str(VALUES)
    assert (len(read), read[1], read[-1]) == (3, VALUES[1], VALUES[2])
    assert read[1:] == VALUES[1:]
    assert isinstance(read[1:], lines.Lines)


def test_those_of_some_metrics_are_chosen_from_both_kinds() -> None:
    assert found().of({"jain_index", "no_such"}) == [VALUES[2]]
    assert lines.chosen(found(), {"goodput_bps"}) == lines.chosen(VALUES, {"goodput_bps"}) == VALUES[:2]
    assert lines.joined([found(), VALUES[:1]], "value") == [1e6, 2, None, 1e6]


@pytest.mark.parametrize(
    "told",
    [
        None,
        b"no zlib",
        [],
        [ROWS[0][:4]],
        [ROWS[0], ROWS[1][:4]],
        [["no_such_metric", *ROWS[0][1:]]],
        [[*ROWS[0][:3], "s", None]],
        [[*ROWS[0][:4], 7]],
        [[["goodput_bps"], *ROWS[0][1:]]],
        7,
        {"a": 1},
    ],
)
def test_what_makes_no_sense_is_measured_again(told: Any) -> None:
    blob = told if told is None or isinstance(told, bytes) else zlib.compress(json.dumps(told).encode())
    assert lines.read(blob) is None


def test_an_index_is_equal_to_the_byte_whichever_it_is_made_of(tmp_path: Path) -> None:
    results = result_set(tmp_path / "set")
    parts = index.parts(results)
    one_by_one = [replace(part, values=[*part.values]) for part in parts]
    for name, made in (("columns", parts), ("values", one_by_one)):
        index.put(made, tmp_path / name, "these")
    assert (tmp_path / "columns").read_bytes() == (tmp_path / "values").read_bytes()
    assert rows.parts_of(index.read(tmp_path / "columns")) == one_by_one


def test_the_seal_is_that_of_what_is_read(tmp_path: Path) -> None:
    """Whole numbers become real ones in the file: what was sealed is what stands there."""
    results = result_set(tmp_path / "set")
    part = index.parts(results)[0]
    index.put([replace(part, values=VALUES)], tmp_path / "one")
    table = index.read(tmp_path / "one")
    content = json.dumps({name: table.column(name).to_pylist() for name in table.column_names})
    told = json.loads(table.schema.metadata_str["seal"])
    assert told["content"] == hashlib.sha256(content.encode()).hexdigest()


COLUMNS: list[list[Any]] = [
    [],
    ["a"],
    ["a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b", "b"],
    ["a", "b", "a", "b"],
    [None, "a", None, None],
    [None, None],
    [1, 1, True, True, False, 0],
    [1 << 62, -5, None],
    ['"', "ü, \\", "\ud800"],
]


@pytest.mark.parametrize("cells", COLUMNS)
def test_a_coded_column_is_and_is_spelled_as_its_cells(cells: list[Any]) -> None:
    column = Coded.of(cells)
    assert ([*column], column[:], len(column)) == (cells, cells, len(cells))
    assert column.spelled() == json.dumps(cells)
    assert [type(cell) for cell in column[1:]] == [type(cell) for cell in cells[1:]]
    assert column.starts() == [at for at, one in enumerate(cells) if not at or not same(one, cells[at - 1])]


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def test_a_column_is_spread_over_rows() -> None:
    column = Coded.spread(["x", "y", "x"], [2, 0, 3])
    assert column[:] == ["x", "x", "x", "x", "x"]
    assert Coded.spread(["x", "x"], [1, 2]).starts() == [0]


@pytest.mark.parametrize("kind", ["string", "int64", "bool"])
def test_a_column_of_arrows_is_what_it_holds(kind: str) -> None:
    kinds = {"string": DataType.string(), "int64": DataType.int64(), "bool": DataType.bool()}
    values: dict[str, list[Any]] = {
        "string": ["b", "a", "b"],
        "int64": [7, -7, 7],
        "bool": [True, False, True],
    }
    for cells in (values[kind], [*values[kind], None], []):
        column = Coded.of_arrow(ChunkedArray([Array(cells, type=kinds[kind])]))
        assert column[:] == cells
        assert column.spelled() == json.dumps(cells)


def test_a_run_whose_rows_do_not_agree_is_no_longer_what_was_sealed(tmp_path: Path) -> None:
    """What is read of a run is the first row's; that the others say the same is in the seal."""
    results = result_set(tmp_path / "set")
    table = index.read(results.path / "index.parquet")
    keys = list(rows.column(table, "key"))
    keys[1] = "0" * 64
    changed = {name: rows.column(table, name) for name in table.column_names} | {"key": keys}
    kinds = {"cell": "int64", "repetition": "int64", "seed": "int64", "value": "float64", "valid": "bool"}
    made = rows.table_in((name, kinds.get(name, "string"), cells) for name, cells in changed.items())
    with (results.path / "index.parquet").open("wb") as file:
        seal = table.schema.metadata_str["seal"]
        write_parquet(made, file, compression="zstd(3)", key_value_metadata={"seal": seal})
    assert index.known(results) is None
