"""Sessions over the OpenSSH client to real sshd instances: how they begin, and why they cannot."""

import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from beds import sshd
from beds.sshd import Hosts

from rushhour.errors import HostError, UsageError
from rushhour.lab import agent
from rushhour.lab.host import ssh
from rushhour.lab.host.clocks import offset, offsets
from rushhour.lab.host.place import Place
from rushhour.lab.host.session import Session
from rushhour.lab.host.transport import Transport

pytestmark = pytest.mark.host

USERS = {"dash": "/bin/dash", "bash": "/bin/bash", "none": "/usr/sbin/nologin", "false": "/bin/false"}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("ssh")
    names = ["alice", "bob", "carol"]
    with sshd.hosts(folder, names, jump={"carol": "alice"}, users=USERS, clock_s={"bob": 1000}) as laid:
        yield laid


def refusal(place: str, *, sudo: bool = False) -> HostError:
    with pytest.raises(HostError) as caught:
        Session.open(place, sudo=sudo)
    assert caught.value.where == place
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize("place", ["alice", "carol", "dash@bob", "bash@bob", "ssh://root@198.18.1.2:22"])
def test_a_session_with_a_host(hosts: Hosts, place: str) -> None:
    with Session.open(place) as session:
        name = place.rpartition("@")[2]
        assert session.hello["hostname"] == (name if name in hosts else "alice")
        assert (session.hello["uid"] == 0) == (not place.endswith("@bob"))
        assert session.warnings == []
        assert session.call("files", paths=["/proc/sys/kernel/hostname"])["files"]
        # What runs there has no name any more: nothing could be left of it.
        assert not [path for host in hosts.values() for path in host.files() if path.endswith("/agent")]
    assert all(host.leftovers() == [] for host in hosts.values())


def test_here_and_in_a_namespace(hosts: Hosts) -> None:
    with Session.open("local") as session:
        assert session.hello["uid"] == os.getuid()
    with Session.open(f"netns:{hosts['alice'].pid}") as session:
        devices = session.call("files", paths=["/sys/class/net/*/mtu"])["files"]
        assert "/sys/class/net/mgmt/mtu" in devices
    assert "there is no such namespace (/run/netns/nowhere)" in refusal("netns:nowhere").message
    # A file that is no namespace: the agent says so.
    assert "namespace" in refusal("netns:/etc/passwd").message


def test_clocks_of_hosts(hosts: Hosts) -> None:
    with Session.open("alice") as alice, Session.open("bob") as bob:
        # alice is this machine; bob's clock is 1000 s ahead.
        assert (offset(alice).ns, offset(alice).error_ns) == (0, 0)
        found = offsets({"alice": alice, "bob": bob})["bob"]
        assert abs(found.ns - 1000 * 10**9) <= found.error_ns < 10**8
        assert alice.hello["boot_id"] != bob.hello["boot_id"]
    assert hosts["bob"].leftovers() == []


def test_noise_of_start_up_files_is_passed_over(hosts: Hosts) -> None:
    home = hosts["bob"].root / "home/bash"
    (home / ".bashrc").write_text("echo Welcome to bob; echo rushhour-session/2 ready; printf unfinished\n")
    with Session.open("bash@bob") as session:
        assert session.hello["hostname"] == "bob"
    (home / ".bashrc").write_text("echo Closed for lunch; exit 7\n")
    told = refusal("bash@bob")
    assert "no POSIX shell (exit code 7); it said: Closed for lunch" in told.message
    (home / ".bashrc").unlink()


def test_a_user_without_a_shell(hosts: Hosts) -> None:
    assert hosts
    assert "This account is currently not available" in refusal("none@bob").message
    assert "no POSIX shell (exit code 1)" in refusal("false@bob").message


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("remount,noexec", "mounted noexec"),
        ("remount,ro", "not writable"),
        ("remount,size=64k", "no room"),
        ("remount,nr_inodes=2", "full"),
    ],
)
def test_no_folder_for_the_agent(hosts: Hosts, fault: str, told: str) -> None:
    host = hosts["bob"]
    folders = ["/tmp", "/var/tmp", "/dev/shm"]
    try:
        for folder in folders:
            host.run("mount", "-o", fault, folder)
        error = refusal("dash@bob")
        assert error.kind == "place"
        assert all(f"{folder} {told}" in error.message for folder in folders)
        if fault in {"remount,noexec", "remount,ro"}:
            # One good folder is enough.
            host.run("mkdir", "-p", "/home/dash/.cache")
            host.run("chown", "dash", "/home/dash/.cache")
            with Session.open("dash@bob") as session:
                assert session.hello["hostname"] == "bob"
    finally:
        host.run("rm", "-rf", "/home/dash/.cache")
        for folder in folders:
            host.run("mount", "-o", "remount,rw,exec,size=100m,nr_inodes=1000", folder)
    assert host.leftovers() == []


