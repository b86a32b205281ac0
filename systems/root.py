"""Bare roots: made by debootstrap, kept outside the clone, entered by namespaces of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.lab.kernel import archive, store
from rushhour.lab.kernel.mirror import mirror

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEBIAN, UBUNTU = "http://deb.debian.org", "http://archive.ubuntu.com"
# A number that nobody outside has.
USER, UID = "tester", 54321
# What this machine believes and by which ways it reaches the network is what the roots do.
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_INSIDE = "/etc/outside.crt"


class NotTriedError(RushHourError):
    """A system that could not be had here: its archive is out of reach."""


class FailedError(RushHourError):
    """A command failed in a root; the message has its last words."""


@dataclass(frozen=True)
class System:
    """A system to try: its name, its suite, the archive that has it."""

    name: str
    suite: str
    archive: str

    @property
    def sources(self) -> str:
        """The sources of packages that an installation of it has."""
        if self.archive == UBUNTU:
            suites = (self.suite, f"{self.suite}-updates", f"{self.suite}-security")
            return "".join(f"deb {UBUNTU}/ubuntu {suite} main universe\n" for suite in suites)
        main = f"deb {DEBIAN}/debian {self.suite} main\n"
        if self.suite == "testing":
            return main
        return main + (
            f"deb {DEBIAN}/debian {self.suite}-updates main\n"
            f"deb {DEBIAN}/debian-security {self.suite}-security main\n"
        )

    def place(self, *parts: str) -> Path:
        """A path in the cache of this system; its folder is there."""
        return store.cache("systems", self.name, *parts)


SYSTEMS = (
    System("debian-12", "bookworm", DEBIAN),
    System("debian-13", "trixie", DEBIAN),
    System("ubuntu-24.04", "noble", UBUNTU),
    System("ubuntu-26.04", "resolute", UBUNTU),
)


class Root:
    """A root folder that commands run in. `shared` are folders outside and where they appear inside."""

    def __init__(self, folder: Path, shared: Sequence[tuple[Path, str]]) -> None:
        self.folder = folder
        self._shared = [*shared]

    def run(self, *command: str, user: str = USER, cwd: str = "", fails: bool = False) -> str:
        """The output of a command; its directory is the user's home, or `cwd`.

        Raises:
            FailedError: it failed, or with `fails` did not.
        """
        words = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd, *command] if cwd else command
        enter = Path(__file__).with_name("enter")
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", enter, self.folder, user, *words],
            env=self._environment(user),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if bool(done.returncode) != fails:
            last = "\n".join(f"    {line}" for line in done.stdout.splitlines()[-25:])
            raise FailedError(f"{' '.join(command)}: exit {done.returncode}\n{last}")
        return done.stdout

    def _environment(self, user: str) -> dict[str, str]:
        binds = "\n".join(f"{outside} {inside}" for outside, inside in self._shared if outside.exists())
        found = {name: os.environ[name] for name in _PROXIES if name in os.environ}
        trusted = dict.fromkeys(("SSL_CERT_FILE", "PIP_CERT", "CARGO_HTTP_CAINFO"), _INSIDE)
        home = "/root" if user == "root" else f"/home/{user}"
        path = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home}
        return found | trusted | path | {"BINDS": binds, "LANG": "C.UTF-8", "USER": user, "TERM": "dumb"}


@contextmanager
def bare(system: System, shared: Sequence[tuple[Path, str]] = ()) -> Iterator[Root]:
    """A root as the system's smallest installation is, with an ordinary user; gone afterwards.

    Packages that were installed before come from the cache.

    Raises:
        NotTriedError: it cannot be made here.
    """
    base = _base(system)
    packages = system.place("debs", "any").parent
    folder = Path(tempfile.mkdtemp(prefix="root-", dir=system.place()))
    try:
        subprocess.run(["cp", "-a", "--reflink=auto", f"{base}/.", folder], check=True)
        folder.chmod(0o755)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        shutil.copy(CERTIFICATES, folder / _INSIDE.lstrip("/"))
        (folder / "etc/apt/sources.list").write_text(system.sources)
        keep = 'Binary::apt::APT::Keep-Downloaded-Packages "1";\nAPT::Keep-Downloaded-Packages "1";\n'
        (folder / "etc/apt/apt.conf.d/99keep").write_text(keep)
        root = Root(folder, [(packages, "/var/cache/apt/archives"), *shared])
        root.run("useradd", "--create-home", "--uid", str(UID), "--shell", "/bin/bash", USER, user="root")
        yield root
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)


def _base(system: System) -> Path:
    """The bare installation that roots are copies of."""
    base = system.place("base")
    if not base.is_dir():
        with store.scratch(base) as room:
            log = system.place("debootstrap.log")
            words = ["debootstrap", "--variant=minbase", "--arch=amd64", *_key(system)]
            url = f"{system.archive}/{'ubuntu' if system.archive == UBUNTU else 'debian'}"
            words += [system.suite, str(room / "root"), url, _script(system)]
            with log.open("w") as file:
                done = subprocess.run(words, stdout=file, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it says nothing"]
                raise NotTriedError(f"debootstrap: {last[0]}", hint=f"its words are in {log}")
            (room / "root").rename(base)
    return base


def _script(system: System) -> str:
    # Those that all releases of each share; an older debootstrap does not know the newer names.
    return "gutsy" if system.archive == UBUNTU else "sid"


def _key(system: System) -> list[str]:
    """The keyring that says whose packages these are: Ubuntu's comes from Debian, which signs it."""
    if system.archive == DEBIAN:
        from rushhour.lab.kernel import keys  # noqa: PLC0415

        return [f"--keyring={keys.keyring()}"]
    kept = store.cache("systems", "ubuntu-archive-keyring.gpg")
    if not kept.is_file():
        try:
            newest = archive.find("ubuntu-keyring", mirror("https"), lambda _text: None)[0]
            with store.scratch(kept) as room:
                files = archive.download(newest, room)
                (files / "usr/share/keyrings/ubuntu-archive-keyring.gpg").rename(kept)
        except (RushHourError, IndexError) as error:
            raise NotTriedError(f"Ubuntu's keyring cannot be had: {error}") from error
    return [f"--keyring={kept}"]
