"""A fleet on two hosts by real ssh: who listens, who may speak, what is where, what is left of it."""

from __future__ import annotations

import json
import re
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import kills
import pytest
from beds import fleets, sshd
from beds.fleets import OFFICE, Office
from waiting import until

from rushhour.fleet.certificates import Authority, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.host

# Calls each ADDRESS with the certificates of each folder, if it has any; what came of it, in JSON.
CALL = """\
import asyncio, json, ssl, sys
from pathlib import Path
async def call(address, folder):
    host, port = address.removeprefix("tls://").rsplit(":", 1)
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    context.check_hostname = False
    if (folder / "client.pem").exists():
        context.load_cert_chain(folder / "client.pem", folder / "client-key.pem")
    try:
        reader, _ = await asyncio.wait_for(asyncio.open_connection(host, int(port), ssl=context), 10)
        # By TLS 1.3 a refusal of our certificate comes after our handshake: Dask's side speaks first.
        return "heard" if await asyncio.wait_for(reader.read(8), 10) else "closed"
    except OSError as error:
        return f"{type(error).__name__}: {error}"
async def main():
    folders, addresses = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    calls = [call(address, Path(folder)) for folder in folders for address in addresses]
    said = iter(await asyncio.gather(*calls))
    print(json.dumps({folder: [next(said) for _ in addresses] for folder in folders}))
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with fleets.office(tmp_path_factory.mktemp("fleet"), "alice", "bob") as laid:
        yield laid


@pytest.fixture(scope="module")
def up(office: Office) -> Iterator[Office]:
    """A fleet with one worker at alice and two at bob, and a host that is not there."""
    hosts = office.inventory(alice=None, bob={"cpus": 2}, carol=None)
    said = office.fleet("up", hosts, "--listen", OFFICE, code=1)
    assert "carol: set aside: the name carol is not known" in said
    assert "use it with --on fleet:default" in said
    yield office
    if (office.config / "default").exists():
        office.fleet("down")


def addresses(office: Office) -> list[str]:
    """All at which something of the fleet listens."""
    found = [f"tls://{line}" for line in listening(office.hosts.office)]
    for host in office.hosts.values():
        found += [f"tls://{line}" for line in listening(host.pid) if not line.endswith(":22")]
    return found


def listening(pid: int) -> list[str]:
    return [line.split()[3] for line in sshd.run("ss", "-Hltn", inside=pid).splitlines()]


def test_nothing_listens_beyond_what_was_asked(up: Office) -> None:
    assert listening(up.hosts.office) == [f"{OFFICE}:8786"]
    for name, workers, address in (("alice", 1, "198.18.1.2"), ("bob", 2, "198.18.2.2")):
        found = [line for line in listening(up.hosts[name].pid) if not line.endswith(":22")]
        # A worker and its nanny: no page of Dask's.
        assert len(found) == 2 * workers
        assert all(line.startswith(f"{address}:") for line in found)


def test_status_of_workers(up: Office) -> None:
    found = up.status()
    assert found["scheduler"] == f"tls://{OFFICE}:8786"
    hosts = {host["name"]: host for host in found["hosts"]}
    assert [(name, host["state"], host["workers"]) for name, host in hosts.items()] == [
        ("alice", "up", 1), ("bob", "up", 2), ("carol", "aside", 0),
    ]  # fmt: skip
    assert hosts["carol"]["hint"]
    assert hosts["bob"]["memory"] > hosts["bob"]["used"] > 0
    text = up.fleet("status")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert re.search(r"^bob +up +2/2", text, re.MULTILINE)


def test_another_place_for_the_scheduler_is_refused_while_it_is_up(up: Office) -> None:
    hosts = up.inventory(alice=None, bob={"cpus": 2})
    for words in (("--port", "9999"), ("--listen", "198.18.2.1"), ("--scheduler", "alice")):
        said = up.fleet("up", hosts, *words, code=2)
        assert f"{words[0]} {words[1]}: the fleet is up, its scheduler at tls://{OFFICE}:" in said
        assert "fleet down --name default" in said
    assert "up" in {host["state"] for host in up.status()["hosts"]}


def test_a_task_runs_at_a_host(up: Office) -> None:
    text = """\
