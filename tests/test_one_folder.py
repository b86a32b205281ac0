"""A folder of results is one experiment's, one run's at a time; what ends a command leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import fakes
import pytest

from rushhour.cli.asked import Asked
from rushhour.errors import UsageError
from rushhour.files import finished as files
from rushhour.files import rooms
from rushhour.lab import kernel
from rushhour.lab.base import canonical, sha256
from rushhour.lab.kernel import process
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import write_json
from rushhour.running import runner


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fakes.FakeLab:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "default", lambda: fakes.kernel("k", tmp_path))
    monkeypatch.setattr(kernel, "find", lambda name: fakes.kernel(name, tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO)
    return fakes.FakeLab(lambda *_: 50.0)


def test_two_runs_into_one_folder_at_once(lab: fakes.FakeLab, tmp_path: Path) -> None:
    batches = runner.prepare(["fake.toml"], out=tmp_path / "out")
    others = runner.prepare(["fake.toml"], sets=["duration=9s"], out=tmp_path / "out")
    going = runner.carry_out(batches, lab)
    next(going)
    with pytest.raises(UsageError, match="another run is writing there"):
        list(runner.carry_out(batches, lab))
    going.close()
    # Prepared before the first began, and started after it: the folder holds another experiment now.
    with pytest.raises(UsageError, match="another scenario"):
        list(runner.carry_out(others, lab))
    assert json.loads((tmp_path / "out/set.json").read_text())["scenario"]["sha256"] == (
        batches[0].scenario.sha256()
    )


def test_runs_of_other_kernels_are_not_mixed_in(lab: fakes.FakeLab, tmp_path: Path) -> None:
    list(runner.carry_out(runner.prepare(["fake.toml"], kernels=["a"], out=tmp_path / "out"), lab))
    with pytest.raises(UsageError, match="other kernels"):
        runner.prepare(["fake.toml"], kernels=["b"], out=tmp_path / "out")
    assert len(ResultSet.open(tmp_path / "out")) == 4


def test_runs_of_another_agent_are_not_mixed_in(lab: fakes.FakeLab, tmp_path: Path) -> None:
    batches = runner.prepare(["fake.toml"], out=tmp_path / "out")
    list(runner.carry_out(batches, lab))
    lab.key = lambda job: sha256("newer", canonical(job.plan))  # type: ignore[method-assign]
    errors = [outcome.error for outcome in runner.carry_out(batches, lab)]
    assert all("another version of this program" in str(error) for error in errors)
    assert len(ResultSet.open(tmp_path / "out")) == 4


@pytest.mark.parametrize("out", [None, "out"])
def test_scenarios_of_one_name_get_folders_of_their_own(
    out: str | None, lab: fakes.FakeLab, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.toml").write_text(fakes.SCENARIO.replace("Fake", name))
    words = ["a/x.toml", "b/x.toml"]
    batches = runner.prepare(words, out=None if out is None else tmp_path / out)
    assert len({batch.folder for batch in batches}) == 2
    assert all(outcome.error is None for outcome in runner.carry_out(batches, lab))
    if out is not None:
        again = runner.prepare(words, out=tmp_path / out)
        assert [batch.folder for batch in again] == [batch.folder for batch in batches]
        assert all(outcome.cached for outcome in runner.carry_out(again, lab))


@pytest.mark.parametrize("name", ["...toml", "..toml", ".hidden.toml", "a\x1bb.toml"])
def test_no_name_of_a_scenario_leads_out(name: str, lab: fakes.FakeLab, tmp_path: Path) -> None:
    del lab
    for file in (name, "other.toml"):
        (tmp_path / file).write_text(fakes.SCENARIO)
    for out in (tmp_path / "out", None):
        for batch in runner.prepare([f"./{name}", "other.toml"], out=out):
            top = (tmp_path / "out" if out else Path("results")).resolve()
            inside = batch.folder.resolve().relative_to(top)
            assert inside.parts
            assert not any(part.startswith(".") or not part.isprintable() for part in inside.parts)


def test_what_is_run_afresh_is_kept(lab: fakes.FakeLab, tmp_path: Path) -> None:
    batches = runner.prepare(["fake.toml"], out=tmp_path / "out")
    first = [outcome.folder for outcome in runner.carry_out(batches, lab)]
    lab.behaviour = lambda *_: 60.0
    second = [outcome.folder for outcome in runner.carry_out(batches, lab, fresh=True)]
    assert sorted(map(str, first)) == sorted(map(str, second))
    for folder in second:
        assert folder is not None
        assert Record.open(folder).result["flows"][0]["bytes_received"] == 60e6 / 8 * 10


def test_the_umask_holds(lab: fakes.FakeLab, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        list(runner.carry_out(runner.prepare(["fake.toml"], out=tmp_path / "out"), lab))
        write_json(tmp_path / "out/one.json", {})
        files.put("x", tmp_path / "out/report.html")
        assert rooms.umask() == 0o077
    finally:
        os.umask(before)
    open_to_others = [
        path for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")] if path.stat().st_mode & 0o077
    ]
    assert not open_to_others


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_a_signal_that_the_starter_ignores_stays_ignored(number: signal.Signals) -> None:
    every = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGALRM)
    before = {one: signal.getsignal(one) for one in every}
    signal.signal(number, signal.SIG_IGN)
    asked = Asked()
    try:
        asked.heed()
        assert signal.getsignal(number) is signal.SIG_IGN
        signal.signal(number, signal.SIG_DFL)
        asked.heed()
        heeded: object = signal.getsignal(number)
        assert heeded is asked
    finally:
        asked.let_go()
        for one, handler in before.items():
            signal.signal(one, handler)


WRITER = """
import sys
from pathlib import Path
from rushhour.files import rooms
from rushhour.record import seal
place = Path(sys.argv[1])
print("ready", flush=True)
while True:
    seal.write_json(place / "set.json", {"a": [1] * 99999})
    with seal.RecordWriter(place / "runs/00000-x") as writer:
        (writer.folder / "plan.json").write_text("{}")
        writer.seal({})
