"""What is missing at a place is told with its cost, and nothing that is there."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from beds import sshd

from rushhour.errors import UsageError
from rushhour.lab.host import able

HELLO: dict[str, Any] = {"uid": 0, "cpus": 4, "capabilities": ["net_admin", "net_raw", "sys_admin"]}
FILES = {
    "/proc/sys/net/ipv4/ping_group_range": "1\t0\n",
    "/proc/filesystems": "nodev\tsysfs\nnodev\ttracefs\n\text4\n",
    "/proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic bbr\n",
    "/proc/sys/net/ipv4/tcp_allowed_congestion_control": "reno cubic\n",
    "/proc/loadavg": "0.50 0.1 0.1 1/100 5\n",
    "/proc/meminfo": "MemTotal: 1 kB\nMemAvailable:    4000000 kB\n",
}


def what(hello: dict[str, Any], **files: str) -> list[str]:
    named = {path: files.get(path.rpartition("/")[2], text) for path, text in FILES.items()}
    return [lack.what for lack in able.lacks(hello, named, [])]


def test_an_able_host_lacks_nothing() -> None:
    assert what(HELLO) == []


def test_what_a_user_cannot() -> None:
    user = HELLO | {"uid": 1000, "capabilities": []}
    assert what(user) == ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "congestion control"]
    # The whole range of groups, as systemd sets it.
    assert "CAP_NET_RAW" not in what(user, ping_group_range="0\t2147483647\n")
    told = able.lacks(user, FILES, ["a doubt"])
    assert "not allowed: bbr" in [lack.cost for lack in told]
    assert told[-1].cost == "a doubt"
    assert all(lack.cost for lack in told)


def test_what_a_kernel_and_a_moment_lack() -> None:
    assert what(HELLO, filesystems="nodev\tsysfs\n") == ["tracefs"]
    assert what(HELLO, loadavg="2.10 0 0 1/1 1\n") == ["quiet"]
    assert what(HELLO, meminfo="MemAvailable:   100000 kB\n") == ["memory"]
    # A kernel that tells nothing is not blamed for it.
    assert able.lacks(HELLO, {"/proc/filesystems": FILES["/proc/filesystems"]}, []) == []


def test_no_place_is_contacted_if_one_is_none() -> None:
    with pytest.raises(UsageError):
        able.check(["local", "-oProxyCommand=id"])


@pytest.mark.host
def test_the_command(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rushhour", "hosts", "check"]
    with sshd.hosts(tmp_path, ["alice"], users={"guest": "/bin/dash"}) as hosts:
        done = subprocess.run(
            [*words, "--json", "guest@alice", "ssh://root@198.18.1.2:23"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        guest, shut = json.loads(done.stdout)["hosts"]
        assert guest["host"]["hostname"] == "alice"
        assert guest["clock"] == {"offset_ns": 0, "error_ns": 0}
        assert "CAP_NET_ADMIN" in [lack["what"] for lack in guest["lacks"]]
        assert "nothing listens there" in shut["error"]["message"]
        done = subprocess.run([*words, "guest@alice"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "lacks    CAP_NET_ADMIN: no emulator" in done.stdout
        assert hosts["alice"].leftovers() == []


def test_an_inventory_stands_for_its_places(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text('[host.s1]\nat = "local"\n[host.r1]\nat = "local"\n')
    words = [sys.executable, "-m", "rushhour", "hosts", "check", "--json", "hosts.toml"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert [one["place"] for one in json.loads(done.stdout)["hosts"]] == ["local"]
