"""Deaths of anything that takes part in a session, at any moment: nothing is left, here and there."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import kills
import pytest
from beds import sshd
from beds.sshd import Host, Hosts
from waiting import until

from rushhour.errors import HostError
from rushhour.lab.host import session as sessions
from rushhour.lab.host.session import Session

pytestmark = pytest.mark.host

CONTROLLER = Path(__file__).with_name("controller.py")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("kills")
    with sshd.hosts(folder, ["alice", "bob"], jump={"bob": "alice"}) as laid:
        yield laid


def parts(process: "subprocess.Popen[str]", hosts: Hosts) -> dict[int, str]:
    """All that takes part: the controller, what it started, what runs at the hosts."""
    found = {process.pid: "controller"}
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    grown = True
    while grown:
        below = {pid: "here" for pid, parent in parents.items() if parent in found and pid not in found}
        found |= below
        grown = bool(below)
    for host in hosts.values():
        found |= host.processes() | host.logins()
    return found


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def nothing_left(host: Host) -> bool:
    return until(lambda: not host.processes() and not host.logins() and not host.files())


@pytest.mark.parametrize("seed", range(8))
def test_a_kill_at_any_moment_leaves_nothing(hosts: Hosts, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    before = {name: host.mounts() for name, host in hosts.items()}
    here = tmp_path / "tmp"
    here.mkdir()
    places = ["alice", "bob", f"netns:{hosts['alice'].pid}"]
    environment = os.environ | {"TMPDIR": str(here), "XDG_RUNTIME_DIR": str(here)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    with kills.at_the_end(subprocess.Popen(
        [sys.executable, str(CONTROLLER), *places],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
    )) as controller:  # fmt: skip
        time.sleep(dice.uniform(0.2, 2.5))
        family = parts(controller, hosts)
        victim = dice.choice(sorted(family))
        kills.send(victim)
        said, _ = controller.communicate(timeout=60)
    assert "Traceback" not in said
    # A keeper's death disturbs nobody; any other's is told, by the one who is left to tell.
    assert controller.returncode in {0, 2, -signal.SIGKILL}, said
    assert all(nothing_left(host) for host in hosts.values()), family[victim]
    assert until(lambda: all(is_gone(pid) for pid in family)), family[victim]
    assert {name: host.mounts() for name, host in hosts.items()} == before
    assert list(here.iterdir()) == []


def test_an_interrupt_ends_all_in_order(hosts: Hosts) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with kills.at_the_end(subprocess.Popen(
        [sys.executable, str(CONTROLLER), "alice"], stdout=subprocess.PIPE, text=True, env=environment,
        stderr=subprocess.PIPE, process_group=0,
    )) as controller:  # fmt: skip
        assert controller.stdout is not None
        assert controller.stdout.readline() == "open\n"
        # As the terminal does it: to the whole group.
        os.killpg(controller.pid, signal.SIGINT)
        _, said = controller.communicate(timeout=30)
    assert said.strip().endswith("KeyboardInterrupt")
    assert all(nothing_left(host) for host in hosts.values())


def test_a_network_that_swallows_everything(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SILENCE_S", 4.0)
    alice = hosts["alice"]
    with Session.open("alice", patience_s=4) as session:
        alice.cut()
        try:
            # The host hears nothing, and ends what runs there by itself.
            assert until(lambda: not alice.processes(), 20)
            assert alice.files() == []
            with pytest.raises(HostError) as caught:
                session.call("clock", timeout_s=None)
            assert caught.value.kind == "silent"
            assert "said nothing for 4 s" in caught.value.message
        finally:
            alice.mend()
    assert nothing_left(alice)


def ask_for_ever(session: Session) -> None:
    """A host's processes die one after the other: the first answers may still come."""
    while True:
        session.call("clock", timeout_s=None)


def test_a_host_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SILENCE_S", 4.0)
    with sshd.hosts(tmp_path, ["dora"]) as laid, Session.open("dora", patience_s=4) as session:
        laid["dora"].die()
        with pytest.raises(HostError) as caught:
            ask_for_ever(session)
        assert caught.value.where == "dora"
        assert caught.value.kind in {"silent", "ended"}
        assert session.lost is caught.value


def test_an_interrupt_does_not_wait_for_a_host_that_is_not_there(hosts: Hosts) -> None:
    """Fifteen seconds is what the client would wait."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    hosts["alice"].cut()
    try:
        with kills.at_the_end(subprocess.Popen(
            [sys.executable, "-m", "rushhour", "hosts", "check", "alice", "bob"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )) as checking:  # fmt: skip
            assert until(lambda: len(parts(checking, Hosts(hosts.config, hosts.office))) > 1)
            time.sleep(0.5)
            checking.send_signal(signal.SIGINT)
            said, _ = checking.communicate(timeout=13)
        assert (checking.returncode, said.strip()) == (130, "interrupted")
    finally:
        hosts["alice"].mend()