"""


def test_what_a_killed_writer_leaves_goes_with_the_next(tmp_path: Path) -> None:
    for wait in (0.0, 0.05, 0.11):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(wait)
        writer.kill()
        writer.communicate()
    (tmp_path / "runs").mkdir(exist_ok=True)
    for folder in (tmp_path, tmp_path / "runs"):
        with rooms.room(folder):
            pass
        assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("prefix", [rooms.NEW, rooms.SANDBOX])
def test_what_a_process_left_that_was_killed_before_it_locked_its_room_goes_too(
    prefix: str, tmp_path: Path
) -> None:
    left = tmp_path / f"{prefix}~abcd1234"
    left.mkdir()
    kept = [tmp_path / name for name in (f"{prefix}~~bcd1234", "~abcd1234", f"x{prefix}~abcd1234")]
    for other in kept:
        other.mkdir()
    with rooms.room(tmp_path):
        assert not left.exists()
    assert all(other.is_dir() for other in kept)


@pytest.mark.parametrize("call", ["mkdtemp", "open"])
def test_a_room_that_is_swept_before_it_is_locked_is_made_again(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tempfile if call == "mkdtemp" else os
    own: Any = getattr(module, call)
    swept: list[Any] = []

    def and_then_another_process_sweeps(*words: Any, **options: Any) -> Any:
        made = own(*words, **options)
        if not swept and list(tmp_path.glob("*~*")):
            swept.append(made)
            rooms.sweep(tmp_path)
        return made

    monkeypatch.setattr(module, call, and_then_another_process_sweeps)
    with rooms.room(tmp_path) as room:
        assert swept
        assert [*tmp_path.iterdir()] == [room]


MAKER = """
import sys
from pathlib import Path
from rushhour.files import rooms
for _ in range(300):
    with rooms.room(Path(sys.argv[1])) as room:
        (room / "file").write_text("x")
"""


def test_who_sweeps_takes_no_room_from_who_makes_one(tmp_path: Path) -> None:
    makers = [subprocess.Popen([sys.executable, "-c", MAKER, str(tmp_path)]) for _ in range(4)]
    assert [maker.wait(timeout=60) for maker in makers] == [0] * 4
    assert not list(tmp_path.iterdir())


def test_what_a_killed_sweep_left_goes_though_every_run_is_known(lab: fakes.FakeLab, tmp_path: Path) -> None:
    batches = runner.prepare(["fake.toml"], out=tmp_path / "out")
    list(runner.carry_out(batches, lab))
    left = [tmp_path / "out" / name for name in (".rushhour-abcd1234", "runs/.sandbox-abcd1234")]
    for room in left:
        (room / "out").mkdir(parents=True)
    assert all(outcome.cached for outcome in runner.carry_out(batches, lab))
    assert not any(room.exists() for room in left)


def test_an_interrupted_command_leaves_none_of_its_children(tmp_path: Path) -> None:
    # The leader ends at once when it is asked; a child of its own does not hear.
    script = (
        f"trap '' TERM; (sleep 60 & echo $! > {tmp_path}/child; wait) & trap 'exit 0' TERM; echo go; wait"
    )

    def interrupt(_: str) -> None:
        while not (tmp_path / "child").is_file() or not (tmp_path / "child").read_text().strip():
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.run(["sh", "-c", script], what="build", on_line=interrupt)
    child = int((tmp_path / "child").read_text())
    state = ""
    with suppress(OSError):
        state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
    assert state in ("", "Z"), "it still runs"
