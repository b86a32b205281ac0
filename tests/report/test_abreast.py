"""Sets looked at by several processes: what one gives, in its order, and nothing is left of them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import kills
import pytest
import result_sets
from waiting import until

from rushhour.errors import RecordError
from rushhour.lab.beside import Beside
from rushhour.record.result_set import ResultSet
from rushhour.report import abreast, html, study_html
from rushhour.report.study import gathered, section
from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Iterator

SETS = 7


@pytest.fixture
def sets(tmp_path: Path) -> list[ResultSet]:
    names = [f"set-{number}" for number in range(SETS)]
    return [result_sets.result_set(tmp_path / name, scenario=f"mine/{name}") for name in names]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Beside]]:
    """Two processes, however few runs and CPUs there are; they are gone at the end."""
    every: list[Beside] = []

    def start(*words: object) -> Beside:
        every.append(Beside(*words))  # type: ignore[arg-type]
        return every[-1]

    monkeypatch.setattr(abreast, "ENOUGH", 1)
    monkeypatch.setattr(abreast, "_cpus", lambda: 2)
    monkeypatch.setattr(abreast, "Beside", start)
    yield every
    assert not [pid for pid in map(pid_of, every) if Path(f"/proc/{pid}").exists()]


def pid_of(process: Beside) -> int:
    pid: int = vars(process)["_process"].pid
    return pid


def test_pages_are_those_of_one_process(sets: list[ResultSet], started: list[Beside]) -> None:
    assert [*abreast.each(html.render, sets)] == [html.render(ResultSet(one.path)) for one in sets]
    assert len(started) == 2


@pytest.mark.usefixtures("started")
def test_a_study_is_that_of_one_process(
    sets: list[ResultSet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a set that has no runs."""
    (tmp_path / "none").mkdir()
    (tmp_path / "none/set.json").write_text('{"scenario": {"name": "mine/none", "title": "None"}}')
    sets = [*sets, ResultSet(tmp_path / "none")]
    there = study_html.render(gathered(sets, tmp_path))
    monkeypatch.setattr(abreast, "ENOUGH", 1000)
    assert not abreast.worth(sets)
    assert study_html.render(gathered(sets, tmp_path)) == there


def test_what_goes_wrong_is_told_as_here(
    sets: list[ResultSet], tmp_path: Path, started: list[Beside]
) -> None:
    broken = next((sets[2].path / "runs").iterdir())
    (broken / "manifest.json").write_text("{}")
    with closing(abreast.each(section, sets, tmp_path)) as sections:
        assert [next(sections).name for _ in range(2)] == ["mine/set-0", "mine/set-1"]
        with pytest.raises(RecordError) as there:
            next(sections)
    with pytest.raises(RecordError) as here:
        section(ResultSet(sets[2].path), tmp_path)
    assert str(there.value) == str(here.value)
    assert started


def test_what_a_killed_process_had_to_do_is_done_here(sets: list[ResultSet], started: list[Beside]) -> None:
    with closing(abreast.each(html.render, sets)) as pages:
        first = next(pages)
        for process in started:
            kills.send(pid_of(process))
        assert [first, *pages] == [html.render(ResultSet(one.path)) for one in sets]


@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python"])
def test_without_processes_all_is_done_here(
    python: str, sets: list[ResultSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    assert [*abreast.each(html.render, sets)] == [html.render(ResultSet(one.path)) for one in sets]


def test_a_few_sets_and_large_ones_are_looked_at_here(
    sets: list[ResultSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process costs a second, and what a large set takes of memory."""
    monkeypatch.setattr(abreast, "_cpus", lambda: 2)
    assert not abreast.worth(sets)
    monkeypatch.setattr(abreast, "ENOUGH", 2 * SETS)
    assert abreast.worth(sets)
    assert not abreast.worth(sets[:1])
    monkeypatch.setattr(index, "WHOLE", 1)
    assert not abreast.worth(sets)


PARENT = """
import sys, time
from pathlib import Path
from rushhour.record.result_set import ResultSet
from rushhour.report import abreast, html
abreast.ENOUGH, abreast._cpus = 1, lambda: 2
pages = abreast.each(html.render, [ResultSet(Path(word)) for word in sys.argv[1:]])
next(pages)
print("drawing", flush=True)
time.sleep(600)
"""


def test_they_end_with_a_parent_that_is_killed(sets: list[ResultSet]) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", PARENT, *(str(one.path) for one in sets)]
    with kills.at_the_end(
        subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "drawing\n"
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        assert len(children) == 2
    assert until(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()])