import socket
from distributed import Client
from rushhour.fleet import state
from rushhour.fleet.tls import security
fleet = state.known("default")
calls = security(state.certificates("default"), "client")
with Client(fleet.scheduler, security=calls, set_as_default=False) as client:
    print(sorted(set(client.run(socket.gethostname).values())))
    print(client.run(lambda: __import__("os").sched_getaffinity(0)).values())
"""
    said = up.python(text)
    assert said.startswith("['alice', 'bob']")
    # A worker has a CPU of its own.
    assert re.search(r"\{\d+\}.*\{\d+\}.*\{\d+\}", said)


def test_keys_are_their_owners_and_each_host_has_its_own_only(up: Office) -> None:
    home = up.config / "default"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert {path.name for path in home.iterdir()} == {
        "fleet.toml", "ca.pem", "ca-key.pem", "client.pem", "client-key.pem"
    }  # fmt: skip
    keys = {path.read_text() for path in home.glob("*key*")}
    folders = [home]
    for name in ("alice", "bob"):
        (folder,) = (up.hosts[name].root / "root/.cache/rushhour/fleet/run").glob("*/*")
        folders.append(folder)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {path.name for path in folder.glob("*.pem")} == {"ca.pem", "cert.pem", "key.pem"}
        key = (folder / "key.pem").read_text()
        assert key not in keys
        keys.add(key)
    for folder in folders:
        assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()} == {0o600}


def test_who_may_speak(up: Office, tmp_path: Path) -> None:
    home = up.config / "default"
    people = ["the client", "nobody", "another fleet", "an expired client"]
    for who in people:
        folder = tmp_path / who
        folder.mkdir()
        (folder / "ca.pem").write_text((home / "ca.pem").read_text())
        if who != "nobody":
            certificate, key = pair_of(who, home)
            (folder / "client.pem").write_text(certificate)
            (folder / "client-key.pem").write_text(key)
    called = addresses(up)
    assert len(called) == 7
    said = up.python(CALL, json.dumps([str(tmp_path / who) for who in people]), json.dumps(called))
    client, *others = json.loads(said).values()
    assert client == ["heard"] * 7
    assert not any("heard" in one for one in others), said
    # Whoever calls fills no disk.
    for host in up.hosts.values():
        (log,) = (host.root / "root/.cache/rushhour/fleet/run").glob("*/*/log")
        assert log.read_text() == ""


def pair_of(who: str, home: Path) -> tuple[str, str]:
    """Certificate and key of someone who calls."""
    if who == "the client":
        return (home / "client.pem").read_text(), (home / "client-key.pem").read_text()
    if who == "another fleet":
        pair = Authority.make("default", datetime.now(UTC), 1).issue("client", called=False)
    else:
        authority = Authority.of(Pair((home / "ca.pem").read_text(), (home / "ca-key.pem").read_text()))

        class Old(Authority):
            ends = datetime.now(UTC) - timedelta(minutes=1)

        pair = Old(authority._certificate, authority._key).issue("client", called=False)
    return pair.certificate, pair.key


def test_a_worker_that_dies_comes_again(up: Office) -> None:
    def workers() -> list[int]:
        return [pid for pid, line in up.hosts["alice"].processes().items() if "spawn_main" in line]

    (before,) = workers()
    kills.send(before)
    assert until(lambda: workers() not in ([], [before]))
    look = "from rushhour.fleet import state, status"
    up.python(f"{look}\nwhile not status.look(state.known('default')).whole: pass")


def test_the_scheduler_dies_and_all_comes_again(up: Office) -> None:
    """The last one with the module's fleet: it ends it."""
    (scheduler,) = fleets.marked(up.folder)
    kills.send(scheduler)
    # Workers without a scheduler end by themselves, and take their keys with them.
    for host in up.hosts.values():
        assert until(lambda host=host: not host.processes() and not [*host.files_of("fleet/run")])  # type: ignore[misc]
    found = up.status(code=2)
    assert "does not answer" in found["error"]["message"]
    hosts = up.inventory(alice=None, bob={"cpus": 2})
    said = up.fleet("up", hosts, "--listen", OFFICE, code=1)
    assert "alice: 1 worker" in said
    assert {host["state"] for host in up.status()["hosts"]} == {"up", "aside"}
    said = up.fleet("down")
    assert "fleet default is down" in said
    assert up.leftovers() == []
    assert "there is no fleet 'default'" in up.fleet("status", code=2)
