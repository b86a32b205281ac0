"""Real runs: repeatable to the byte, alone and in company, on every kernel."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rushhour.errors import AgentError, KernelError, LabError
from rushhour.files.regular import checksum
from rushhour.lab import kernel
from rushhour.lab.base import CancelledError, Job
from rushhour.lab.kernel import Kernel
from rushhour.lab.manifest import relabel
from rushhour.lab.uml import MAX_MEMORY_MB, MIN_MEMORY_MB, UmlLab, command, memory
from rushhour.plan import lower
from rushhour.record import kept
from rushhour.record.record import Record
from rushhour.spec import parse_scenario

pytestmark = pytest.mark.virtual

SCENARIO = """
title = "Two flows"
duration = "1s"
[topology]
preset = "dumbbell"
pairs = 2
rate = "20mbit"
rtt = "10ms"
loss = "0.1%"
[[flow]]
cc = "cubic"
[[flow]]
cc = "reno"
start = "200ms"
"""


@pytest.fixture(params=["debian-6.12", "debian-6.1"])
def image(request: pytest.FixtureRequest) -> Kernel:
    try:
        return kernel.find(request.param)
    except KernelError as error:
        if "virtual" in os.environ.get("RUSHHOUR_REQUIRE", ""):
            raise
        pytest.skip(str(error))


def job(under_test: Kernel, seed: int = 1, text: str = SCENARIO) -> Job:
    scenario = parse_scenario(text)
    lowered = lower(scenario, seed)
    labels = {
        "scenario": {"name": "two", "title": "", "sha256": scenario.sha256(), "resolved": {}},
        "cell": {"index": 0, "factors": {}},
        "repetition": 0,
    }
    return Job(lowered.plan, lowered.context, under_test, labels)


def digests(record: Path) -> dict[str, str]:
    """Checksums of everything but the manifest, which names host and duration."""
    names = [path for path in record.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(record)): checksum(path) for path in names}


def test_an_image_that_is_not_the_one_that_was_built_does_not_run(image: Kernel, tmp_path: Path) -> None:
    other = tmp_path / "linux"
    shutil.copyfile(image.image, other)
    with other.open("ab") as file:
        file.write(b"and more")
    other.chmod(0o755)
    with pytest.raises(LabError, match="not the one that was built"):
        UmlLab().run(job(replace(image, image=other)), tmp_path / "run", 0)
    assert not (tmp_path / "run").exists()


def test_a_run_gives_a_record_that_says_what_it_is(image: Kernel, tmp_path: Path) -> None:
    lab = UmlLab()
    one = job(image)
    record = Record.open(lab.run(one, tmp_path / "one", 0))
    record.verify()
    manifest = record.manifest
    assert manifest["key"] == lab.key(one)
    assert manifest["kernel"] == image.identity
    assert manifest["agent"]["sha256"] == lab.agent.sha256
    assert (manifest["lab"], manifest["seed"]) == ("uml", 1)
    assert manifest["virtual_s"] >= 1
    assert record.result["kernel"]["release"] == image.release
    assert "Linux version" in (record.path / "console.log").read_text()
    assert not (record.path / "progress").exists()
    assert manifest["valid"], manifest["invalid_reasons"]
    assert {path.name for path in tmp_path.iterdir()} == {"one"}, "no sandbox is left"


def test_two_runs_are_identical_and_a_third_with_another_seed_is_not(image: Kernel, tmp_path: Path) -> None:
    lab = UmlLab()
    first, second = (digests(lab.run(job(image), tmp_path / name, 0)) for name in ("a", "b"))
    assert first == second
    assert len(first) > 6
    other = digests(lab.run(job(image, seed=2), tmp_path / "c", 0))
    assert other["raw/tcp_probe.rh"] != first["raw/tcp_probe.rh"]


def test_six_runs_at_once_are_identical(image: Kernel, tmp_path: Path) -> None:
    lab = UmlLab()
    cpus = sorted(os.sched_getaffinity(0))
    with ThreadPoolExecutor(6) as pool:
        places = [(job(image), tmp_path / str(number), cpus[number % len(cpus)]) for number in range(6)]
        found = [digests(folder) for folder in pool.map(lambda place: lab.run(*place), places)]
    assert all(one == found[0] for one in found)


def test_what_the_agent_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        UmlLab().run(job(kernel.default(), text=SCENARIO.replace("reno", "nosuch")), tmp_path / "one")
    assert "nosuch" in caught.value.message
    assert not list(tmp_path.iterdir())


def test_a_lab_that_was_cancelled_runs_nothing(tmp_path: Path) -> None:
    lab = UmlLab()
    lab.cancel()
    with pytest.raises(CancelledError):
        lab.run(job(kernel.default()), tmp_path / "one")
    assert not list(tmp_path.iterdir())


def test_a_known_run_serves_under_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = UmlLab()
    one = job(kernel.default())
    record = lab.run(one, tmp_path / "one")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert kept.find(lab.key(one)) is None
    kept.keep(lab.key(one), record)
    known = kept.find(lab.key(one))
    assert known is not None
    labels = dict(one.labels) | {"cell": {"index": 7, "factors": {"cc": "vegas"}}}
    again = Record.open(relabel(known, tmp_path / "again", Job(one.plan, one.context, one.kernel, labels)))
    again.verify()
    assert again.factors == {"cc": "vegas"}
    assert digests(again.path) == digests(record)
    assert (again.path / "plan.json").stat().st_nlink == 3, "shared, not copied"
    mine, theirs = dict(again.manifest), dict(Record.open(record).manifest)
    # Each has its own checksum.
    assert mine.pop("sealed") != theirs.pop("sealed")
    assert mine.pop("cell") != theirs.pop("cell")
    assert mine == theirs


def test_the_command_line_holds_nothing_of_this_machine(tmp_path: Path) -> None:
    words = command(kernel.default().image, 1024, 5)
    assert [word for word in words if "5" in word and "SEED" in word] == ["RUSHHOUR_SEED=5"]
    assert not any(
        part in " ".join(words) for part in (str(Path.home()), str(tmp_path), "/tmp", os.uname().nodename)
    )


def test_memory_grows_with_what_can_be_under_way() -> None:
    small = job(kernel.default())
    assert memory(small.plan, small.context) == MIN_MEMORY_MB
    wide = SCENARIO.replace("20mbit", "10gbit").replace("10ms", "400ms")
    large = job(kernel.default(), text=wide)
    assert MIN_MEMORY_MB < memory(large.plan, large.context) <= MAX_MEMORY_MB
