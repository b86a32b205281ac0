"""`--on fleet:NAME`: a scheduler and workers as `fleet up` starts them, and who may use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import commandline
import pytest
from furnished import furnish
from waiting import until

from rushhour.fleet import state
from rushhour.fleet.certificates import Authority
from rushhour.lab import agent

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.virtual

NOW = datetime.now(UTC).replace(microsecond=0)
MONTH = timedelta(days=30)


class Earlier(Authority):
    """The same authority, whose certificates ended a month ago."""

    begins = NOW - 2 * MONTH
    ends = NOW - MONTH


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make("lab", NOW, 30)


@contextmanager
def member(folder: Path, authority: Authority, config: dict[str, object]) -> Iterator[dict[str, object]]:
    """One member of a fleet, by the program that `fleet up` has hosts run; what it says of itself."""
    folder.mkdir()
    pair = authority.issue(str(config["name"]), called=True)
    files = {"ca.pem": authority.pair.certificate, "cert.pem": pair.certificate, "key.pem": pair.key}
    for name, text in (files | {"member.json": json.dumps(config)}).items():
        (folder / name).write_text(text)
    cache = folder.with_name(f"{folder.name}-cache")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(cache),
        "DASK_LOGGING__DISTRIBUTED": "warning",
    }  # fmt: skip
    environment.pop("RUSHHOUR_AGENT", None)
    log = folder.with_name(f"{folder.name}.log")
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "rushhour.fleet.member", str(folder)], stdout=sink, stderr=sink,
            env=environment,
        )  # fmt: skip
    try:
        ready = folder / "ready.json"
        assert until(lambda: ready.is_file() or process.poll() is not None, 120)
        assert ready.is_file(), log.read_text()
        yield json.loads(ready.read_text())
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[str]:
    """A scheduler and a worker with TLS; the address."""
    folder = tmp_path_factory.mktemp("fleet")
    about = {"role": "scheduler", "name": "scheduler", "host": "127.0.0.1", "port": 0, "asked": True}
    with member(folder / "scheduler", authority, about) as told:
        address = str(told["address"])
        assert address.startswith("tls://127.0.0.1:")
        about = {
            "role": "workers", "name": "w", "scheduler": address, "host": "127.0.0.1", "cpus": 1,
            "memory": 2 << 30,
        }  # fmt: skip
        with member(folder / "worker", authority, about):
            yield address


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(furnish(tmp_path)))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RUSHHOUR_AGENT", str(agent.find().binary))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def known(scheduler: str, authority: Authority, client: Authority, ends: datetime = NOW + MONTH) -> None:
    """A fleet that this user knows, with certificates for calling it."""
    state.folder("lab").mkdir(parents=True)
    state.keep(state.Fleet("lab", "0" * 12, str(NOW), ends.isoformat(), scheduler))
    state.write_pair("lab", client.issue("client", called=False), state.CERTIFICATE, state.KEY)
    state.write(state.folder("lab") / state.AUTHORITY, authority.pair.certificate)


def run(on: str) -> subprocess.CompletedProcess[str]:
    return commandline.rush("run", "short.toml", "--out", "away", "--no-report", "--on", on)


def refused(on: str) -> str:
    """What the command says; nothing was run, and nobody's traceback is shown."""
    done = run(on)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert " - ERROR - " not in done.stderr
    assert not [*Path("away").glob("runs/*")]
    return done.stderr


def test_a_fleet_with_certificates_makes_the_runs(scheduler: str, authority: Authority) -> None:
    known(scheduler, authority, authority)
    done = run("fleet:lab")
    assert done.returncode == 0, done.stderr
    assert "set aside" not in done.stderr
    assert len([*Path("away/runs").iterdir()]) == 2


def test_another_authoritys_certificate_is_refused(scheduler: str, authority: Authority) -> None:
    known(scheduler, authority, Authority.make("other", NOW, 30))
    said = refused("fleet:lab")
    assert f"the scheduler {scheduler} does not accept this machine's certificate" in said


def test_a_scheduler_of_another_authority_is_refused(scheduler: str, authority: Authority) -> None:
    other = Authority.make("other", NOW, 30)
    known(scheduler, other, authority)
    said = refused("fleet:lab")
    assert f"the certificate of the scheduler {scheduler} is not of this fleet" in said


def test_who_has_no_certificate_is_refused(scheduler: str) -> None:
    assert "needs certificates" in refused(scheduler)
    assert "no scheduler answers" in refused(scheduler.replace("tls:", "tcp:"))


def test_an_ended_certificate_is_refused_by_the_scheduler(scheduler: str, authority: Authority) -> None:
    known(scheduler, authority, Earlier.of(authority.pair))
    said = refused("fleet:lab")
    assert f"the scheduler {scheduler} does not accept this machine's certificate" in said


def test_a_fleet_whose_certificates_ended_is_named_before_it_is_called(
    scheduler: str, authority: Authority
) -> None:
    known(scheduler, authority, authority, ends=NOW - MONTH)
    said = refused("fleet:lab")
    assert "certificates of the fleet ended" in said
    assert "rushhour fleet down --name lab" in said
