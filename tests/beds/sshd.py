"""Hosts for tests: each with network, processes, mounts, name and (if asked) clock of its own, and an sshd.

    with sshd.hosts(tmp_path, ["alice", "bob", "carol"], jump={"carol": "alice"}) as hosts:
        Session.open("alice")                  # the client's configuration is found through the environment
        hosts["alice"].namespace               # /proc/PID/ns/net, to lay links to it
        hosts["alice"].cut()                   # its management network drops everything, silently

A host takes a network namespace that is there already if it is given one (PID or file): `{"alice": 1234}`.
All lives in the test's folder and in processes that end with the test, however that ends: they read a pipe.
"""

from __future__ import annotations

import os
import subprocess
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import kills

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INIT = Path(__file__).with_name("host_init.sh")
SSHD = """\
HostKey /run/bed/host_key
AuthorizedKeysFile /run/bed/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
MaxStartups 100
"""
CLIENT = """\
Host *
    User root
    IdentityFile {folder}/key
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {folder}/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""


def run(*words: str | Path, inside: int | None = None) -> str:
    """Run a command, in the network of a process if told; what it printed."""
    entered = ["nsenter", f"--net=/proc/{inside}/ns/net", "--"] if inside else []
    done = subprocess.run(
        [*entered, *map(str, words)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


@dataclass
class Host:
    name: str
    pid: int
    """Its first process, by the number that it has here."""
    address: str
    folder: Path
    kept: Sequence[Path] = ()
    """What it sees of this machine where its own files are."""

    @property
    def namespace(self) -> Path:
        return Path(f"/proc/{self.pid}/ns/net")

    @property
    def root(self) -> Path:
        """Its files, seen from here."""
        return Path(f"/proc/{self.pid}/root")

    def run(self, *words: str | Path) -> str:
        """Run a command as root at the host; what it printed."""
        return run("nsenter", f"--target={self.pid}", "--net", "--mount", "--pid", "--uts", "--", *words)

    def cut(self) -> None:
        """From now on its management network drops every packet, both ways, and tells nobody."""
        rules = "add table inet bed; "
        for hook, side in (("input", "iifname"), ("output", "oifname")):
            rules += f"add chain inet bed {hook} {{ type filter hook {hook} priority 0; }}; "
            rules += f'add rule inet bed {hook} {side} "mgmt*" drop; '
        run("nft", rules, inside=self.pid)

    def mend(self) -> None:
        run("nft", "delete table inet bed", inside=self.pid)

    def die(self) -> None:
        """As if its power were cut: no process there says a last word."""
        kills.send(self.pid)

    def processes(self) -> dict[int, str]:
        """What runs there beside its first process, its `cat`, and sshd: number here → command line."""
        ours = ("cat", "sshd", "/usr/sbin/sshd")
        return {pid: line for pid, line in self._all().items() if not line.startswith(ours)}

    def logins(self) -> dict[int, str]:
        """The processes of sshd that serve a connection."""
        return {
            pid: line
            for pid, line in self._all().items()
            if line.startswith("sshd: ") and "[listener]" not in line
        }

    def _all(self) -> dict[int, str]:
        own = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "ns/pid").readlink() == own:
                    line = (entry / "cmdline").read_text().replace("\0", " ").strip()
                    if line and int(entry.name) != self.pid:
                        found[int(entry.name)] = line
            except OSError:
                continue
        return found

    def files(self) -> list[str]:
        """What lies where a program may leave something: paths at the host."""
        found = []
        beds = {
            self.root / "run/bed",
            self.root / "run/sshd",
            *(self.root / one.relative_to("/") for one in self.kept),
        }
        for folder in ("tmp", "var/tmp", "dev/shm", "home", "root", "run"):
            for place, folders, files in os.walk(self.root / folder):
                folders[:] = [name for name in folders if Path(place, name) not in beds]
                ours = [*files, *(name for name in folders if "rushhour" in name)]
                found += [str(Path(place, name).relative_to(self.root)) for name in ours]
        return sorted(found)

    def files_of(self, part: str) -> list[str]:
        """Those whose path has these letters."""
        return [path for path in self.files() if part in path]

    def mounts(self) -> list[str]:
        lines = Path(f"/proc/{self.pid}/mountinfo").read_text().splitlines()
        return sorted(line.split()[4] for line in lines)

    def leftovers(self, patience_s: float = 10) -> list[str]:
        """Processes and files that are still there after a while; empty as soon as there are none."""
        deadline = time.monotonic() + patience_s
        while found := [*self.processes().values(), *self.files()]:
            if time.monotonic() > deadline:
                return found
            time.sleep(0.05)
        return []


class Hosts(dict[str, Host]):
    """Hosts by name; `config` is the client's configuration, `office` the process whose network it has."""

    def __init__(self, config: Path, office: int) -> None:
        super().__init__()
        self.config = config
        self.office = office


