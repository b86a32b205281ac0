"""What is tried in each system, as people would do it there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.ci import IMAGES, NEEDS
from rushhour.lab import packages
from rushhour.lab.kernel import store

from .root import DEBIAN, UID, USER, FailedError, Root, System, bare

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

CLONE = Path(__file__).parents[1]
HOME = f"/home/{USER}"
SCENARIO = "tomasov/window-scaling"
# Systems and the job files that are made for them.
_JOBS = {"ubuntu-24.04": "github", "debian-13": "gitlab"}


# Programs that the tests without a ring of their own use.
_TOOLS = (
    "git",
    "gpg",
    "gpgv",
    "dash",
    "ip",
    "iperf3",
    "ethtool",
    "nft",
    "ssh",
    "stress-ng",
    "sysctl",
    "prove",
)
_PURE = "not (virtual or replay or browser or database or host)"


def steps(system: System, *, tests: bool = False) -> Generator[tuple[str, Callable[[], str]]]:
    """Each step's name, and what does it and says what came out; in one root, which ends with the last."""
    with bare(system, _shared(system)) as root:
        _copy(root, USER)
        trial = Trial(system, root)
        yield "an ordinary user is told the command", trial.told
        yield "the command installs", trial.installs
        yield "the packages of CI jobs are there", trial.job
        yield "the first plot", trial.plot
        yield "without user namespaces", trial.without_namespaces
        yield "doctor", trial.doctor
        if tests:
            yield "the tests of its Python", trial.tests
            yield "the agent for ARM", trial.arm
        yield "root's set-up installs by itself", lambda: _as_root(system, root)
    if wheels():
        with bare(system, _shared(system)[:1]) as root:
            yield "the wheel, without compiler and root", lambda: _wheel(root)


def wheels() -> list[Path]:
    """The wheels of this clone, where somebody made them."""
    return sorted((CLONE / "dist").glob("*.whl"))


