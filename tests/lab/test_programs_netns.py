"""Programs of a scenario on this machine's kernel, in the netns lab: as they are, where that was allowed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from commandline import rush

from rushhour.errors import UnsupportedError
from rushhour.lab import programs
from rushhour.lab.base import Job
from rushhour.lab.netns import NetnsLab
from rushhour.lab.realtime import running_kernel
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.spec.load import load_scenario

pytestmark = [pytest.mark.host, pytest.mark.alone]

GET = "import urllib.request as u; print(len(u.urlopen('http://r1:8000/page.html').read()))"
WEB = f"""\
duration = "30s"
topology = {{ preset = "dumbbell", rate = "2mbit", rtt = "100ms" }}
[[program]]
name = "server"
node = "r1"
command = ["{sys.executable}", "-m", "http.server", "8000"]
ready = 8000
files = "page.html"
[[program]]
name = "client"
node = "s1"
command = ["{sys.executable}", "-c", "{GET}"]
after = "server"
until = "exit"
[[program]]
name = "looks"
node = "s1"
command = "mine a"
files = "f.txt"
input = "from input\\n"
[[program]]
name = "nap"
node = "s1"
command = ["sh", "-c", "sleep 4711 & sleep 4711"]
"""
MINE = (
    "#!/bin/sh\necho $1 $HERE; cat; cat f.txt; cat /proc/sys/kernel/hostname\n"
    "ls /sys/class/net; cd ..; ls; exit 3\n"
)


def job(folder: Path, text: str) -> Job:
    (folder / "page.html").write_text("x" * 50_000)
    (folder / "f.txt").write_text("from a file\n")
    (folder / "s.toml").write_text(text)
    lowered = lower(load_scenario(folder / "s.toml"), 1)
    return Job(lowered.plan, lowered.context, running_kernel(), {}, "now")


def running(word: str) -> list[str]:
    """The processes of this machine with that word on their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if word in words:
            found.append(folder.name)
    return found


def test_programs_run_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    (own / "mine").write_text(MINE)
    (own / "mine").chmod(0o755)
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    asked = job(tmp_path, WEB + "[[flow]]\n")
    lab = NetnsLab(trust_programs=True)
    assert lab.refusal(asked) is None
    lab.warm_up(asked)
    record = Record.open(lab.run(asked, tmp_path / "run"))
    server, client, looks, nap = record.result.programs
    texts = {
        one.name: [line.text for line in record.output() if line.program == one.id]
        for one in record.result.programs
    }
    assert (client.exit, client.error, texts["client"]) == (0, None, ["50000"])
    assert server.stopped
    assert client.started_ns is not None
    assert client.ended_ns is not None
    # What the path takes at least, as in virtual time.
    assert client.ended_ns - client.started_ns >= 200_000_000 + 50_000 * 8 * 500
    assert record.result.ended_ns == client.ended_ns
    # Its node's devices are there and not the machine's; beside its folder are those of the others.
    assert texts["looks"][:4] == ["a", "from input", "from a file", "s1"]
    assert {"lo", "client", "hosts", "looks", "server"} <= set(texts["looks"][4:])
    assert looks.error == "ended with status 3, not 0"
    assert nap.stopped
    assert not running("4711"), "what a program leaves ends with the experiment"
    assert not list(tmp_path.rglob(".sandbox-*"))
    assert record.manifest["tools"]["program:mine"]["sha256"] == programs.here("program:mine").sha256
    followed = Path("/sys/kernel/tracing/instances").exists()
    assert any("are not followed" in one for one in record.manifest["warnings"]) is not followed


def test_nodes_have_tables_of_connections_of_their_own(tmp_path: Path) -> None:
    # Who lists the sockets of the machine's goes through all of it, and that of 24 GiB has 262 144 places.
    setting = Path("/proc/sys/net/ipv4/tcp_child_ehash_entries")
    if not setting.exists():
        pytest.skip("the kernel has this from 6.1 on")
    before = setting.read_text()
    tables = [
        f'[[program]]\nname = "{node}"\nnode = "{node}"\nuntil = "exit"\n'
        'command = ["cat", "/proc/sys/net/ipv4/tcp_ehash_entries"]\n'
        for node in ("s1", "r1")
    ]
    topology = 'duration = "2s"\ntopology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }\n'
    asked = job(tmp_path, topology + "".join(tables))
    record = Record.open(NetnsLab(trust_programs=True).run(asked, tmp_path / "run"))
    # A negative number is that of a table which is shared.
    assert [line.text for line in record.output()] == ["8192", "8192"]
    assert setting.read_text() == before


def test_a_scenario_is_not_trusted_by_itself(tmp_path: Path) -> None:
    refused = NetnsLab().refusal(job(tmp_path, WEB.replace("mine a", "cat 'a b'")))
    assert isinstance(refused, UnsupportedError)
    assert "as root: " in str(refused)
    assert "cat 'a b'" in str(refused)
    assert "--trust-programs" in str(refused.hint)
    done = rush(
        "run",
        str(tmp_path / "s.toml"),
        "--lab",
        "netns",
        "--json",
        "--no-report",
        "--out",
        str(tmp_path / "o"),
    )
    assert "--trust-programs" in done.stderr + done.stdout
    assert not list(tmp_path.rglob("output.jsonl"))


def test_the_word_of_trust_is_for_the_lab_that_needs_it(tmp_path: Path) -> None:
    job(tmp_path, WEB.replace("mine a", "cat"))
    done = rush("run", str(tmp_path / "s.toml"), "--trust-programs")
    assert done.returncode == 2
    assert "leave it out" in done.stderr


def test_a_run_whose_program_fails_fails(tmp_path: Path) -> None:
    job(tmp_path, WEB.replace("mine a", "cat nowhere"))
    out = str(tmp_path / "out")
    words = ("--lab", "netns", "--trust-programs", "--out", out, "--json", "--no-report")
    done = rush("run", str(tmp_path / "s.toml"), *words)
    assert done.returncode == 1, done.stderr
    (one,) = json.loads(done.stdout)["sets"][0]["runs"]
    assert [verdict["ok"] for verdict in one["expectations"]].count(False) == 1
