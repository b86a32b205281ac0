"""Deaths in the middle of experiments between machines: whole records or none, and nothing left anywhere."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import kills
import pytest
from beds import sshd
from beds.path import path
from test_host_kills import is_gone, nothing_left, parts
from waiting import until

from rushhour.record.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from beds.sshd import Hosts

pytestmark = pytest.mark.host

CONTROLLER = Path(__file__).with_name("lab_controller.py")
SCENARIO = """\
title = "Killed"
duration = "400ms"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "1ms"
[[flow]]
cc = "cubic"
"""
TRACES = Path("/sys/kernel/tracing/instances")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with path(rate="40mbit", rtt=None) as laid:
        ends = {"alice": laid.nodes["a"].path, "bob": laid.nodes["b"].path}
        with sshd.hosts(tmp_path_factory.mktemp("kills"), ends) as found:
            yield found


def instances() -> set[str]:
    try:
        return {entry.name for entry in TRACES.iterdir() if entry.name.startswith("rushhour-")}
    except OSError:
        return set()


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_in_an_experiment_leaves_nothing(hosts: Hosts, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    before = instances()
    here, out = tmp_path / "tmp", tmp_path / "out"
    here.mkdir()
    out.mkdir()
    (tmp_path / "killed.toml").write_text(SCENARIO)
    environment = os.environ | {"TMPDIR": str(here), "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(CONTROLLER), str(tmp_path / "killed.toml"), str(out), "alice", "bob"]
    with kills.at_the_end(
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    ) as controller:
        # The first experiment is on its way when a session stands at both ends.
        assert until(
            lambda: all(host.processes() for host in hosts.values()) or controller.poll() is not None, 30
        )
        assert controller.poll() is None, controller.stdout and controller.stdout.read()
        time.sleep(dice.uniform(0.0, 2.0))
        family = parts(controller, hosts)
        victim = dice.choice(sorted(family))
        kills.send(victim)
        said, _ = controller.communicate(timeout=90)
    assert "Traceback" not in said
    assert controller.returncode in {0, 2, -signal.SIGKILL}, said
    assert all(nothing_left(host) for host in hosts.values()), family[victim]
    assert until(lambda: all(is_gone(pid) for pid in family)), family[victim]
    assert until(lambda: instances() <= before), family[victim]
    assert list(here.iterdir()) == []
    for folder in out.iterdir():
        if folder.name.startswith("."):
            # Only who had no time to clean up leaves a folder, and it is no record.
            assert controller.returncode == -signal.SIGKILL
        else:
            Record.open(folder).verify()
