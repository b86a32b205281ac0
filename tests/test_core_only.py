"""Every command works with what is installed by default; what needs more says so first, with the command."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from core import ROOT, foreign, python, rush
from report_records import make_set
from result_sets import kernel, result_set

from rushhour.extras import EXTRAS
from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    make_set(folder, [{"cc": cc} for cc in ("cubic", "reno")], seconds=4)
    ResultSet.open(folder).write_index()
    return folder


def well(done: subprocess.CompletedProcess[str], status: int = 0) -> str:
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_the_blocker_blocks() -> None:
    assert {"pyarrow", "scipy", "pandas", "polars", "psycopg", "pytest"} <= set(foreign())
    assert "numpy" not in foreign()
    assert "No module named 'scipy'" in python("import scipy.stats").stderr


def test_the_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    assert {name: [extra.requirement] for name, extra in EXTRAS.items()} == declared


@pytest.mark.parametrize(
    ("form", "made"),
    [
        ("html", "report.html"),
        ("md", "report.md"),
        ("png", "figures/run-000-cc-cubic.png"),
        ("csv", "tables/series.csv"),
        ("parquet", "tables/series.parquet"),
    ],
)
def test_reports_of_every_kind(records: Path, tmp_path: Path, form: str, made: str) -> None:
    words = ("--out", str(tmp_path / made.partition("/")[0]))
    well(rush("report", str(records), "--format", form, *words))
    assert (tmp_path / made).stat().st_size > 500


def test_scenarios_are_listed_and_shown() -> None:
    assert "tomasov" in well(rush("list"))
    assert "qdisc add" in well(rush("show", "tomasov/window-scaling", "--commands"))


def test_what_is_kept_and_looked_back_on(tmp_path: Path) -> None:
    data, database = str(tmp_path / "data"), str(tmp_path / "results.db")
    for number, rate in enumerate([80.0, 80.0, 60.0, 60.0]):
        name = f"k{number}"
        made = [kernel(name, f"6.{number}.1")]
        folder = tmp_path / f"2026010{number + 1}-000000"
        result_set(folder, kernels=made, repeat=3, goodput={name: rate + number / 100}, apart=True)
        well(rush("db", "import", str(folder), XDG_DATA_HOME=data, RUSHHOUR_DB=database))
    shifts = json.loads(
        well(rush("history", "goodput_bps", "--json", XDG_DATA_HOME=data, RUSHHOUR_DB=database))
    )
    assert "k2" in json.dumps(shifts)
    well(
        rush(
            "baseline",
            "save",
            "stable",
            str(tmp_path / "20260101-000000"),
            "--slim",
            XDG_DATA_HOME=data,
            RUSHHOUR_DB=database,
        )
    )
    assert "stable" in well(rush("baseline", "list", XDG_DATA_HOME=data, RUSHHOUR_DB=database))


def test_two_sides_are_judged(tmp_path: Path) -> None:
    for name, rate in (("a", 80.0), ("b", 60.0)):
        made = [kernel(name, "6.12.1")]
        result_set(tmp_path / name, kernels=made, repeat=5, goodput={name: rate}, apart=True)
    words = ("compare", "a", "b", "--out", "verdict", "--to", "junit")
    assert "worse" in well(rush(*words, cwd=tmp_path), 1)
    assert (tmp_path / "verdict/report.html").is_file()


def test_results_go_to_other_programs(records: Path, tmp_path: Path) -> None:
    well(rush("export", str(records), "--to", "junit", "--to", "openmetrics", "--out", str(tmp_path)))
    assert len(list(tmp_path.iterdir())) == 2


def test_the_playground_and_the_results_in_a_browser_can_be_made() -> None:
    code = "import rushhour.web.app, rushhour.web.serve, rushhour.web.browse.views, rushhour.web.play.views"
    assert well(python(code)) == ""


def test_frames_without_pyarrow_are_an_error_in_words(records: Path) -> None:
    code = "import rushhour\nresults = rushhour.open(%r)\ntry: results.index()\n"
    code += "except rushhour.RushHourError as error: print(error)\n"
    code += "try: next(iter(results)).frame('metrics')\nexcept rushhour.RushHourError as error: print(error)"
    told = well(python(code % str(records)))
    assert told.count("the Python package pyarrow is not installed") == 2
    assert told.count("-m pip install 'pyarrow>=18'") == 2


@pytest.mark.parametrize("command", [("run", "tomasov/window-scaling"), ("compare", "a", "b")])
@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_server_without_its_driver_is_refused_before_anything_runs(
    tmp_path: Path, command: tuple[str, ...], by: str
) -> None:
    url = "postgresql://me@db.example/results"
    words = ("--db", url) if by == "option" else ()
    done = rush(*command, *words, cwd=tmp_path, RUSHHOUR_DB=url if by == "variable" else "")
    assert done.returncode == 2
    assert "the Python package psycopg is not installed" in done.stderr
    assert "-m pip install 'psycopg[binary]>=3.2'" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.virtual
def test_a_scenario_runs_to_its_report(tmp_path: Path) -> None:
    words = ("run", "suite/slow-start", "--quick", "--out", "out")
    assert "goodput" in well(rush(*words, cwd=tmp_path)).lower()
    assert (tmp_path / "out/report.html").is_file()
    assert (tmp_path / "out/index.parquet").is_file()
