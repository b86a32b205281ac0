"""`rushhour coverage`: what it refuses, and what it makes of runs that counted."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from counting import counting_kernel, counting_tree, run_of
from report_records import make_set

from rushhour.cli.coverage import coverage
from rushhour.coverage import index_file
from rushhour.lab.kernel import Kernel
from rushhour.record import counts
from rushhour.record.seal import MANIFEST, seal
from rushhour.running import covered, runner
from rushhour.running.batch import Outcome


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def _told(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(coverage, [*words])
    return done.exit_code, done.output + str(done.exception or "")


def test_runs_that_did_not_count_are_refused_with_what_to_do(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "plain", [{"cc": "cubic"}], seconds=1)
    _, said = _told(str(folder))
    assert "no run here is of a kernel that counts what it executes" in said


def test_without_a_kernel_that_counts_nothing_runs(tmp_path: Path) -> None:
    _, said = _told("suite/fixed-buffers")
    assert "there is no kernel that counts what it executes" in said
    assert not (tmp_path / "results").exists()


def _counted(where: Path) -> tuple[Path, Kernel]:
    """A set of one run that counted, and its kernel."""
    kernel = counting_kernel(counting_tree(where / "little"))
    run_of(kernel, where / "run", "a")
    folder = make_set(where / "counted", [{"cc": "cubic"}], seconds=1)
    (run,) = (folder / "runs").iterdir()
    (run / counts.FILE).write_bytes((where / "run" / "out" / counts.FILE).read_bytes())
    about = json.loads((run / MANIFEST).read_text())
    for name in ("files", "sealed"):
        about.pop(name)
    seal(run, about | {"kernel": kernel.identity})
    return folder, kernel


def test_of_runs_that_counted_it_writes_page_tracefile_and_index(tmp_path: Path) -> None:
    folder, _ = _counted(tmp_path)
    code, said = _told(str(folder), "--json", "--never", "tcp.c")
    assert code == 0, said
    document = json.loads(said)
    assert document["cells"] == document["runs"] == 1
    assert document["never"] == {"net/ipv4/tcp.c": [{"name": "never", "first": 2, "last": 5}]}
    assert [Path(name).name for name in document["written"]] == [
        "coverage.html", "coverage.info", "coverage.json.xz",
    ]  # fmt: skip
    assert index_file.read(folder).cells[0].factors == {"cc": "cubic"}
    _, said = _told(str(folder), "--save", str(tmp_path / "run"))
    assert "there is no baseline in this folder" in said
    _, said = _told(str(folder), "--never", "tls.c")
    assert "no covered file is called so" in said


def test_a_scenario_that_a_kernel_lacks_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, kernel = _counted(tmp_path)
    lacking = tmp_path / "lacking"
    (lacking / "runs").mkdir(parents=True)
    for one in (lacking, folder):
        (one / "set.json").write_text("{}")
    batches = [SimpleNamespace(folder=one) for one in (lacking, folder)]
    monkeypatch.setattr(covered, "counting", lambda _: kernel)
    monkeypatch.setattr(runner, "prepare", lambda *_, **__: batches)
    monkeypatch.setattr(runner, "make_lab", lambda _: None)
    monkeypatch.setattr(runner, "carry_out", lambda *_, **__: (outcome for outcome in list[Outcome]()))
    monkeypatch.setattr(runner, "study_folder", lambda *_: tmp_path / "study")
    (tmp_path / "told").mkdir()
    code, said = _told("--json", "--out", str(tmp_path / "told"))
    assert code == 0, said
    assert json.loads(said)["runs"] == 1
