"""Environments at hosts: the wheel of this installation, and what becomes of wheels that were sent."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kills
import pytest
from beds import fleets
from waiting import until

from rushhour.errors import HostError, LabError, UsageError
from rushhour.fleet import up as raising
from rushhour.fleet import wheel
from rushhour.fleet.login import Login
from rushhour.lab import agent
from rushhour.lab.host import ssh
from rushhour.lab.host.place import Place
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from beds.fleets import Office

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> tuple[str, bytes]:
    return wheel.make()


def test_the_wheel_is_this_program(made: tuple[str, bytes], tmp_path: Path) -> None:
    name, data = made
    (tmp_path / name).write_bytes(data)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "-q",
        "--disable-pip-version-check",
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, "--target", tmp_path / "there", tmp_path / name], check=True)
    package = tmp_path / "there/rushhour"
    for path in (ROOT / "src/rushhour").rglob("*.py"):
        assert (package / path.relative_to(ROOT / "src/rushhour")).read_bytes() == path.read_bytes()
    words = (
        "from rushhour import version; from rushhour.lab import agent\n"
        "print(version.__version__, agent.find().sha256)"
    )
    said = subprocess.run(
        [sys.executable, "-c", words], env=os.environ | {"PYTHONPATH": str(tmp_path / "there")}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.split() == [__version__, agent.find().sha256]
    assert wheel.make() == made


def test_its_record_is_right(made: tuple[str, bytes]) -> None:
    with zipfile.ZipFile(io.BytesIO(made[1])) as archive:
        (own,) = (name for name in archive.namelist() if name.endswith("/RECORD"))
        rows = {row[0]: row[1] for row in csv.reader(io.StringIO(archive.read(own).decode()))}
        assert rows.keys() == set(archive.namelist())
        for name, told in rows.items():
            digest = (
                base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
            )
            assert told == ("" if name == own else f"sha256={digest}")


def test_versions_are_those_here() -> None:
    found = dict(line.split("==") for line in wheel.constraints().splitlines())
    assert {"numpy", "distributed", "tornado", "pydantic-core"} <= found.keys()
    # What makes certificates and reads PostgreSQL is needed here only.
    assert not {"cryptography", "psycopg", "rushhour"} & found.keys()


def test_a_folder_without_wheels(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match="no wheels"):
            raising._require_wheels(folder)


def test_wheels_are_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # An index of our own: a folder.
    (tmp_path / "index").mkdir()
    (tmp_path / "index/rushhour-1-py3-none-any.whl").write_bytes(tiny())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setattr(wheel, "constraints", lambda: "rushhour==1\n")
    assert wheel.fetch(tmp_path / "new/wheels", "3.13") == 1
    assert [path.name for path in (tmp_path / "new/wheels").iterdir()] == ["rushhour-1-py3-none-any.whl"]
    monkeypatch.setattr(wheel, "constraints", lambda: "rushhour==2\n")
    with pytest.raises(LabError, match="No matching distribution found for rushhour==2"):
        wheel.fetch(tmp_path / "other")


def tiny(needs: str = "") -> bytes:
    """A wheel that is quickly installed."""
    sink = io.BytesIO()
    info = "rushhour-1.dist-info"
    requires = (
        f"Provides-Extra: fleet\nRequires-Dist: {needs}; extra == 'fleet'\n"
        if needs
        else "Provides-Extra: fleet\n"
    )
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("rushhour/__init__.py", "")
        archive.writestr("rushhour/fleet/__init__.py", "")
        archive.writestr("rushhour/fleet/member.py", "")
        about = f"Metadata-Version: 2.1\nName: rushhour\nVersion: 1\n{requires}"
        archive.writestr(f"{info}/METADATA", about)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return sink.getvalue()


def order(key: str, data: bytes) -> dict[str, Any]:
    name = "rushhour-1-py3-none-any.whl"
    return {
        "fleet": "stock", "name": "alice", "key": key, "files": {name: len(data)}, "wheel": name,
        "extra": "fleet",
        "constraints": "", "closed": True, "room": 1000,
    }  # fmt: skip


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with fleets.office(tmp_path_factory.mktemp("stock"), "alice") as laid:
        yield laid


def login() -> Login:
    return Login(Place.parse("alice"), ssh.configuration(None), sys.executable)


@pytest.mark.host
def test_an_environment_is_made_once(office: Office) -> None:
    data = tiny()
    answer = login().order("stock", order("good", data), payload=[data], long=True)
    host = office.hosts["alice"]
    home = host.root / "root/.cache/rushhour/fleet/venv"
    assert answer["python"] == "/root/.cache/rushhour/fleet/venv/good/env/bin/python"
    assert {path.name for path in (home / "good").iterdir()} == {"env", "ready.json"}
    # The second time nothing is sent.
    assert login().order("stock", order("good", data)) == answer
    # What fails is told, and not kept.
    wrong = tiny(needs="nothing-like-it")
    with pytest.raises(HostError) as caught:
        login().order("stock", order("lacks", wrong), payload=[wrong], long=True)
    assert caught.value.kind == "pip"
    assert "nothing-like-it" in str(caught.value)
    assert "--wheels FOLDER" in str(caught.value)
    assert not (home / "lacks").exists()


@pytest.mark.host
def test_an_installation_ends_with_its_sender(office: Office) -> None:
    host = office.hosts["alice"]
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport test_fleet_stock as tests\n"
        "data = tests.tiny()\n"
        "tests.login().order('stock', tests.order('slow', data), payload=[data], long=True)\n"
    )
    words = [sys.executable, "-c", script, str(Path(__file__).parent)]
    with kills.at_the_end(
        subprocess.Popen(words, env=os.environ | {"PYTHONPATH": f"{ROOT}/tests"})
    ) as sender:
        begun = until(lambda: any("-m venv" in line for line in host.processes().values()))
        sender.kill()
        assert begun
    assert until(lambda: not host.processes())
    home = host.root / "root/.cache/rushhour/fleet/venv"
    assert until(lambda: not (home / "slow").exists())
    # And what not even that one could remove, `stop` does; with `purge` all.
    (home / "left/env").mkdir(parents=True)
    stop = {"fleet": "stock", "name": "alice"}
    assert login().order("stop", stop) == {"ended": 0, "left": []}
    assert not (home / "left").exists()
    assert json.loads((home / "good/ready.json").read_text())
    login().order("stop", stop | {"purge": True})
    assert host.leftovers() == []
