"""What the fleet reads: addresses, messages, records that came; what is wrong with them is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

import commandline
import fleets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushhour import extras
from rushhour.errors import ExtraError, FleetError, GuestError, LabError, RecordError, UsageError
from rushhour.fleet import blobs, connect, cpus, deploy, faults, landing, message, packing, state, worker
from rushhour.fleet.address import resolve
from rushhour.fleet.members import Item, Landed, Member
from rushhour.fleet.use import fleet
from rushhour.lab.base import Job
from rushhour.plan import lower
from rushhour.plan.probe import probe
from rushhour.record.record import Record


@pytest.mark.parametrize("word", ["tcp://scheduler:8786", "tls://[::1]:8786", "tcp://10.0.0.1:1"])
def test_a_scheduler_is_named_by_its_address(word: str) -> None:
    assert resolve(word).scheduler == word


@pytest.mark.parametrize(
    "word",
    ["", "here", "tcp://", "tcp://host", "tcp://host:0", "tcp://host:99999", "udp://host:1", "ssh:",
     "slurm:0",
     "slurm:x", "k8s:-1", "fleet:../x", "fleet:", "tcp://a b:1"],
)  # fmt: skip
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(UsageError):
        resolve(word)


def test_what_starts_workers_is_named_with_their_number() -> None:
    assert resolve("slurm").count == 1
    assert resolve("slurm:20").count == 20
    assert resolve("k8s:3").kind == "k8s"
    assert resolve("ssh:my hosts.toml").inventory == Path("my hosts.toml")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "rushhour/fleet/lab"
    folder.mkdir(parents=True)
    return folder


def written(scheduler: str) -> None:
    """What `fleet up` writes of a fleet."""
    state.keep(state.Fleet("lab", "0" * 12, "2026-01-01T00:00:00Z", "2099-01-01T00:00:00Z", scheduler))


def test_a_fleet_has_its_address_and_certificates_under_its_name(config: Path) -> None:
    written("tls://10.0.0.1:8786")
    with pytest.raises(UsageError, match="certificate is missing"):
        resolve("fleet:lab")
    for name in (state.AUTHORITY, state.CERTIFICATE, state.KEY):
        (config / name).touch()
    found = resolve("fleet:lab")
    assert found.scheduler == "tls://10.0.0.1:8786"
    assert found.certificates is not None
    assert found.certificates.key == config / "client-key.pem"


@pytest.mark.parametrize("scheduler", ["", "here"])
def test_a_fleet_that_was_never_started_is_named(config: Path, scheduler: str) -> None:
    written(scheduler)
    with pytest.raises(UsageError, match="never started") as error:
        resolve("fleet:lab")
    assert str(config / "fleet.toml") in str(error.value)


@pytest.mark.parametrize("text", ["", "scheduler = 5", "scheduler ="])
def test_a_fleets_file_that_says_nothing_is_named(config: Path, text: str) -> None:
    (config / "fleet.toml").write_text(text)
    with pytest.raises(LabError) as error:
        resolve("fleet:lab")
    assert str(config / "fleet.toml") in str(error.value)


def test_an_unknown_fleet_is_told_beside_those_that_are_known(config: Path) -> None:
    written("tls://10.0.0.1:8786")
    with pytest.raises(UsageError, match="there is: lab"):
        resolve("fleet:other")


def test_an_address_needs_no_extra(config: Path) -> None:
    """What only some people install is imported where a scheduler is called, not before."""
    del config
    heavy = "import sys, rushhour.fleet.address as a; a.resolve('tcp://h:1'); "
    heavy += "print([m for m in ('distributed', 'dask', 'cryptography') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", heavy], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout == "[]\n"


@given(st.dictionaries(st.text(), st.integers() | st.text()), st.lists(st.binary(max_size=3000), max_size=5))
def test_messages_arrive_as_they_were_sent(header: dict[str, Any], pieces: list[bytes]) -> None:
    assert message.unpack(message.pack(header, pieces)) == (header, pieces)


@given(st.data())
def test_a_message_that_was_changed_is_refused(data: Any) -> None:
    sent = bytearray(message.pack({"do": "run"}, [b"x" * 2000, b"y"]))
    place = data.draw(st.integers(0, len(sent) - 1))
    sent[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(RecordError):
        message.unpack(bytes(sent))


@given(st.binary(max_size=200))
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        message.unpack(data)


def test_errors_keep_what_they_say_on_their_way() -> None:
    sent = GuestError("it stood still", where="k, seed 1", hint="wait")
    sent.hangs = True
    found = faults.error_of(json.loads(json.dumps(faults.document(sent))))
    assert isinstance(found, GuestError)
    assert found.hangs
    assert str(found) == str(sent)
    odd = faults.document(sent) | {"kind": "RushHourError.__init__"}
    assert type(faults.error_of(odd)) is LabError


def test_files_are_kept_by_their_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    assert not blobs.has(digest)
    with pytest.raises(RecordError):
        blobs.put(digest, b"hullo")
    assert not blobs.has(digest)
    blobs.put(digest, b"hello")
    blobs.put(digest, b"hello")
    assert blobs.has(digest)
    with pytest.raises(RecordError):
        blobs.place("../../etc/passwd")


def test_each_run_of_a_machine_has_a_cpu_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5})
    with cpus.free() as first, cpus.free() as second, cpus.free() as third:
        assert [first, second, third] == [2, 5, None]
    with cpus.free() as again:
        assert again == 2


@pytest.fixture
def came(tmp_path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What was asked for, and the files of a record that came."""
    kernel = fleets.kernel(tmp_path)
    lowered = lower(probe(), 1)
    labels = {"scenario": {"name": "probe"}, "cell": {"index": 0, "factors": {}}, "repetition": 0}
    job = Job(lowered.plan, lowered.context, kernel, labels)
    names, pieces = packing.packed(fleets.written(job, tmp_path / "record", "key", 50.0))
    asked = {"labels": labels, "key": "key", "plan": job.plan, "context": job.context}
    return asked | {"identity": kernel.identity}, dict(zip(names, pieces, strict=True))


