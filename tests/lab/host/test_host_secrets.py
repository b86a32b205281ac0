"""An experiment between two machines over sshd: what it writes, here and there, holds no secret."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from beds import sshd

pytestmark = pytest.mark.host

SCENARIO = """\
duration = "1s"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "5ms" }
flow = [{ name = "a" }]
"""
SECRET = "correct-horse-battery-staple"


def holding(folder: Path, secret: str) -> list[str]:
    return [
        str(path) for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_records_logs_and_messages_hold_no_secret(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    config = f"SetEnv RUSHHOUR_TEST_SECRET={SECRET}\n"
    with sshd.hosts(tmp_path, ["alice", "bob"], jump={"bob": "alice"}, options=config) as hosts:
        # In the environment here and there, in the client's configuration, in a file of the user's.
        hosts.config.write_text(f"# {SECRET}\n" + hosts.config.read_text())
        private = (hosts.config.parent / "key").read_text().splitlines()[2]
        out = tmp_path / "out"
        words = [
            "run",
            "s.toml",
            "--lab",
            "hosts",
            "--host",
            "s1=alice",
            "--host",
            "r1=bob",
            "--out",
            str(out),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "rushhour", *words], cwd=tmp_path, capture_output=True, text=True,
            check=False, timeout=60, env=os.environ | {"RUSHHOUR_TEST_SECRET": SECRET},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert list(out.glob("runs/*/manifest.json"))
        for secret in (SECRET, private):
            assert secret not in done.stdout + done.stderr
            assert holding(out, secret) == []
        assert all(host.leftovers() == [] for host in hosts.values())
