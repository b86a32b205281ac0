"""The command on real paths: namespaces, and machines behind an sshd; what it says, writes and leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import kills
import pytest
from beds import sshd
from beds.path import path
from click.testing import CliRunner

import rushhour
from rushhour.cli import cli
from rushhour.errors import RushHourError
from rushhour.record.record import Record

pytestmark = [pytest.mark.host, pytest.mark.alone]

RATE_BPS = 50e6


def ran(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of the command."""
    done = CliRunner().invoke(
        cli, ["diagnose", *words, "--quick", "--json", "--out", str(folder)], standalone_mode=False
    )
    assert done.exception is None, done.exception
    return done.return_value, json.loads(done.stdout)


def test_two_machines_by_ssh_and_the_buffer_that_is_too_small(tmp_path: Path) -> None:
    with path(rate="50mbit", rtt="20ms") as p:
        p.nodes["b"].sysctl("net.ipv4.tcp_rmem", "4096 32768 32768")
        ends = {"alice": p.nodes["a"].path, "bob": p.nodes["b"].path}
        with sshd.hosts(tmp_path, ends) as hosts:
            code, document = ran(tmp_path / "out", "alice", "bob")
            assert {name: host.leftovers() for name, host in hosts.items()} == {"alice": [], "bob": []}
    assert code == 1
    assert document["format"] == "rushhour-diagnosis/1"
    assert (document["a"]["place"], document["b"]["place"]) == ("alice", "bob")
    first = document["findings"][0]
    assert (first["key"], first["where"]) == ("receive-buffer-too-small", "b")
    assert first["fix"][0]["end"] == "b"
    assert "net.ipv4.tcp_rmem" in first["fix"][0]["text"]
    assert document["bottleneck"]["finding"] == first["key"]
    assert document["bottleneck"]["direction"] == "a→b"
    there, back = document["measured"]["a→b"], document["measured"]["b→a"]
    # 32 KiB of buffer are a window of 16 to 32 KiB: at 20 ms no more than 13.1 Mbit/s.
    assert there["single"]["goodput_bps"] < 13.2e6 < back["single"]["goodput_bps"]
    assert back["single"]["goodput_bps"] <= 1.1 * RATE_BPS
    for place in (tmp_path / "out" / "records").iterdir():
        Record.open(place).verify()
    assert json.loads((tmp_path / "out" / "diagnosis.json").read_text()) == document
    page = (tmp_path / "out" / "report.html").read_text()
    assert document["answer"][:30] in page
    assert first["fix"][0]["text"].split("=")[0] in page
    assert "One TCP flow, a→b" in page
    assert 'src="http' not in page


def test_a_way_that_carries_nothing_is_a_finding_and_no_crash(tmp_path: Path) -> None:
    with path(rate="50mbit", rtt=None) as p:
        p.nodes["left"].nft("chain f { type filter hook forward priority 0; ip saddr 10.77.1.2 drop; }")
        code, document = ran(tmp_path / "out", p.a, p.b)
    assert code == 1
    assert document["findings"][0]["key"] == "unreachable"
    assert document["findings"][0]["where"] == "a→b"
    assert [one["key"] for one in document["findings"] if one["severity"] == "critical"] == ["unreachable"]


def test_no_route_at_all_is_a_finding(tmp_path: Path) -> None:
    with path(rtt=None) as p:
        p.nodes["b"].ip("route del default")
        code, document = ran(tmp_path / "out", p.a, p.b)
    assert code == 1
    assert document["findings"][0]["key"] == "no-route"
    assert document["measured"] == {}
    assert document["b"]["facts"]["host"]["kernel"]


def test_an_interrupt_ends_it_soon_and_leaves_nothing(tmp_path: Path) -> None:
    with path(rate="50mbit", rtt="10ms") as p:
        words = [sys.executable, "-m", "rushhour", "diagnose", p.a, p.b, "--out", str(tmp_path / "out")]
        with kills.at_the_end(
            subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=os.environ)
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if "one TCP flow" in line:
                    break
            time.sleep(0.5)
            agents = [place for place in Path("/proc").glob("[0-9]*") if _parent(place) == process.pid]
            assert agents
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
        assert [place for place in agents if place.exists()] == []


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_place_that_is_none_or_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RushHourError, match="no such namespace"):
        rushhour.diagnose("local", "netns:there-is-none", quick=True, out=tmp_path / "out")
    (tmp_path / "used/records").mkdir(parents=True)
    with pytest.raises(RushHourError, match="holds another diagnosis"):
        rushhour.diagnose("local", "netns:there-is-none", out=tmp_path / "used")
    with pytest.raises(RushHourError, match="a path has two different ends"):
        rushhour.diagnose("local", "local")
    with pytest.raises(RushHourError, match="--rate"):
        CliRunner().invoke(
            cli, ["diagnose", "local", "x", "--rate", "fast"], standalone_mode=False, catch_exceptions=False
        )
