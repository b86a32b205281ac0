"""Figures, Markdown and tables: what `rushhour report --format` writes."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import builders
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from report_records import make_set

from rushhour.cli.report import report
from rushhour.errors import RecordError, ReportError
from rushhour.record.result_set import ResultSet
from rushhour.report import markdown

CELLS = [{"cc": cc, "loss": loss} for cc in ("cubic", "reno") for loss in ("0%", "1%")]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_set(tmp_path_factory.mktemp("records"), CELLS, seconds=4)


def run(*arguments: object) -> list[Path]:
    done = CliRunner().invoke(report, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return [Path(line) for line in done.output.splitlines()]


@pytest.mark.parametrize(("form", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures_are_of_their_kind_and_the_same_each_time(
    records: Path, tmp_path: Path, form: str, magic: bytes
) -> None:
    one, two = (run(records / "runs" / "0000", "--format", form, "--out", tmp_path / name) for name in "ab")
    assert [path.name for path in one] == [f"run-000-cc-cubic-loss-0.{form}"]
    assert one[0].read_bytes().startswith(magic)
    assert one[0].read_bytes() == two[0].read_bytes()


def test_a_figure_says_its_conditions_and_a_sweep_has_maps(records: Path, tmp_path: Path) -> None:
    paths = run(records, "--format", "svg", "--out", tmp_path)
    assert sum(path.name.startswith("run-") for path in paths) == len(CELLS)
    assert any(path.name.startswith("sweep-") for path in paths)
    words = " ".join(ET.parse(paths[0]).getroot().itertext())
    assert "100 Mbit/s · base RTT 2.1 ms · buffer 500 kB" in words
    assert "Linux 6.12.117" in words


def test_series_as_parquet_are_the_samples_of_the_record(records: Path, tmp_path: Path) -> None:
    run(records, "--format", "parquet", "--out", tmp_path)
    table = pq.read_table(tmp_path / "series.parquet")
    chosen = pc.and_(pc.equal(table["run"], "0002"), pc.equal(table["series"], "snd_cwnd"))
    rows = table.filter(pc.and_(chosen, pc.equal(table["of"], "short")))
    expected = next(r for r in ResultSet.open(records) if r.path.name == "0002").series(
        "snd_cwnd", flow="short"
    )
    np.testing.assert_array_equal(rows["value"].to_numpy(), expected.values)
    np.testing.assert_array_equal(rows["t_s"].to_numpy(), expected.t_s)


def test_metrics_as_csv_have_a_row_for_each_run_metric_and_scope(records: Path, tmp_path: Path) -> None:
    run(records, "--format", "csv", "--out", tmp_path)
    with (tmp_path / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    measured = [value for record in ResultSet.open(records) for value in record.metrics()]
    assert len(rows) == len(measured)
    assert {row["factor.cc"] for row in rows} == {"cubic", "reno"}


def test_series_as_csv_are_the_same_as_in_parquet(records: Path, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        run(records, "--format", form, "--out", tmp_path)
    kept = pq.read_table(tmp_path / "series.parquet")
    with (tmp_path / "series.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["series"] for row in rows] == kept["series"].to_pylist()
    assert [row["of"] for row in rows] == kept["of"].to_pylist()
    np.testing.assert_array_equal([float(row["value"]) for row in rows], kept["value"].to_numpy())
    assert kept.schema.metadata is None


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_on_a_full_disk_are_an_error_in_words(
    records: Path, tmp_path: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"series.{form}").symlink_to("/dev/full")
    with pytest.raises(ReportError, match="No space left on device"):
        run(records, "--format", form, "--out", tmp_path)
    assert capfd.readouterr().err == ""  # the library would have told of its panic


def test_a_record_that_cannot_be_read_is_the_error_that_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_set(tmp_path / "set", CELLS, seconds=4)
    ResultSet.open(tmp_path / "set").write_index()
    next((tmp_path / "set/runs/0003/raw").glob("tcp_info*")).write_bytes(b"no table")
    with pytest.raises(RecordError):
        run(tmp_path / "set", "--format", "parquet", "--out", tmp_path / "out")
    assert "panicked" not in capfd.readouterr().err


def test_markdown_has_a_row_for_each_cell_and_nothing_in_it_acts(tmp_path: Path) -> None:
    attack = "<img src=x> | *bold* `code` [x](y)"
    make_set(tmp_path, [{"cc": attack}, {"cc": "reno"}], seconds=4, title=attack)
    text = markdown.render(ResultSet.open(tmp_path))
    assert not re.search(r"(?<!\\)<", text)
    assert sum(line.startswith("| ") for line in text.splitlines()) == 3
    assert markdown.render(ResultSet.open(tmp_path)) == text


def test_a_record_is_not_written_to(records: Path) -> None:
    folder = records / "runs" / "0000"
    (written,) = run(folder)
    assert written == records / "runs" / "0000-report.html"
    next(iter(ResultSet.open(folder))).verify()
    written.unlink()


def test_no_records_and_nothing_to_draw_are_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no records here"):
        run(tmp_path)
    make_set(tmp_path, [{}], seconds=4)
    for table in (tmp_path / "runs" / "0000" / "raw").iterdir():
        table.unlink()
    builders.reseal(tmp_path / "runs" / "0000")
    with pytest.raises(ReportError, match="nothing that can be drawn"):
        run(tmp_path, "--format", "svg")