@contextmanager
def hosts(
    folder: Path,
    names: Iterable[str] | Mapping[str, int | str | Path | None],
    *,
    jump: Mapping[str, str] | None = None,
    users: Mapping[str, str] | None = None,
    clock_s: Mapping[str, int] | None = None,
    options: str = "",
    kept: Sequence[Path] = (),
) -> Iterator[Hosts]:
    """Real sshd instances.

    `names` may map each to a network namespace (PID or file) that it takes. `jump` says behind which
    other host one stands. `users` are further users and their shells. `clock_s` makes hosts look like other
    machines whose clocks are ahead by so many seconds. `options` are more lines of sshd's configuration.
    `kept` are folders of this machine that hosts see, even if they lie where their own files are.
    """
    given: dict[str, int | str | Path | None] = dict.fromkeys(names)
    if isinstance(names, Mapping):
        given |= names
    folder = folder / "hosts"
    folder.mkdir(mode=0o700)
    with ExitStack() as stack:
        office = stack.enter_context(_process(["unshare", "--net", "cat"]))
        laid = Hosts(folder / "ssh_config", office)
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key")
        said = [f"{user}:{shell}" for user, shell in (users or {}).items()]
        for name, namespace in given.items():
            home = _prepare(folder, name, options)
            clock = (clock_s or {}).get(name)
            words = _words(name, home, namespace, clock, [":".join(map(str, kept)), *said])
            pid = stack.enter_context(_process(words, "ready"))
            laid[name] = Host(name, pid, "", home, kept)
        for number, host in enumerate(laid.values(), 1):
            via = (jump or {}).get(host.name)
            host.address = _lay(number, laid[via].pid if via else office, host.pid)
            _listens(host)
        _configure(folder, laid, jump or {})
        with _environment(folder, laid):
            yield laid


def _words(
    name: str, home: Path, namespace: int | str | Path | None, clock: int | None, more: list[str]
) -> list[str]:
    words = []
    if namespace is not None:
        path = f"/proc/{namespace}/ns/net" if str(namespace).isdigit() else str(namespace)
        words = ["nsenter", f"--net={path}", "--"]
    words += ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    words += ["--net"] if namespace is None else []
    words += ["--time", f"--monotonic={clock}", f"--boottime={clock}"] if clock is not None else []
    boot = f"00000000-0000-4000-8000-{zlib.crc32(name.encode()):012x}" if clock is not None else ""
    return [*words, "sh", str(INIT), name, str(home), boot, *more]


def _prepare(folder: Path, name: str, options: str) -> Path:
    home = folder / name
    home.mkdir()
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / "host_key")
    (home / "authorized_keys").write_text((folder / "key.pub").read_text())
    (home / "sshd_config").write_text(SSHD + options)
    return home


@contextmanager
def _process(words: list[str], sign: str | None = None) -> Iterator[int]:
    """A process that ends with its standard input; the number of the last one it started, or its own."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pid = process.pid
        try:
            if sign:
                assert process.stdout.readline().strip() == sign, words
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                pid = int(children[-1])
            else:
                _until_apart(pid)
            yield pid
        finally:
            process.stdin.close()
            process.wait(10)


def _until_apart(pid: int) -> None:
    """Wait until a process has a network of its own."""
    while Path(f"/proc/{pid}/ns/net").readlink() == Path("/proc/self/ns/net").readlink():
        time.sleep(0.005)


def _lay(number: int, near: int, far: int) -> str:
    """Lay the management link to a host; its address there."""
    there = f"198.18.{number}.2"
    pair = ["type", "veth", "peer", "name", "mgmt", "netns", str(far)]
    run("ip", "link", "add", f"mgmt{number}", *pair, inside=near)
    for pid, device, address in ((near, f"mgmt{number}", f"198.18.{number}.1"), (far, "mgmt", there)):
        run("ip", "link", "set", "lo", "up", inside=pid)
        run("ip", "address", "add", f"{address}/30", "dev", device, inside=pid)
        run("ip", "link", "set", device, "up", inside=pid)
    return there


def _listens(host: Host) -> None:
    deadline = time.monotonic() + 10
    log = host.folder / "log"
    while not log.is_file() or "Server listening" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text() if log.is_file() else "no log"
        time.sleep(0.01)


def _configure(folder: Path, laid: Hosts, jump: Mapping[str, str]) -> None:
    known, config = "", ""
    for host in laid.values():
        known += f"{host.address} {(host.folder / 'host_key.pub').read_text()}"
        config += f"Host {host.name}\n    HostName {host.address}\n"
        config += f"    ProxyJump {jump[host.name]}\n" if host.name in jump else ""
    (folder / "known_hosts").write_text(known)
    laid.config.write_text(config + CLIENT.format(folder=folder))


@contextmanager
def _environment(folder: Path, laid: Hosts) -> Iterator[None]:
    """Let `ssh` mean: the client, from the office's network; and give it the configuration."""
    wrapper = folder / "bin/ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec nsenter --net=/proc/{laid.office}/ns/net /usr/bin/ssh "$@"\n')
    wrapper.chmod(0o755)
    before = {name: os.environ.get(name) for name in ("PATH", "RUSHHOUR_SSH_CONFIG")}
    os.environ["PATH"] = f"{wrapper.parent}:{os.environ['PATH']}"
    os.environ["RUSHHOUR_SSH_CONFIG"] = str(laid.config)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
