"""A history out of the database: points in order, series apart, and what is shown of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from result_sets import AGENT, kernel, result_set

from rushhour.cli import cli
from rushhour.errors import UsageError
from rushhour.history import history
from rushhour.report.embed import unpack
from rushhour.report.figure.page import packed
from rushhour.report.history.figure import figure
from rushhour.report.history.html import page
from rushhour.report.history.terminal import marks
from rushhour.report.shell import digest
from rushhour.store import Store

if TYPE_CHECKING:
    from pathlib import Path

RELEASES = ("6.12.1", "6.12.9", "6.12.10", "6.13.0-rc1", "6.13.0")


def fill(store: Store, folder: Path, rates: dict[str, float], *, day: int = 1, **more: Any) -> None:
    """Import a set of one cell and three seeds for each release; kernels run newest first."""
    for place, (release, rate) in enumerate(reversed(rates.items())):
        name = folder / f"202611{day:02d}-09{place:02d}00"
        one = kernel("linux", release)
        result_set(
            name,
            kernels=[one],
            repeat=3,
            goodput={"linux": rate},
            factors=[{"cc": "cubic"}],
            indexed=False,
            **more,
        )
        store.import_folder(name)


def test_kernels_come_by_version_and_a_drop_is_where_it_was(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        fill(store, tmp_path, dict(zip(RELEASES, (80.0, 80.0, 60.0, 60.0, 60.0), strict=True)))

        [series] = history(store, "goodput_bps", "suite/start", {"cc": "cubic"})

    assert [point.release for point in series.points] == list(RELEASES)
    assert [point.mean for point in series.points] == pytest.approx([80.1e6] * 2 + [60.1e6] * 3)
    [change] = series.changes
    assert (change.at, change.exact, change.shift) == (2, True, True)
    assert change.relative == pytest.approx(-20 / 80.1)
    assert (series.better, series.unit, series.scope) == ("higher", "bit/s", "total")


def test_scopes_and_cells_are_series_of_their_own(database: str, tmp_path: Path) -> None:
    folder = result_set(tmp_path / "20261101-090000").path
    with Store.open(database) as store:
        store.import_folder(folder)

        assert [one.factors["cc"] for one in history(store, "goodput_bps")] == ["cubic", "reno"]
        assert {one.scope for one in history(store, "goodput_bps", scope="long")} == {"flow:long"}
        assert {one.scope for one in history(store, "goodput_bps", scope="flow:long")} == {"flow:long"}
        assert [one.factors["cc"] for one in history(store, "goodput_bps", limit=1, offset=1)] == ["reno"]


def test_a_scenario_that_was_changed_is_another_series(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        fill(store, tmp_path, {"6.12.1": 80.0})
        other = result_set(tmp_path / "20261102-090000", factors=[{"cc": "cubic"}], revision="6").path
        store.import_folder(other)

        assert [(one.revision[:1], len(one.points)) for one in history(store, "goodput_bps")] == [
            ("5", 1),
            ("6", 1),
        ]


def test_over_time_a_kernel_is_a_point_each_time(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        for day, rate in ((1, 80.0), (2, 80.0), (3, 70.0)):
            agent = AGENT if day < 3 else {**AGENT, "sha256": "b" * 64}
            fill(store, tmp_path, {"6.12.1": rate}, day=day, agent=agent)

        [series] = history(store, "goodput_bps", by="time")
        assert [point.made[:10] for point in series.points] == ["2026-11-01", "2026-11-02", "2026-11-03"]
        [change] = series.changes
        assert (change.at, change.agent) == (2, True)
        [late] = history(store, "goodput_bps", by="time", since="2026-11-02")
        assert [point.made[:10] for point in late.points] == ["2026-11-02", "2026-11-03"]


def test_runs_that_are_not_valid_count_nowhere(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        fill(store, tmp_path, {"6.12.1": 80.0, "6.13.0": 10.0}, valid=True)
        fill(store, tmp_path, {"6.14.0": 10.0}, day=2, valid=False)

        [series] = history(store, "goodput_bps")
        assert [point.release for point in series.points] == ["6.12.1", "6.13.0"]


def test_what_is_not_stored_is_said_with_what_is(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        with pytest.raises(UsageError, match="no metric 'goodput_bps' is stored"):
            history(store, "goodput_bps")
        store.import_folder(result_set(tmp_path / "20261101-090000").path)
        for asked, words in (
            (("goodput_bsp",), "did you mean goodput_bps"),
            (("goodput_bps", "suite/stat"), "there is: suite/start"),
            (("goodput_bps", None, {"cc": "bbr"}), "cc: cubic, reno"),
            (("goodput_bps", None, {}, "short"), "flow:long, total"),
        ):
            metric, scenario, where, scope = (*asked, *(None,) * 3)[:4]
            with pytest.raises(UsageError) as caught:
                history(store, metric, scenario, where, scope=scope)
            assert words in str(caught.value)
        with pytest.raises(UsageError, match="no run with goodput_bps is left"):
            history(store, "goodput_bps", kernels=["nothing"])


def test_what_another_scenario_has_is_not_said_of_this_one(database: str, tmp_path: Path) -> None:
    with Store.open(database) as store:
        store.import_folder(result_set(tmp_path / "20261101-090000").path)
        others = result_set(tmp_path / "20261101-100000", scenario="suite/other", flow="bulk")
        store.import_folder(others.path)
        for scope, said in (("short", "flow:bulk, total"), ("flow:long", "flow:bulk, total")):
            with pytest.raises(UsageError, match="'suite/other' is not stored at") as caught:
                history(store, "goodput_bps", "suite/other", scope=scope)
            assert str(caught.value).endswith(said)
        wrong = result_set(tmp_path / "20261101-110000", scenario="suite/wrong", valid=False)
        store.import_folder(wrong.path)
        with pytest.raises(UsageError, match=r"no valid run of 'suite/wrong' has goodput_bps\n.*other cells"):
            history(store, "goodput_bps", "suite/wrong")


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """A database with a series that falls."""
    with Store.open(tmp_path / "results.db") as store:
        fill(store, tmp_path, dict(zip(RELEASES, (80.0, 80.0, 60.0, 60.0, 60.0), strict=True)))
    return str(tmp_path / "results.db")


def command(*words: str) -> Any:
    done = CliRunner(env={"COLUMNS": "160"}).invoke(cli, ["history", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_terminal_names_the_kernels_on_both_sides(stored: str) -> None:
    shown = command("goodput_bps", "suite/start", "--where", "cc=cubic", "--db", stored)

    assert re.search(r"linux 6\.12\.9 → linux 6\.12\.10\s+.25\.0\s%\s+shift of the level, exact", shown)
    assert shown.index("6.12.9") < shown.index("6.13.0-rc1")


def test_the_document_has_everything(stored: str) -> None:
    document = json.loads(command("goodput_bps", "--db", stored, "--json"))

    [series] = document["series"]
    assert [point["n"] for point in series["points"]] == [3] * 5
    [change] = series["changes"]
    assert (change["from"]["release"], change["to"]["release"]) == ("6.12.9", "6.12.10")
    assert document["where"] == stored


def test_the_page_and_the_drawing_say_the_change(stored: str, tmp_path: Path) -> None:
    with Store.open(stored) as store:
        found = history(store, "goodput_bps")
    text = page(found)
    assert page(found) == text
    # The page's own rule lets this style in, and nothing else.
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert f"style-src '{digest(style)}'" in text.replace("&#39;", "'")
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    assert f"script-src '{digest(script)}'" in text.replace("&#39;", "'")
    for name in ("history.html", "history.svg"):
        command("goodput_bps", "--db", stored, "--out", str(tmp_path / name))
        text = (tmp_path / name).read_text()
        assert "25.0\N{NARROW NO-BREAK SPACE}%" in text
        assert "6.12.10" in text
        # Nothing is loaded from elsewhere; names of formats and a licence line are addresses, too.
        assert re.findall(r"(?:src|href)=\"(?!#)|url\((?!#)|@import|fetch\(", text) == []
    with pytest.raises(UsageError, match="neither a page nor a drawing"):
        command("goodput_bps", "--db", stored, "--out", str(tmp_path / "history.gif"))


def test_page_terminal_and_drawing_draw_one_figure(stored: str) -> None:
    with Store.open(stored) as store:
        [series] = history(store, "goodput_bps")
    plot = figure(series, "start")
    assert plot is not None
    [facet] = plot.facets
    # Two levels, broad and pale, and the points over them; the change stands between the points around it.
    assert [plot.styles[trace.look or 0].pale for trace in facet.traces] == [True, True, False]
    [change] = facet.instants
    assert facet.traces[2].x[1] < change.x < facet.traces[2].x[2]
    assert "25.0" in change.label
    assert change.tone == "bad"
    assert facet.low > 0
    header, columns = unpack(packed(plot))
    [drawn] = header["figure"]["facets"]
    assert drawn["instants"][0]["label"] == change.label
    assert columns[drawn["traces"][2]["columns"]["v"]].tolist() == pytest.approx(facet.traces[2].y.tolist())
    shown = command("goodput_bps", "suite/start", "--where", "cc=cubic", "--db", stored)
    assert "┊" in shown
    assert shown.index(change.label) < shown.index("┊")
    assert shown.count("●") == 5


def test_no_number_is_cut_where_there_is_little_room(stored: str) -> None:
    words = ["history", "goodput_bps", "suite/start", "--where", "cc=cubic", "--db", stored]
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli, words, catch_exceptions=False)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    assert done.stdout.count("60.10") >= 1


def test_foreign_words_stay_words(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    with Store.open(tmp_path / "results.db") as store:
        for day in (1, 2):
            name = tmp_path / f"2026110{day}-090000"
            result_set(
                name, kernels=[kernel(evil, f"6.{day}")], factors=[{"cc": evil}], goodput={evil: 80.0 - day}
            )
            store.import_folder(name)
        text = page(history(store, "goodput_bps"))
    assert evil not in text


def test_marks_of_values() -> None:
    assert marks([0.0, None, 7.0, 7.0]) == "▁ ██"
    assert len(set(marks([100.0, 100.1, 100.2]))) == 1
    assert marks([None, None]) == ""


def test_help_is_quick() -> None:
    code = "import sys; from rushhour.cli import history, db, baseline; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"sqlalchemy", "scipy", "ruptures", "numpy", "pyarrow", "matplotlib"}
