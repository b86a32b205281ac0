"""Hosts that cannot take part: named, with what to do, and the others go on."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from beds import fleets
from beds.fleets import OFFICE, Office
from waiting import until

from rushhour.errors import HostError
from rushhour.fleet import login as logins
from rushhour.fleet import up as raising
from rushhour.fleet.login import Login
from rushhour.fleet.state import Member
from rushhour.fleet.up import Asked
from rushhour.lab.host import ssh
from rushhour.lab.host.inventory import load_inventory
from rushhour.lab.host.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from beds.sshd import Host

pytestmark = pytest.mark.host

OLD = "#!/bin/sh\necho '3.9 False'\n"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with fleets.office(tmp_path_factory.mktemp("fleet"), "alice", "bob") as laid:
        yield laid


def refusal(place: str, word: str, about: dict[str, object], python: str | None = None) -> HostError:
    with pytest.raises(HostError) as caught:
        Login(Place.parse(place), ssh.configuration(None), python).order(word, about)
    assert caught.value.where == place
    assert caught.value.hint
    return caught.value


def _staying(host: Host) -> set[int]:
    """What runs on a host once all that came by ssh has gone: on a busy machine some outlives its command."""
    assert until(lambda: not host.logins())
    return {*host.processes()}


def test_others_go_on(office: Office) -> None:
    (office.folder / "python3.9").write_text(OLD)
    (office.folder / "python3.9").chmod(0o755)
    shutil.copy(office.folder / "python3.9", office.hosts["bob"].root / "root/python3.9")
    hosts = office.inventory(alice=None, bob={"python": "/root/python3.9"})
    said = office.fleet("up", hosts, "--listen", OFFICE, code=1)
    assert "bob: set aside: no Python from 3.11 on was found there (/root/python3.9 is 3.9)" in said
    assert "alice: 1 worker" in said
    # Mended: the same command takes it in, and leaves the others alone.
    pids = _staying(office.hosts["alice"])
    said = office.fleet("up", office.inventory(alice=None, bob=None))
    assert "alice:" not in said
    assert "bob: 1 worker" in said
    assert _staying(office.hosts["alice"]) == pids
    office.fleet("down")
    (office.hosts["bob"].root / "root/python3.9").unlink()
    assert office.leftovers() == []


def test_a_machine_that_is_named_twice_is_told(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text('[host.a]\nat = "alice"\n[host.b]\nat = "alice"\ncpus = 4\n')
    told: list[str] = []
    assert [*raising._hosts(load_inventory(tmp_path / "hosts.toml", fewest=1), told.append)] == ["a"]
    assert told == ["b: the same machine as a; the table of a counts"]


def test_a_host_without_shared_memory(office: Office) -> None:
    alice = office.hosts["alice"]
    alice.run("mount", "-t", "tmpfs", "-o", "ro", "rushhour-test", "/dev/shm")
    try:
        said = office.fleet("up", office.inventory(alice=None), "--listen", OFFICE, code=2)
    finally:
        alice.run("umount", "/dev/shm")
    assert "alice: set aside: it ended at once: no shared memory in /dev/shm: Read-only" in said
    assert "Traceback" not in said
    assert "RuntimeError" not in said
    assert office.leftovers() == []


def test_nobody_is_left(office: Office) -> None:
    hosts = office.inventory(alice={"python": "/nowhere/python3"}, bob={"python": "/usr/bin/false"})
    said = office.fleet("up", hosts, "--listen", OFFICE, code=2)
    assert "no host can take part" in said
    assert office.leftovers() == []
    assert not office.config.exists()


def test_an_address_that_is_not_ours(office: Office) -> None:
    said = office.fleet("up", office.inventory(alice=None), "--listen", "192.0.2.1", code=2)
    assert "192.0.2.1: Cannot assign requested address" in said
    assert office.leftovers() == []
    said = office.fleet("up", office.inventory(alice=None, bob=None), code=2)
    assert "198.18.1.1 by alice, 198.18.2.1 by bob" in said
    assert office.leftovers() == []


def test_a_full_disk(office: Office) -> None:
    host = office.hosts["bob"]
    start = {"fleet": "full", "name": "bob", "files": {"key.pem": "x" * 100_000}, "config": {}, "patience": 9}
    stock = {
        "fleet": "full", "name": "bob", "key": "k", "files": {}, "wheel": "w", "extra": "e",
        "constraints": "", "closed": True, "room": 10**6,
    }  # fmt: skip
    host.run("mkdir", "-p", "/root/.cache")
    host.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/root/.cache")
    try:
        found = refusal("bob", "start", {**start, "python": sys.executable, "apart": True}, sys.executable)
        assert (found.kind, "No space left" in found.message) == ("room", True)
        found = refusal("bob", "stock", stock, sys.executable)
        assert found.kind == "room"
        assert "MB are free" in found.message
        host.run("mount", "-o", "remount,ro", "/root/.cache")
        found = refusal("bob", "start", {**start, "python": sys.executable, "apart": True}, sys.executable)
        assert (found.kind, "Read-only" in found.message) == ("files", True)
    finally:
        host.run("umount", "/root/.cache")
    host.run("rm", "-rf", "/root/.cache")


def test_a_python_without_the_program(office: Office) -> None:
    host = office.hosts["bob"]
    about = {
        "fleet": "bare", "name": "bob", "files": {}, "config": {"host": "127.0.0.1"}, "patience": 30,
        "python": "/usr/bin/python3", "apart": True,
    }  # fmt: skip
    if not (host.root / "usr/bin/python3").exists():
        pytest.skip("this system has no Python of its own")
    found = refusal("bob", "start", about, "/usr/bin/python3")
    assert "lacks a package" in found.message
    assert office.leftovers() == []


def test_the_scheduler_cannot_be_reached(office: Office) -> None:
    about = {
        "fleet": "far", "name": "bob", "files": {}, "config": {}, "patience": 9, "python": "", "apart": True,
        "reach": [OFFICE, 9],
    }  # fmt: skip
    found = refusal("bob", "start", about, sys.executable)
    assert found.kind == "reach"
    assert f"{OFFICE} port 9: Connection refused" in found.message
    assert office.leftovers() == []


def test_an_order_whose_sender_is_gone_does_nothing(office: Office) -> None:
    at = Login(Place.parse("bob"), ssh.configuration(None), sys.executable)
    about = {
        "fleet": "gone", "name": "bob", "files": {"f": "x"}, "config": {}, "patience": 9, "python": "",
        "apart": True,
    }  # fmt: skip
    source = logins._source()
    whole = at._script("start", about, len(source)) + source
    order = json.dumps({"do": "start", **about}).encode() + b"\n"
    script = at._script("start", about, len(source))
    everything = whole + order
    for cut in (
        len(script) // 2,
        len(script),
        len(whole) - 1,
        len(whole),
        len(everything) - 1,
        len(everything),
    ):
        done = subprocess.run(
            at._words(script),
            input=everything[:cut],
            capture_output=True,
            env=os.environ,
            timeout=30,
            check=False,
        )
        assert b"done" not in done.stdout
    assert office.leftovers() == []


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"machine": "aarch64"}, "it is Linux on aarch64"),
        ({"system": "FreeBSD"}, "it is FreeBSD on"),
        ({"time": 0.0}, "its clock is wrong: 1970-01-01T00:00:00Z"),
        ({"time": time.time() + 40 * 86400}, "its clock is wrong"),
    ],
)
def test_what_a_host_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, object], told: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "hosts.toml").write_text('[host.a]\nat = "alice"\n')
    inventory = load_inventory(tmp_path / "hosts.toml", fewest=1)
    (tmp_path / "rushhour/fleet/lab").mkdir(parents=True)
    one = raising._Raising("lab", inventory, Asked(), lambda _text: None)
    usual = {"system": "Linux", "machine": platform.machine(), "time": time.time()}
    one._check(Member("a", "alice"), usual)
    one._check(Member("a", "alice"), usual | {"time": time.time() - 3600})
    with pytest.raises(HostError) as caught:
        one._check(Member("a", "alice"), usual | facts)
    assert told in caught.value.message
    assert caught.value.hint
