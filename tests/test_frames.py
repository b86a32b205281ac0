"""Frames: Arrow tables with the kernel's fields as columns, and the index of a result set."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import builders as make
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from builders import SECOND

from rushhour.errors import RecordError
from rushhour.record.result_set import ResultSet
from rushhour.summary import index

if TYPE_CHECKING:
    from pathlib import Path


def test_tcp_info_becomes_columns(tmp_path: Path) -> None:
    bbr = make.tcp_info([SECOND], 1, cc=b"bbr", snd_cwnd=40)
    bbr["ccinfo"] = struct.pack("<5I", 125_000, 0, 20_000, 739, 512)
    rows = np.concatenate([make.tcp_info([SECOND], 0, snd_cwnd=10, rtt=20_000), bbr])
    record = make.record(tmp_path / "run", {"tcp_info": rows})

    frame = record.frame("tcp_info")

    assert frame["tcpi_snd_cwnd"].to_pylist() == [10, 40]
    assert frame["cc"].to_pylist() == ["cubic", "bbr"]
    assert frame["bbr_min_rtt"].to_pylist() == [None, 20_000]
    assert "skmem_sndbuf" in frame.column_names
    assert "info" not in frame.column_names


def test_qdisc_statistics_become_columns(tmp_path: Path) -> None:
    red = make.qdisc([1], kind=b"red", xstats=struct.pack("<4I", 5, 6, 7, 8))
    record = make.record(tmp_path / "run", {"qdisc": np.concatenate([make.qdisc([0], backlog=9), red])})

    frame = record.frame("qdisc")

    assert frame["backlog"].to_pylist() == [9, 0]
    assert frame["marked"].to_pylist() == [None, 8]


def test_frames_go_on_to_pandas_and_polars(tmp_path: Path) -> None:
    rows = make.rows(make.TCP_PROBE, t_ns=[1, 2], snd_cwnd=[10, 11])
    frame = make.record(tmp_path / "run", {"tcp_probe": rows}).frame("tcp_probe")

    assert frame.to_pandas()["snd_cwnd"].tolist() == [10, 11]
    assert pl.DataFrame(frame)["snd_cwnd"].to_list() == [10, 11]


def test_metrics_as_a_frame(tmp_path: Path) -> None:
    frame = make.record(tmp_path / "run").frame("metrics")

    found = {(row["metric"], row["scope"]): row["value"] for row in frame.to_pylist()}
    assert found["goodput_bps", "total"] == 80e6
    assert found["retransmits", "flow:long"] is None


def test_the_index_has_a_row_per_run_and_metric(tmp_path: Path) -> None:
    for number, cc in enumerate(["cubic", "reno"]):
        cell = {"index": number, "factors": {"cc": cc, "topology.rate": 10 * number}}
        make.record(tmp_path / "runs" / cc, manifest={"cell": cell})
    make.record(tmp_path / "runs" / "plain", manifest={"cell": {"index": 0, "factors": {}}, "seed": None})
    results = ResultSet.open(tmp_path)
    measured = results.index()

    path = results.write_index()

    kept = ResultSet.open(tmp_path).index()
    assert path == tmp_path / "index.parquet"
    assert kept.equals(measured)
    assert kept.column_names[10:] == [
        "factor.cc",
        "factor.topology.rate",
        "metric",
        "scope",
        "value",
        "unit",
        "note",
    ]
    rows = [row for row in kept.to_pylist() if (row["metric"], row["scope"]) == ("goodput_bps", "total")]
    assert [(row["key"], row["factor.cc"], row["factor.topology.rate"], row["value"]) for row in rows] == [
        ("cubic", "cubic", "0", 80e6),
        ("plain", None, None, 80e6),
        ("reno", "reno", "10", 80e6),
    ]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["index.parquet", "runs"]


def test_the_index_is_read_by_others(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415 - slow to import, and only used here

    cell = {"index": 0, "factors": {"cc": "cubic"}}
    make.record(tmp_path / "runs" / "a", manifest={"cell": cell})
    path = ResultSet.open(tmp_path).write_index()

    told = pa.parquet.ParquetFile(path)
    assert told.schema_arrow.metadata == {b"format": b"rushhour-index/1"}
    kinds = {field.name: str(field.type) for field in told.schema_arrow}
    assert kinds["key"] == "string"
    assert (kinds["cell"], kinds["valid"], kinds["value"]) == ("int64", "bool", "double")
    columns = [told.metadata.row_group(0).column(number) for number in range(told.metadata.num_columns)]
    assert {column.compression for column in columns} == {"ZSTD"}
    assert pl.read_parquet(path)["factor.cc"].unique().to_list() == ["cubic"]
    assert pd.read_parquet(path)["metric"].nunique() > 10


def test_an_index_that_pyarrow_wrote_is_read(tmp_path: Path) -> None:
    """As all were until this program took another library."""
    make.record(tmp_path / "runs" / "a")
    results = ResultSet.open(tmp_path)
    measured = results.index()
    pa.parquet.write_table(measured, tmp_path / "index.parquet", compression="zstd")

    assert results.index().equals(measured)
    assert index.values(results)["a"] == next(iter(results)).metrics()
    assert index.parts(results) == [index.of_run(record) for record in results]


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    make.record(tmp_path / "runs" / "a")
    make.record(tmp_path / "runs" / "b")
    results = ResultSet.open(tmp_path)
    results.write_index()
    index.put(index.parts(results), tmp_path / "once.parquet")
    before = (tmp_path / "once.parquet").read_bytes()
    index.put(index.parts(results), tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == before


def test_a_damaged_index_says_what_to_do(tmp_path: Path) -> None:
    make.record(tmp_path / "runs" / "a")
    path = tmp_path / "index.parquet"
    whole = ResultSet.open(tmp_path).write_index().read_bytes()
    wrong = [b"", b"PAR1", whole[:-1], whole[: len(whole) // 2], whole[:-8] + b"\xff\xff\xff\x7fPAR1"]
    for text in [*wrong, whole[:-40] + bytes(32) + whole[-8:]]:
        path.write_bytes(text)
        with pytest.raises(RecordError, match="delete it"):
            ResultSet.open(tmp_path).index()

    pa.parquet.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(RecordError, match="not of the format"):
        ResultSet.open(tmp_path).index()