def test_another_machine(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    good = agent.find()
    monkeypatch.setattr(agent, "find", lambda: dataclasses.replace(good, machine="riscv64"))
    with Session.open("alice") as session:  # it is brought the agent for its own kind
        assert session.hello["kernel"]["machine"] == "x86_64"
    monkeypatch.setattr(agent, "find_for", lambda _machine: None)
    assert refusal("alice").message == "the host is Linux x86_64, and there is no agent for that here"
    assert hosts["alice"].leftovers() == []


def test_damaged_bytes_are_not_started(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = agent.find()
    monkeypatch.setattr(agent, "find", lambda: dataclasses.replace(good, sha256="0" * 64))
    assert refusal("alice").kind == "damaged"
    (tmp_path / "init").write_bytes(b"\x7fELF and no more")
    digest = "5b1e9f5b2e0a2e4f"
    bad = dataclasses.replace(good, root=tmp_path, sha256=digest)
    monkeypatch.setattr(agent, "find", lambda: bad)
    assert refusal("alice").kind == "damaged"
    assert hosts["alice"].leftovers() == []


def test_a_host_without_sha256sum(hosts: Hosts) -> None:
    home = hosts["bob"].root / "home/bash"
    # A PATH that holds what the script needs, and no more.
    (home / "bin").mkdir()
    for name in ("uname", "mktemp", "df", "head", "wc", "rm", "chmod"):
        (home / "bin" / name).symlink_to(f"/usr/bin/{name}")
    (home / ".bashrc").write_text("PATH=$HOME/bin\n")
    with Session.open("bash@bob") as session:
        assert "not checked" in session.warnings[0]
    hosts["bob"].run("rm", "-r", "/home/bash/bin", "/home/bash/.bashrc")


def test_root_by_sudo(hosts: Hosts) -> None:
    host = hosts["bob"]
    # What sudo does to a program: it closes what is no standard stream. Its rules are sudo's own affair.
    lines = '[ "$1" = -n ] || exit 9; shift; exec 3<&- 4<&- 5<&-; exec "$@"'
    home = host.root / "home/bash"
    (home / "sudo").write_text(f"#!/bin/sh\n{lines}\n")
    (home / "sudo").chmod(0o755)
    (home / ".bashrc").write_text("PATH=$HOME:$PATH\n")
    with Session.open("bash@bob", sudo=True) as session:
        assert session.hello["hostname"] == "bob"
    (home / "sudo").write_text("#!/bin/sh\necho sudo: a password is required >&2; exit 1\n")
    assert "sudo refuses: sudo: a password is required" in refusal("bash@bob", sudo=True).message
    host.run("rm", "/home/bash/sudo", "/home/bash/.bashrc")
    assert host.leftovers() == []


def test_refusals_of_the_client(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the name nobody.invalid is not known" in refusal("nobody.invalid").message
    assert "nothing listens there" in refusal("ssh://198.18.1.2:23").message
    assert "there is no way to it" in refusal("203.0.113.1").message

    known = hosts.config.with_name("known_hosts")
    kept = known.read_text()
    keys = [line.split(None, 1) for line in kept.splitlines()]
    known.write_text(f"{keys[0][0]} {keys[1][1]}\n")
    assert "its host key has changed" in refusal("alice").message
    known.write_text("")
    assert "its host key is not known" in refusal("alice").message
    known.write_text(kept)

    allowed = hosts["alice"].folder / "authorized_keys"
    key = allowed.read_text()
    allowed.write_text("")
    assert "it refuses the login (it offers publickey)" in refusal("alice").message
    allowed.write_text(key)

    monkeypatch.setitem(ssh._OPTIONS, "ConnectTimeout", "1")
    hosts["alice"].cut()
    begin = time.monotonic()
    assert "it does not answer" in refusal("alice").message
    assert time.monotonic() - begin < 20
    hosts["alice"].mend()


def test_the_clients_configuration(hosts: Hosts, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        Session.open("alice", ssh_config=tmp_path / "none")
    bad = tmp_path / "bad"
    bad.write_text("Hust alice\n")
    with pytest.raises(HostError) as caught:
        Session.open("alice", ssh_config=bad)
    assert "does not accept its configuration" in caught.value.message
    # What a configuration asks of interactive logins is not done. The name of a socket has at most 107 bytes.
    sockets = Path(tempfile.mkdtemp())
    shy = tmp_path / "shy"
    shy.write_text(
        "Host *\n  RemoteCommand uptime\n  RequestTTY force\n  LocalForward 127.0.0.1:1 127.0.0.1:2\n"
        f"  ControlMaster auto\n  ControlPath {sockets}/%C\n  ControlPersist 60\n" + hosts.config.read_text()
    )
    with Session.open("alice", ssh_config=shy) as session:
        assert session.hello["hostname"] == "alice"
        assert not [*sockets.iterdir()]
    sockets.rmdir()


def test_a_program_that_is_not_there(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert hosts
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "the OpenSSH client does not start" in refusal("alice").message
    with pytest.raises(HostError, match="the agent does not start"):
        Session.open("local", sudo=True)


@pytest.mark.parametrize("shell", [["dash"], ["bash"], ["bash", "--posix"], ["busybox", "sh"]])
def test_the_script_in_shells(shell: list[str]) -> None:
    found = agent.find()
    script = ssh.bootstrap(found, sudo=False, patience_s=5)
    transport = Transport([*shell, "-c", f'eval "$(head -c {len(script)})"'], {"PATH": "/usr/bin:/bin"})
    assert transport.exchange(script, 20) == "send packed"
    assert transport.exchange(ssh._packed(found), 20) == "ready"
    with Session(Place.parse("local"), transport) as session:
        assert session.hello["uid"] == os.getuid()
    assert transport.process.returncode == 0
