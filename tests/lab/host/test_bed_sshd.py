"""The hosts of the tests are what they say: apart from this machine and each other, and gone afterwards."""

import os
import subprocess
from pathlib import Path

import pytest
from beds import sshd

pytestmark = pytest.mark.host


def ask(config: Path, host: str, command: str) -> str:
    done = subprocess.run(
        ["ssh", "-F", str(config), host, command], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout.strip()


def test_hosts_are_reached_by_the_client_and_leave_nothing(tmp_path: Path) -> None:
    path = os.environ["PATH"]
    names = ["alice", "bob", "carol"]
    with sshd.hosts(tmp_path, names, jump={"carol": "alice"}, users={"guest": "/bin/dash"}) as hosts:
        assert (
            ask(hosts.config, "alice", "hostname; ls /sys/class/net; touch /tmp/x")
            == "alice\nlo\nmgmt\nmgmt3"
        )
        assert ask(hosts.config, "carol", "hostname; id -un") == "carol\nroot"
        assert ask(hosts.config, "guest@bob", "id -un; touch ~/y") == "guest"
        assert hosts["alice"].leftovers(0) == ["tmp/x"]
        assert hosts["bob"].leftovers(0) == ["home/guest/y"]
        assert hosts["carol"].leftovers(0) == []
        pids = [host.pid for host in hosts.values()]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert os.environ["PATH"] == path


def test_a_clock_of_its_own(tmp_path: Path) -> None:
    with sshd.hosts(tmp_path, ["far"], clock_s={"far": 5000}) as hosts:
        said = ask(hosts.config, "far", "cat /proc/uptime /proc/sys/kernel/random/boot_id").split()
        assert float(said[0]) - float(Path("/proc/uptime").read_text().split()[0]) == pytest.approx(
            5000, abs=5
        )
        assert said[2] != Path("/proc/sys/kernel/random/boot_id").read_text().strip()
