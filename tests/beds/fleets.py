"""Fleets for tests: hosts that reach each other through the office, and `rushhour fleet` started there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beds import sshd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from beds.sshd import Hosts

OFFICE = "198.18.1.1"
"""The office's address that every host reaches."""
ROOT = Path(__file__).parents[2]


@dataclass
class Office:
    """Where commands are given: in the network of the office, with folders of their own."""

    hosts: Hosts
    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "config/rushhour/fleet"

    @property
    def cache(self) -> Path:
        return self.folder / "cache/rushhour/fleet"

    def words(self, *words: str) -> list[str]:
        return ["nsenter", f"--net=/proc/{self.hosts.office}/ns/net", "--", sys.executable, *words]

    def environment(self) -> dict[str, str]:
        ours = {
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}",
            "COLUMNS": "80",
        }
        return os.environ | ours

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Begin a command of `rushhour fleet`."""
        return subprocess.Popen(
            self.words("-m", "rushhour", "fleet", *words), env=self.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def fleet(self, *words: str, code: int = 0) -> str:
        """Give a command of `rushhour fleet`; what it said on both streams."""
        with self.begin(*words) as command:
            said, complaints = command.communicate(timeout=180)
        assert command.returncode == code, f"{words}: {command.returncode}\n{said}{complaints}"
        return said + complaints

    def status(self, code: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.fleet("status", "--json", code=code))
        return found

    def python(self, text: str, *words: str) -> str:
        """Run a program in the office's network; what it printed."""
        done = subprocess.run(
            self.words("-c", text, *words), env=self.environment(), capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def inventory(self, **hosts: Mapping[str, str | int] | None) -> str:
        """A file with these hosts; each has our Python unless it says another."""
        text = ""
        for name, more in hosts.items():
            about = {"at": name, "python": sys.executable, "cpus": 1} | dict(more or {})
            lines = [f"{key} = {json.dumps(value)}\n" for key, value in about.items() if value != ""]
            text += f"[host.{name}]\n{''.join(lines)}"
        path = self.folder / "hosts.toml"
        path.write_text(text)
        return str(path)

    def leftovers(self, patience_s: float = 10) -> list[str]:
        """Processes and files of a fleet that are anywhere after a while, but for caches."""
        deadline = time.monotonic() + patience_s
        while found := [*self._at_hosts(), *self._here()]:
            if time.monotonic() > deadline:
                return found
            time.sleep(0.1)
        return []

    def _at_hosts(self) -> list[str]:
        found: list[str] = []
        for host in self.hosts.values():
            found += host.processes().values()
            kept = ("root/.cache/rushhour", "root/.cache/rushhour/fleet/cache/")
            found += [path for path in host.files() if path != kept[0] and not path.startswith(kept[1])]
        return found

    def _here(self) -> list[str]:
        found = [str(path) for path in [*self.config.rglob("*"), *(self.cache / "run").rglob("*")]]
        return found + [line for _, line in sorted(marked(self.folder).items())]


def marked(folder: Path) -> dict[int, str]:
    """The processes of fleets on this machine, not at hosts, whose cache is below a folder: their lines."""
    found = {}
    own = Path("/proc/self/ns/pid").readlink()
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or (entry / "ns/pid").readlink() != own:
                continue
            settings = (entry / "environ").read_bytes()
            if b"RUSHHOUR_FLEET=" in settings and f"XDG_CACHE_HOME={folder}/".encode() in settings:
                found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


@contextmanager
def office(folder: Path, *names: str) -> Iterator[Office]:
    """Hosts with an office that forwards between them."""
    with sshd.hosts(folder, names, kept=[Path(sys.base_prefix), ROOT]) as hosts:
        sshd.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward", inside=hosts.office)
        for number, host in enumerate(hosts.values(), 1):
            sshd.run("ip", "route", "add", "default", "via", f"198.18.{number}.1", inside=host.pid)
        (folder / "office").mkdir()
        yield Office(hosts, folder / "office")
