"""Metric values by columns: the same values as one by one, and nothing that makes no sense."""

import hashlib
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from result_sets import result_set

from rushhour.metrics.value import MetricValue
from rushhour.summary import index, lines, measured, rows

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