class Trial:
    """The steps that go on in one root."""

    def __init__(self, system: System, root: Root) -> None:
        self.system, self.root = system, root
        self.command = ""

    def told(self) -> str:
        """Set-up as an ordinary user prints one command and changes nothing."""
        said = self.root.run("scripts/setup", cwd=f"{HOME}/rushhour", fails=True)
        found = re.findall(r"^ {4}(.+)$", said, re.MULTILINE)
        if len(found) != 1 or "linux-source" in said or "as root" not in said:
            raise FailedError(f"not one command for root:\n{said}")
        self.command = found[0]
        return self.command.rpartition("recommends ")[2]

    def installs(self) -> str:
        """What was printed works as it was printed."""
        self.root.run("sh", "-c", f"export DEBIAN_FRONTEND=noninteractive; {self.command}", user="root")
        return self.root.run("sh", "-c", "gcc --version | head -1; python3 --version").replace("\n", ", ")

    def job(self) -> str:
        """What `rushhour ci` installs on this system can be installed."""
        system = _JOBS.get(self.system.name)
        if system is None:
            return "no job is made for this system"
        command = IMAGES[system][1].command(*NEEDS, "rust", unasked=True)
        self.root.run("sh", "-c", f"{command} --simulate", user="root")
        return f"rushhour ci {system}"

    def plot(self) -> str:
        """An ordinary user's first report, with nobody's help."""
        self.root.run("make", "quickstart", cwd=f"{HOME}/rushhour")
        (report,) = self.root.folder.glob(f"home/{USER}/rushhour/results/*/latest/report.html")
        return f"{report.stat().st_size / 1e6:.1f} MB of report"

    def without_namespaces(self) -> str:
        """Where an administrator (or AppArmor) forbids user namespaces it runs, with a warning."""
        # In a user namespace of its own, which it may not leave for another.
        script = (
            "echo 0 >/proc/sys/user/max_user_namespaces && "
            "exec setpriv --inh-caps=-all --ambient-caps=-all "
            f"rushhour/.venv/bin/rushhour run {SCENARIO} --quick --fresh --out restricted"
        )
        said = self.root.run("unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", script)
        if "no namespaces of its own" not in said:
            raise FailedError(f"no warning:\n{said}")
        return "a warning, and the same plot"

    def doctor(self) -> str:
        """Doctor finds the lab ready that just ran, and says how root's is had."""
        said = self.root.run("rushhour/.venv/bin/rushhour", "doctor")
        if "ok   lab uml   ready" not in said or "--lab netns" not in said:
            raise FailedError(f"not as it should be:\n{said}")
        return "lab uml ready"

    def arm(self) -> str:
        """The agent is compiled for 64-bit ARM with this system's packages, and starts by an emulator."""
        if self.system.archive != DEBIAN:
            return "not tried: Ubuntu keeps its packages for ARM on another server"
        self._add("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
        self.root.run("scripts/agent-aarch64", cwd=f"{HOME}/rushhour")
        agent = "agent/target/aarch64-unknown-linux-gnu/release/rushhour-agent"
        version = self.root.run("qemu-aarch64-static", agent, "--version", cwd=f"{HOME}/rushhour")
        return f"rushhour-agent {version.strip()} by qemu"

    def _add(self, *needs: str) -> None:
        here = packages.described((self.root.folder / "etc/os-release").read_text())
        add = here.command(*needs, unasked=True)
        self.root.run("sh", "-c", f"export DEBIAN_FRONTEND=noninteractive; {add}", user="root")

    def tests(self) -> str:
        """The ring of tests that needs nothing, with the Python that this system has."""
        clone = f"{HOME}/rushhour"
        self._add(*_TOOLS)
        if (CLONE / "requirements-test.lock").is_file():
            pip = [".venv/bin/pip", "install", "-q", "--no-deps", "--require-hashes"]
            self.root.run(*pip, "-r", "requirements-test.lock", cwd=clone)
        said = self.root.run(".venv/bin/python", "-m", "pytest", "-q", "-m", _PURE, cwd=clone)
        version = self.root.run(".venv/bin/python", "--version", cwd=clone).strip()
        return f"{version}: {said.strip().splitlines()[-1]}"


def _as_root(system: System, before: Root) -> str:
    """In another bare root, root's own set-up; the agent comes from the one before, built there."""
    with bare(system, _shared(system)) as root:
        _copy(root, "root")
        # At the same path: cargo builds anew what lies elsewhere.
        target = f"home/{USER}/rushhour/agent/target"
        subprocess.run(["cp", "-a", before.folder / target, root.folder / target], check=True)
        said = root.run("scripts/setup", user="root", cwd=f"{HOME}/rushhour")
        root.run(f"{HOME}/rushhour/.venv/bin/rushhour", "list", user="root")
        return said.splitlines()[0]


def _wheel(root: Root) -> str:
    """A Python environment, the wheels, a plot: no compiler, no root after the system's own Python."""
    packages_ = packages.described((root.folder / "etc/os-release").read_text()).names("python", "tc")
    command = f"apt-get update -qq && apt-get install -y --no-install-recommends {' '.join(packages_)}"
    root.run("sh", "-c", command, user="root")
    place = root.folder / f"home/{USER}/dist"
    place.mkdir()
    for wheel in wheels():
        shutil.copy(wheel, place)
    root.run("python3", "-m", "venv", "env")
    root.run("sh", "-c", "env/bin/pip install -q dist/*.whl")
    root.run("env/bin/rushhour", "run", SCENARIO, "--out", "plot")
    return f"{', '.join(wheel.name for wheel in wheels())}"


def _shared(system: System) -> list[tuple[Path, str]]:
    """What a second call does not fetch or build again: of pip, of cargo, built kernels."""
    common = [(store.cache("systems", "pip", "any").parent, f"{HOME}/.cache/pip")]
    common += [(store.cache("systems", "cargo", "any").parent, f"{HOME}/.cargo")]
    common += [(system.place("kernels", "any").parent, f"{HOME}/.cache/rushhour")]
    for folder, _ in common:
        os.chown(folder, UID, UID)
    return common


def _copy(root: Root, user: str) -> None:
    """The clone as it is here, without what is built or ignored, as a folder of the user's."""
    target = root.folder / f"home/{USER}/rushhour"
    target.mkdir()
    listed = ["git", "-C", str(CLONE), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, capture_output=True, check=True).stdout
    there = b"\0".join(name for name in names.split(b"\0") if name and (CLONE / os.fsdecode(name)).exists())
    pack = ["tar", "-C", str(CLONE), "--null", "--files-from=-", "-cf", "-"]
    packed = subprocess.run(pack, input=there, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-C", str(target), "-xf", "-", "--no-same-owner"], input=packed, check=True)
    if user != "root":
        subprocess.run(["chown", "-R", f"{UID}:{UID}", target], check=True)