def test_a_record_that_came_is_what_was_asked_for(came: tuple[dict[str, Any], dict[str, bytes]]) -> None:
    asked, files = came
    assert packing.checked([*files], [*files.values()], asked)[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda asked, _: asked.update(key="other"),
        lambda asked, _: asked.update(plan=asked["plan"] | {"seed": 2}),
        lambda asked, _: asked.update(identity=asked["identity"] | {"release": "7.0"}),
        lambda _, files: files.update({"raw/tcp_probe.rh": b"other"}),
        lambda _, files: files.update({"raw/more.rh": b""}),
        lambda _, files: files.update({"../../evil": b""}),
        lambda _, files: files.pop("result.json"),
        lambda _, files: files.pop("manifest.json"),
        lambda _, files: files.update({"manifest.json": b"{"}),
    ],
)
def test_another_record_is_refused(came: tuple[dict[str, Any], dict[str, bytes]], change: Any) -> None:
    asked, files = came
    change(asked, files)
    with pytest.raises(RecordError):
        packing.checked([*files], [*files.values()], asked)


def test_what_waits_for_its_place_leaves_no_folders_open(
    came: tuple[dict[str, Any], dict[str, bytes]], tmp_path: Path
) -> None:
    asked, files = came
    runway, member = landing.Runway(), Member("tcp://w:1", 1)
    job = cast("Job", None)
    for number in range(40):
        place = tmp_path / f"{number}/record"
        item = Item(job, "key", place, {}, frozenset(), Future())
        landed = runway.lay(item, member, [*files], [*files.values(), b"metrics"], asked)
        assert isinstance(landed, Landed)
        runway.take_place(landed)
        assert Record.verified(place).key == "key"
    rooms = [*tmp_path.glob("*/.rushhour-*")]
    assert 0 < len(rooms) <= 9
    runway.close()
    assert not [*tmp_path.glob("*/.rushhour-*")]


def test_a_worker_answers_what_it_does_not_understand() -> None:
    answer, _ = message.unpack(worker.serve(b"what?"))
    assert "damaged" in answer["error"]["message"]


@pytest.mark.parametrize("word", ["slurm", "k8s", "ssh:hosts.toml"])
def test_a_missing_deployer_is_named_with_its_package(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(ExtraError, match="is not installed"), deploy.started(resolve(word), print):
        pass


def test_without_dask_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(ExtraError, match="distributed") as error, connect.connected(resolve("tcp://h:1")):
        pass
    assert f"{sys.executable} -m pip install" in str(error.value)


def test_runs_in_real_time_are_made_where_they_are() -> None:
    class Machine:
        name = "netns"

    with pytest.raises(UsageError, match="real time"), fleet("tcp://h:1", Machine()):  # type: ignore[arg-type]
        pass


def test_the_command_tells_what_is_wrong_with_an_address() -> None:
    done = commandline.rush("run", "window-scaling", "--on", "here")
    assert done.returncode == 2
    assert "--on here: it names no place" in done.stderr


def test_a_scheduler_that_is_no_scheduler_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "CONNECT_S", 1)
    with (
        pytest.raises(FleetError, match="no scheduler answers"),
        connect.connected(resolve("tcp://127.0.0.1:9")),
    ):
        pass
