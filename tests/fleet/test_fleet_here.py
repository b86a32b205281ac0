"""A fleet on this machine alone, without ssh or root: by IPv6, and beside another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from beds import fleets

if TYPE_CHECKING:
    from pathlib import Path

HERE = '[host.here]\nat = "local"\ncpus = 1\nmemory = "1GB"\n'


def fleet(folder: Path, *words: str, code: int = 0) -> str:
    room = {
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "COLUMNS": "80",
    }
    done = subprocess.run(
        [sys.executable, "-m", "rushhour", "fleet", *words], env=os.environ | room, capture_output=True,
        text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_two_fleets(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text(HERE)
    hosts = str(tmp_path / "hosts.toml")
    try:
        assert "1 worker; use it with --on fleet:one" in fleet(tmp_path, "up", hosts, "--name", "one")
        fleet(tmp_path, "up", hosts, "--name", "six", "--listen", "::1")
        one, six = (
            json.loads(fleet(tmp_path, "status", "--name", name, "--json")) for name in ("one", "six")
        )
        assert one["scheduler"].startswith("tls://127.0.0.1:")
        assert six["scheduler"].startswith("tls://[::1]:")
        for found in (one, six):
            (host,) = found["hosts"]
            assert (host["state"], host["workers"], host["asked"]) == ("up", 1, 1)
            assert 0 < host["memory"] <= 10**9
        # Nothing is missing: nothing is started.
        assert len(before := fleets.marked(tmp_path)) >= 4
        fleet(tmp_path, "up", hosts, "--name", "one")
        assert fleets.marked(tmp_path) == before
        assert "there is no fleet 'default'" not in fleet(tmp_path, "down", "--name", "one")
        # The other is the only one now.
        assert "six  tls://[::1]" in fleet(tmp_path, "status")
    finally:
        for name in ("one", "six"):
            if (tmp_path / "config/rushhour/fleet" / name).exists():
                fleet(tmp_path, "down", "--name", name, "--purge")
    assert not (tmp_path / "config/rushhour").exists() or not [*(tmp_path / "config/rushhour").iterdir()]
    assert not (tmp_path / "cache/rushhour/fleet").exists()
    assert not fleets.marked(tmp_path)
