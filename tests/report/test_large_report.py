"""A report of a large set: bounded in size and memory, with the same sums as one that lists every run."""

from __future__ import annotations

import io
import json
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commandline import rush
from report_records import make_copies
from result_sets import result_set
from rich.console import Console

import rushhour
from benchmarks import many
from rushhour.errors import RecordError
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import gather, html, lean, markdown, thin
from rushhour.report.answer import answer
from rushhour.report.brief import Briefs
from rushhour.report.tables import cells_table
from rushhour.report.terminal import print_results
from rushhour.summary import index
from rushhour.summary.expectations import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 200


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of forty cells; two of its runs are invalid."""
    place = tmp_path_factory.mktemp("large")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        template = next(iter(result_set(place / "template"))).path
        results = many.make(template, place / "many", RUNS)
        results.write_index()
    return results.path


@pytest.fixture
def large(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResultSet:
    """From fifty runs on a set is large, and curves of twenty are drawn."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
    monkeypatch.setattr(gather, "MAX_DRAWN", 20)
    monkeypatch.setattr(index, "WHOLE", 50)
    monkeypatch.setattr(index, "CHUNK", 30)
    results = ResultSet.open(folder)
    results.write_index()
    return ResultSet.open(folder)


def test_sums_are_those_of_all_runs(large: ResultSet, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [*gather.views(large)]
    monkeypatch.setattr(index, "WHOLE", 5000)
    every = [*gather.views(ResultSet.open(large.path))]
    assert len(few) == len(every) == RUNS
    assert [run.factors for run in few] == [run.factors for run in every]
    assert cells_table(few, split=True) == cells_table(every, split=True)
    assert answer(large.about, few) == answer(large.about, every)
    assert [len(run.verdicts) for run in few] == [len(run.verdicts) for run in every]
    assert sum(bool(run.panels) for run in few) == 20
    assert markdown.render(large)


def opened(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> Counter[str]:
    """How often `work` opens the record in each folder."""
    found = Counter[str]()
    plain = Record.open.__func__  # type: ignore[attr-defined]

    def counting(kind: type[Record], path: Path | str) -> Record:
        found[Path(path).name] += 1
        made: Record = plain(kind, path)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(Record, "open", classmethod(counting))
        work()
    return found


def test_a_record_is_opened_once_unless_it_is_drawn(
    large: ResultSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first also tells of the whole set: its head, its path, how it is made again."""
    drawn = {run.name for run in gather.views(ResultSet.open(large.path)) if run.panels}
    found = opened(monkeypatch, lambda: html.render(large))
    first = min(found)
    again = {name for name, times in found.items() if times > 1}
    assert len(found) == RUNS
    assert again <= drawn | {first}
    assert sum(found.values()) <= RUNS + len(drawn) + 3
    # The terminal, after the page, opens what tells of the whole set, and nothing else.
    screen = opened(monkeypatch, lambda: print_results(large, Console(file=io.StringIO())))
    assert set(screen) == {first}


def test_a_changed_record_is_found_by_the_only_look(tmp_path: Path, large: ResultSet) -> None:
    other = shutil.copytree(large.path, tmp_path / "set")
    run = sorted((other / "runs").iterdir())[RUNS // 2]
    table = next((run / "raw").glob("*.rh"))
    table.chmod(0o644)
    table.write_bytes(table.read_bytes() + b"!")
    with pytest.raises(RecordError, match="was changed after the run"):
        html.render(ResultSet.open(other))


def test_the_page_lists_only_runs_that_it_draws(large: ResultSet) -> None:
    page = html.render(large)
    listed = json.loads(re.search(r'id="runs">(.*?)</script>', page)[1])  # type: ignore[index]
    series = re.findall(r'id="series-(\d+)"', page)
    assert len(listed) == len(series) == 20
    assert series == [str(number) for number in range(20)]
    rows = [int(number) for number in re.findall(r'data-run="(\d+)"', page)]
    assert rows == sorted(set(rows))
    assert set(rows) <= set(range(20))
    assert f"In all {RUNS} runs the links were measured" in page
    assert "Evenly chosen cells; " in page
    assert "--where topology.rtt=" in page or "--where rtt=" in page


def test_the_runs_that_are_drawn_have_every_level(large: ResultSet) -> None:
    """Steps of equal length through a regular sweep would show one queue only."""
    drawn = [run for run in gather.views(large) if run.panels]
    for factor, levels in (("queue", 5), ("rate", 4), ("repetition", many.REPEAT)):
        assert len({run.factors[factor] for run in drawn}) == levels


def test_a_row_leads_to_a_run_of_its_cell(large: ResultSet) -> None:
    page = html.render(large)
    listed = json.loads(re.search(r'id="runs">(.*?)</script>', page)[1])  # type: ignore[index]
    found = re.findall(r'data-run="(\d+)">([^<]*)</a>', page)
    assert found
    for number, rtt in found:
        assert listed[int(number)]["factors"]["rtt"] == rtt


def test_figures_are_of_evenly_chosen_levels_and_say_so(
    large: ResultSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thin, "MOST_CELLS", 8)
    chosen = thin.Thin(large)
    assert chosen.notes == (
        "Of 4 levels of topology.rate 2 are drawn, evenly chosen.",
        "Of 5 levels of topology.queue 2 are drawn, evenly chosen.",
    )
    cells = [cell.factors for cell in large.about.cells if chosen.has(cell.factors)]
    assert len(cells) == 8
    assert {cell["topology.queue"] for cell in cells} == {"fifo", "red"}
    assert chosen.notes[0] in html.render(large)
    monkeypatch.setattr(index, "WHOLE", 5000)
    assert thin.Thin(large).notes == ()
    assert thin.Thin(large).has({"topology.rate": "no such level"})


def test_failed_expectations_are_counted_beyond_those_that_are_told(
    large: ResultSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lean.Lean(large, Briefs(large))
    monkeypatch.setattr(lean, "MAX_TOLD", 2)
    broken = Verdict("goodput_bps", "total", ok=False, value=1.0, wanted="more", message="too little")
    found = [made._verdict(broken) for _ in range(4)]
    assert [one.ok for one in found] == [False] * 4
    assert [one.message == "too little" for one in found] == [True, True, False, False]


def test_cells_are_drilled_into(large: ResultSet, tmp_path: Path) -> None:
    part = large.where({"rtt": "1ms", "topology.queue": "fq"})
    assert len(part) == 4 * many.REPEAT
    assert {record.factors["topology.queue"] for record in part} == {"fq"}
    assert len(index.parts(part)) == len(part)
    assert part.index().num_rows == sum(len(one.values) for one in index.parts(part))
    page = html.render(part)
    assert page.count('id="series-') == len(part)
    done = rush("report", str(large.path), "--where", "rtt=1ms", "--where", "queue=fq")
    assert done.returncode == 0, done.stderr
    assert (large.path / "rtt=1ms-queue=fq-report.html").is_file()


@pytest.mark.parametrize(
    ("levels", "said", "hint"),
    [
        ({"no": "1"}, "no run has a factor 'no'", "topology.rtt, topology.rate"),
        ({"rtt": "9s"}, "no run has rtt=9s", "rtt: 1ms, 2ms"),
        ({"kernel": "x"}, "no run has kernel=x", "kernel: stable"),
    ],
)
def test_levels_that_no_run_has_are_named(
    large: ResultSet, levels: dict[str, str], said: str, hint: str
) -> None:
    with pytest.raises(RecordError) as caught:
        large.where(levels)
    assert said in caught.value.message
    assert (caught.value.hint or "").startswith((hint, f"factors: {hint}"))


@pytest.mark.parametrize("word", ["true", "True", True])
def test_a_level_is_named_as_cells_are(word: object, tmp_path: Path) -> None:
    make_copies(tmp_path, [{"ecn": False}, {"ecn": True}], seconds=6)
    (record,) = ResultSet.open(tmp_path).where({"ecn": word})
    assert record.factors == {"ecn": True}
    with pytest.raises(RecordError) as caught:
        ResultSet.open(tmp_path).where({"ecn": "on"})
    assert caught.value.hint == "ecn: false, true"


@pytest.mark.parametrize("word", ["rtt", "=1ms", ""])
def test_what_is_no_level_is_refused(large: ResultSet, word: str) -> None:
    done = rush("report", str(large.path), "--where", word)
    assert done.returncode == 2
    assert "FACTOR=LEVEL" in done.stderr


def test_memory_grows_little_with_the_number_of_runs(tmp_path: Path, folder: Path) -> None:
    """Of each further run a report keeps a few kilobytes: 100 000 fit into two gigabytes."""
    code = (
        "import sys, resource; from rushhour.summary import index; from rushhour.report import gather, html\n"
        "index.WHOLE, index.CHUNK, gather.MAX_DRAWN = 50, 100, 20\n"
        "from rushhour.record.result_set import ResultSet\n"
        "results = ResultSet.open(sys.argv[1]); results.write_index(); html.render(results)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
        template = next(iter(rushhour.open(folder.parent / "template"))).path
        peaks = []
        for runs in (500, 2000):
            results = many.make(template, tmp_path / str(runs), runs)
            done = subprocess.run(
                [sys.executable, "-c", code, str(results.path)], capture_output=True, text=True, check=True
            )
            peaks.append(int(done.stdout))
    assert resource.RUSAGE_SELF == 0
    assert (peaks[1] - peaks[0]) / 1500 < 18, f"KB a run, of {peaks} KB"
