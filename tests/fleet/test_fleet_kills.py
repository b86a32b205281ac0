"""Deaths of `fleet up`, and hosts that are away: what `fleet down` leaves, which is nothing."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

import kills
import pytest
from beds import fleets
from beds.fleets import OFFICE, Office
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with fleets.office(tmp_path_factory.mktemp("fleet"), "alice", "bob") as laid:
        yield laid


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_leaves_nothing_that_down_does_not_remove(office: Office, seed: int) -> None:
    dice = random.Random(seed)
    hosts = office.inventory(alice=None, bob=None)
    with office.begin("up", hosts, "--listen", OFFICE) as command:
        # Not before there is something to end; then at any step.
        assert until(lambda: (office.config / "default/fleet.toml").exists() or command.poll() is not None)
        time.sleep(dice.uniform(0, 8))
        command.send_signal(signal.SIGKILL)
    # At once: what the killed one had under way is still under way.
    office.fleet("down")
    assert office.leftovers() == []


def test_an_interrupt_takes_everything_back(office: Office) -> None:
    hosts = office.inventory(alice=None, bob=None)
    with office.begin("up", hosts, "--listen", OFFICE) as command:
        assert until(lambda: any(host.processes() for host in office.hosts.values()))
        command.send_signal(signal.SIGINT)
        assert command.wait(60) == 130
    assert office.leftovers() == []
    assert not office.config.exists()


def test_a_host_that_is_away(office: Office) -> None:
    office.fleet("up", office.inventory(alice=None, bob=None), "--listen", OFFICE)
    bob = office.hosts["bob"]
    # Refused at once: an answer that never comes takes 15 s.
    rules = "add table inet bed; add chain inet bed in { type filter hook input priority 0; }; "
    bob.run("nft", rules + "add rule inet bed in tcp dport 22 reject with tcp reset")
    try:
        said = office.fleet("down", code=2)
        assert "alice: 3 processes ended" in said
        assert "bob: nothing listens there" in said
        assert "when bob can be reached, or with --forget" in said
        assert (office.config / "default/fleet.toml").exists()
    finally:
        bob.mend()
    said = office.fleet("down")
    assert "alice" not in said
    assert office.leftovers() == []


def test_all_members_are_killed(office: Office) -> None:
    # The scheduler elsewhere: it listens where this machine sees its host.
    said = office.fleet("up", office.inventory(alice=None, bob=None), "--scheduler", "alice")
    assert "scheduler: tls://198.18.1.2:8786" in said
    for pid in [pid for host in office.hosts.values() for pid in host.processes()]:
        kills.send(pid)
    office.fleet("down")
    # What processes share by name no other process can tell to be theirs.
    for host in office.hosts.values():
        for path in host.files_of("dev/shm/sem.mp-"):
            (host.root / path).unlink()
    assert office.leftovers() == []
