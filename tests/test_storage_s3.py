"""`--store s3://…` against a real S3 server on loopback: moto's, with s3fs, in an environment of their own.

Of their own, for botocore wants an older dateutil than the lock has.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rushhour.lab import agent
from rushhour.lab.kernel import store

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.virtual, pytest.mark.index]

SHORT = """
title = "Short"
duration = "300ms"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }
flow = [{ name = "long" }]
sweep = { cc = ["cubic", "reno"] }
"""
PACKAGES = ("moto[s3]>=5", "flask>=3", "flask-cors>=4", "s3fs>=2024.6")
KERNELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rushhour/kernels"
LIST = "import json, s3fs; print(json.dumps(s3fs.S3FileSystem().find('bucket')))"
READ = """
from rushhour.explain import explain
from rushhour.record.result_set import ResultSet
for one in ResultSet.open("away"):
    print(one.is_whole, len(one.table("tcp_probe")) > 100, explain(one)[0].limit)
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with the server and the client; made once, kept in the cache."""
    home = store.cache(f"s3-{sys.version_info[0]}.{sys.version_info[1]}")
    if not (home / "ready").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        words = [str(home / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        subprocess.run([*words, *PACKAGES], check=True)
        (home / "ready").touch()
    return home / "bin/python"


@pytest.fixture
def place(tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to run in, while a server listens."""
    (tmp_path / "cache/rushhour").mkdir(parents=True)
    (tmp_path / "cache/rushhour/kernels").symlink_to(KERNELS)
    (tmp_path / "short.toml").write_text(SHORT)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    (theirs,) = python.parents[1].glob("lib/python*/site-packages")
    settings = {
        "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"), "RUSHHOUR_AGENT": str(agent.find().binary),
        "PYTHONPATH": os.pathsep.join([str(theirs), *sys.path]),
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    words = [str(python), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (tmp_path / "moto.log").open("wb") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        _until_it_listens(port, tmp_path / "moto.log")
        yield tmp_path
    finally:
        server.kill()
        server.wait()


def _until_it_listens(port: int, log: Path) -> None:
    end = time.monotonic() + 60
    while True:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def go(python: Path, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *words], cwd=place, capture_output=True, text=True, timeout=300, check=False
    )


def test_records_go_into_a_bucket_and_are_fetched(python: Path, place: Path) -> None:
    run = ["-m", "rushhour", "run", "short.toml", "--no-report", "--store"]
    done = go(python, place, *run, "s3://bucket/runs", "--out", "none")
    assert done.returncode == 1
    assert (
        "s3://bucket/runs: the storage cannot be written: The specified bucket does not exist" in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert go(python, place, "-c", "import s3fs; s3fs.S3FileSystem().mkdir('bucket')").returncode == 0
    done = go(python, place, *run, "s3://bucket/runs", "--out", "away")
    assert done.returncode == 0, done.stderr
    assert not [*place.glob("away/runs/*/raw")]
    found = go(
        python, place, "-c", "import json, s3fs; print(json.dumps(s3fs.S3FileSystem().find('bucket')))"
    )
    assert len(json.loads(found.stdout)) == 2
    read = go(python, place, "-c", READ)
    assert read.stdout == "False True path\n" * 2, read.stderr
    assert not [*place.glob("away/runs/*/raw")]
