"""Slim records: what a run measured is kept without its tables, and serves wherever these are not needed."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import commandline
import fakes
import pytest

from rushhour.baseline.keep import save
from rushhour.cli import entries
from rushhour.errors import LabError, RecordError, ReportError, UsageError
from rushhour.explain import explain
from rushhour.files import storage
from rushhour.lab import kernel as kernels
from rushhour.record import kept
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.record.slim import WHOLE, Wanted
from rushhour.report import export, gallery, html, markdown
from rushhour.running import runner
from rushhour.summary import measured
from rushhour.verdict import side

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.running.batch import Outcome

# What each algorithm of the fake scenario gives is its own: no two records have the same files.
MORE = {"cubic": 5, "reno": 4, "vegas": 6, "bbr": 3}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    one = fakes.kernel("k", tmp_path)
    monkeypatch.setattr(kernels, "find", lambda _: one)
    monkeypatch.setattr(kernels, "default", lambda: one)
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO)
    return tmp_path


def slim(store: str | None = None) -> Wanted:
    return runner.keeping("uml", None if store else "metrics", store)


def sweep(out: str, wanted: Wanted = WHOLE, *sets: str, mbit: float = 50.0) -> list[Outcome]:
    """Four runs, as `rushhour run` makes them."""
    lab: Any = fakes.FakeLab(lambda _kernel, cc, _seed: mbit + MORE.get(cc, 0))
    batches = runner.prepare(["fake.toml"], repeat=1, out=Path(out), sets=sets)
    with closing(runner.carry_out(batches, lab, wanted=wanted)) as outcomes:
        found = sorted(outcomes, key=lambda outcome: outcome.run.number)
    assert not [outcome.error for outcome in found if outcome.error is not None]
    return found


def cached(outcomes: list[Outcome]) -> int:
    return sum(outcome.cached for outcome in outcomes)


def forget_cache(place: Path) -> None:
    shutil.rmtree(place / "XDG_CACHE_HOME")


def test_a_slim_set_has_the_same_index_without_tables(place: Path) -> None:
    sweep("whole")
    forget_cache(place)
    sweep("slim", slim())
    assert (place / "slim/index.parquet").read_bytes() == (place / "whole/index.parquet").read_bytes()
    assert not [*place.glob("slim/runs/*/raw")]
    for whole, thin in zip(ResultSet.open(place / "whole"), ResultSet.open(place / "slim"), strict=True):
        assert not thin.is_whole
        assert thin.manifest == whole.manifest
        assert thin.metrics() == whole.metrics()
        assert {path.name for path in thin.path.iterdir()} == {
            *(path.name for path in whole.path.iterdir() if path.name != "raw"), "metrics.json"
        }  # fmt: skip


def test_what_is_known_slim_is_not_run_again_but_where_tables_are_wanted() -> None:
    assert cached(sweep("out", slim())) == 0
    assert cached(sweep("out", slim())) == 4
    assert cached(sweep("elsewhere", slim())) == 4
    assert cached(sweep("out")) == 0
    assert all(record.is_whole for record in ResultSet.open(Path("out")))
    # A whole record is as good as a slim one, and none takes its place.
    assert cached(sweep("out", slim())) == 4
    assert all(record.is_whole for record in ResultSet.open(Path("out")))
    assert cached(sweep("third")) == 4


def test_a_slim_record_never_replaces_a_whole_one_in_the_cache() -> None:
    first = sweep("out")[0].record
    key = Record.open(first).key
    thin = Path("thin")
    shutil.copytree(first, thin)
    record = Record.open(thin)
    kept.make_slim(thin, _content(record))
    kept.keep(key, thin)
    found = kept.find(key)
    assert found is not None
    assert Record.open(found).is_whole


def _content(record: Record) -> bytes:
    from rushhour.record.slim import content  # noqa: PLC0415

    return content(record.manifest, slim(), measured.rows_of(record.metrics()))


def test_what_another_code_measured_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep("out", slim())
    monkeypatch.setattr(measured, "code", lambda: "other")
    assert cached(sweep("out", slim())) == 0


def test_another_meaning_of_the_same_plan_is_measured_anew() -> None:
    """Calibration judges by what the scenario calls things; without tables it cannot judge again."""
    sweep("out", slim())
    Path("fake.toml").write_text(fakes.SCENARIO.replace('"long"', '"another"'))
    # The same keys: whole records would serve.
    assert cached(sweep("other", slim())) == 0
    for record in ResultSet.open(Path("other")):
        assert {value.scope for value in record.metrics() if value.metric == "goodput_bps"} >= {
            "flow:another"
        }


def test_reports_say_what_is_missing(place: Path) -> None:
    sweep("out", slim())
    results = ResultSet.open(place / "out")
    said = "Of all runs the metrics were kept, not the tables: no curves, no causes."
    assert said in html.render(results)
    assert said.replace(".", "") in markdown.render(results).replace("\\", "").replace(".", "")
    sweep("out")
    assert "the metrics were kept" not in html.render(ResultSet.open(place / "out"))


def test_the_document_of_a_run_has_no_causes(place: Path) -> None:
    (outcome, *_) = sweep("out", slim())
    entry = entries.entry(outcome, {})
    assert entry["why"] == []
    assert entry["metrics"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda record: record.table("tcp_probe"),
        lambda record: record.series("snd_cwnd", 0),
        lambda record: record.frame("tcp_probe"),
    ],
)
def test_who_asks_for_a_table_is_told_which_command_makes_it(
    ask: Callable[[Record], object],
) -> None:
    (outcome, *_) = sweep("out", slim(), "topology.rtt=30ms")
    record = Record.open(outcome.record)
    assert record.has("tcp_probe")
    with pytest.raises(RecordError, match="tables of this run were not kept") as error:
        ask(record)
    assert error.value.hint == (
        "to make them again: rushhour run fake.toml --set topology.rtt=30ms --kernel k --repeat 1 "
        "--keep records --out out"
    )


@pytest.mark.parametrize("fault", ["value", "table", "other", "gone", "file"])
def test_a_changed_slim_record_is_refused(place: Path, fault: str) -> None:
    first, second, *_ = (outcome.record for outcome in sweep("out", slim()))
    path = first / "metrics.json"
    path.chmod(0o644)
    if fault == "value":
        about = json.loads(path.read_text())
        about["metrics"][0][2] = 1e9
        path.write_text(json.dumps(about))
    elif fault == "table":
        (first / "raw").mkdir()
        (first / "raw/tcp_probe.rh").write_bytes(b"x")
    elif fault == "other":
        path.write_bytes((second / "metrics.json").read_bytes())
    elif fault == "gone":
        path.unlink()
    else:
        (first / "plan.json").chmod(0o644)
        (first / "plan.json").write_text("{}")
    with pytest.raises(RecordError):
        Record.verified(first)
    forget_cache(place)
    assert cached(sweep("out", slim())) == 3


def test_metrics_that_the_catalogue_does_not_know_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushhour.metrics import catalog  # noqa: PLC0415

    (outcome, *_) = sweep("out", slim())
    # Not by taking it out of the catalogue itself: put back it would be the last.
    fewer = {name: metric for name, metric in catalog.METRICS.items() if name != "goodput_bps"}
    monkeypatch.setattr(catalog, "METRICS", fewer)
    with pytest.raises(RecordError, match="another version of this program measured"):
        measured.metrics_of(Record.open(outcome.record))


def test_a_comparison_needs_metrics_and_checksums_only(place: Path) -> None:
    sweep("whole")
    forget_cache(place)
    sweep("slim", slim())
    whole, thin = (side.of_sets([ResultSet.open(place / name)], name) for name in ("whole", "slim"))
    for one, other in zip(whole.trials(), thin.trials(), strict=True):
        assert one.equals(other)
        assert one.values(["goodput_bps"]) == other.values(["goodput_bps"])
        assert other.info_length == 0


def test_a_baseline_of_slim_records_is_slim(place: Path) -> None:
    sweep("out", slim())
    with pytest.raises(UsageError, match="slim"):
        save("./whole", place / "out", time="2026-01-01")
    save("./thin", place / "out", time="2026-01-01", slim=True)


def test_a_run_in_real_time_is_kept_whole() -> None:
    with pytest.raises(UsageError, match="cannot be made again"):
        runner.keeping("netns", "metrics")
    with pytest.raises(UsageError, match="leave one of both out"):
        runner.keeping("uml", "records", "file:///tmp/x")


def test_records_in_a_shared_folder_are_fetched_when_they_are_asked_for(place: Path) -> None:
    url = f"file://{place}/store"
    whole = sweep("whole")
    forget_cache(place)
    found = sweep("out", slim(url))
    assert len([*place.glob("store/*/*.tar.gz")]) == 4
    assert not [*place.glob("out/runs/*/raw")]
    for one, other in zip(whole, found, strict=True):
        record, thin = Record.open(one.record), Record.open(other.record)
        assert (thin.table("tcp_probe") == record.table("tcp_probe")).all()
        assert explain(thin) == explain(record)
    assert not [*place.glob("out/runs/*/raw")]
    # What was fetched is kept: the store may be away.
    shutil.rmtree(place / "store")
    assert len(Record.open(found[0].record).table("tcp_probe"))
    assert cached(sweep("out", slim(url))) == 4
    assert cached(sweep("out", slim(f"file://{place}/another"))) == 0


@pytest.mark.parametrize("fault", ["gone", "damaged", "other"])
def test_what_a_store_gives_is_verified(place: Path, fault: str) -> None:
    first, *_ = sweep("out", slim(f"file://{place}/store"))
    key = Record.open(first.record).key
    (archive,) = place.glob(f"store/*/{key}*")
    other = next(path for path in place.glob("store/*/*") if path != archive)
    if fault == "gone":
        archive.unlink()
    else:
        half = archive.read_bytes()[: archive.stat().st_size // 2]
        archive.write_bytes(half if fault == "damaged" else other.read_bytes())
    with pytest.raises(RecordError, match="storage"):
        Record.open(first.record).table("tcp_probe")


def test_nothing_is_fetched_because_a_strangers_file_says_so(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"file://{place}/store"
    first, *_ = sweep("out", slim(url))
    shutil.rmtree(place / "XDG_CONFIG_HOME")
    with pytest.raises(RecordError, match="never asked for anything") as error:
        Record.open(first.record).table("tcp_probe")
    assert f"RUSHHOUR_STORE={url}" in str(error.value)
    monkeypatch.setenv("RUSHHOUR_STORE", url)
    assert len(Record.open(first.record).table("tcp_probe"))


@pytest.mark.parametrize(
    "url",
    ["", "runs", "s3:", "file://srv/runs", "s3://me:secret@bucket/x", "s3://b/x?key=1", "nothing://b/x"],
)
def test_a_store_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        storage.checked(url)


def test_a_store_that_cannot_be_written_is_named(place: Path) -> None:
    (place / "file").write_text("")
    with pytest.raises(LabError, match="the storage cannot be written") as error:
        storage.put(f"file://{place}/file/runs", "aa/x", b"x")
    assert isinstance(error.value.__cause__, OSError)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_of_slim_runs_have_metrics_and_say_why_there_are_no_series(place: Path, form: str) -> None:
    sweep("out", slim())
    told: list[str] = []
    made = export.write(ResultSet.open(place / "out"), place / "tables", form, told.append)
    assert [path.name for path in made] == [f"metrics.{form}"]
    assert [path.name for path in (place / "tables").iterdir()] == [f"metrics.{form}"]
    (said,) = told
    assert f"Of all runs the metrics were kept, not the tables: there is no series.{form}." in said
    assert "to make them again: rushhour run fake.toml" in said


def test_series_of_the_runs_that_are_whole_are_written(place: Path) -> None:
    outcomes = sweep("out", slim())
    record = outcomes[2].record
    shutil.rmtree(record)
    forget_cache(place)
    shutil.copytree(sweep("whole")[2].record, record)
    told: list[str] = []
    made = export.write(ResultSet.open(place / "out"), place / "tables", "csv", told.append)
    assert [path.name for path in made] == ["metrics.csv", "series.csv"]
    assert {line.partition(",")[0] for line in made[1].read_text().splitlines()[1:]} == {record.name}
    assert told[0].startswith(
        "Of 3 of 4 runs the metrics were kept, not the tables: series.csv is without them"
    )


def test_series_are_fetched_from_a_storage(place: Path) -> None:
    sweep("out", slim(f"file://{place}/store"))
    told: list[str] = []
    export.write(ResultSet.open(place / "out"), place / "thin", "csv", told.append)
    assert not told
    forget_cache(place)
    sweep("whole")
    export.write(ResultSet.open(place / "whole"), place / "tables", "csv")
    assert (place / "thin/series.csv").read_bytes() == (place / "tables/series.csv").read_bytes()


def test_figures_of_slim_runs_are_those_over_factors(place: Path) -> None:
    sweep("out", slim())
    told: list[str] = []
    made = gallery.draw(ResultSet.open(place / "out"), place / "figures", "svg", told.append)
    assert made
    assert not [path for path in made if path.name.startswith("run-")]
    assert "no curves" in told[0]
    assert "rushhour run fake.toml" in told[0]


def test_one_slim_run_without_a_sweep_has_nothing_to_draw(place: Path) -> None:
    sweep("out", slim(), "cc=cubic")
    with pytest.raises(ReportError, match="nothing that can be drawn") as error:
        gallery.draw(ResultSet.open(place / "out"), place / "figures", "svg")
    assert "the metrics were kept" in str(error.value.hint)


def test_the_python_api_keeps_metrics(place: Path) -> None:
    with pytest.raises(UsageError, match="cannot be made again"):
        runner.run("fake.toml", lab="netns", keep="metrics")


@pytest.mark.parametrize("command", ["run", "compare", "bisect"])
def test_commands_that_make_runs_refuse_what_fits_not_together(command: str) -> None:
    words = {
        "run": ["fake.toml"],
        "compare": ["k", "k"],
        "bisect": ["fake.toml", "--tree", ".", "--good", "a", "--bad", "b"],
    }[command]
    result = commandline.rush(command, *words, "--keep", "records", "--store", "file:///tmp/x")
    assert result.returncode == 2
    assert "leave one of both out" in result.stderr
