"""From a release alone: installed without an index, and the first plot drawn without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rushhour
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store
from rushhour.record.result_set import ResultSet
from shipping import release
from shipping.build import ROOT, build
from shipping.kernels import LICENCES, pack

if TYPE_CHECKING:
    from collections.abc import Iterator

# A user that no machine has; it owns nothing.
NOBODY = 61234
KERNEL = "debian-6.12"
PYTHONS = (getattr(sys, "_base_executable", sys.executable), "/usr/bin/python3", "/usr/local/bin/python3")


def _apart() -> list[str]:
    """A command before others that takes their network away, if this machine lets it."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    command = ["unshare", "--net", *user]
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return [] if done.returncode else command


class Guest:
    """A user on this machine with an empty home and a network that leads nowhere."""

    def __init__(self, home: Path, uid: int | None) -> None:
        self.home, self.uid, self._apart = home, uid, _apart()
        home.mkdir(parents=True)
        if uid is not None:
            os.chown(home, uid, uid)

    def command(self, *words: object) -> list[str]:
        uid = self.uid
        become = [] if uid is None else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        return [*self._apart, *become, *map(str, words)]

    def run(self, *words: object) -> str:
        clean = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "COLUMNS": "100"}
        done = subprocess.run(
            self.command(*words), cwd=self.home, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def can(self, *words: object) -> bool:
        return subprocess.run(self.command(*words), capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that others may read: pytest's own are for its user only."""
    folder = Path(tempfile.mkdtemp(prefix="rushhour-install-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def dist(place: Path) -> Path:
    """A release with the kernel that is used here."""
    out, tree = place / "dist", place / "tree"
    for name in LICENCES:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{name}\n")
    build(ROOT, out)
    pack(kernels.find(KERNEL), tree, out)
    shutil.copy(ROOT / "requirements.lock", out)
    release.sums(out)
    return out


def wheelhouse(place: Path, python: str) -> Path:
    """The packages that running needs: downloaded once, kept in the cache, copied to where all may read."""
    asked = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    kept, copy = store.cache(f"wheelhouse-{version}"), place / f"wheelhouse-{version}"
    release.wheelhouse(kept, version)
    if not copy.is_dir():
        shutil.copytree(kept, copy)
    return copy


def installed(guest: Guest, python: str, packages: Path, *installs: list[object]) -> Path:
    """A new environment of the guest's with what these words of pip install."""
    venv = guest.home / "rushhour"
    guest.run(python, "-m", "venv", "--without-pip", venv)
    (pip,) = packages.glob("pip-*.whl")
    for words in installs:
        # Python compiles what is imported; to compile all of it would take most of the time.
        guest.run(venv / "bin/python", pip / "pip", "install", "-q", "--no-index", "--no-compile", *words)
    return venv / "bin/rushhour"


def first_plot(guest: Guest, program: Path) -> None:
    assert json.loads(guest.run(program, "kernel", "list", "--json"))[0]["package"] is not None
    said = guest.run(program, "run", "tomasov/window-scaling", "--quick", "--out", "out")
    assert "goodput" in said.lower()
    out = guest.home / "out"
    assert (out / "index.parquet").is_file()
    assert "<html" in (out / "report.html").read_text()[:2000]
    for form in ("png", "csv", "parquet"):
        guest.run(program, "report", "out", "--format", form)
    assert next((out / "figures").glob("*.png")).read_bytes().startswith(b"\x89PNG")
    assert {path.suffix for path in (out / "tables").iterdir()} == {".csv", ".parquet"}


def same_as_here(records: Path, here: Path) -> None:
    """The kernel of the package is the one that was built here: so are the runs, to the byte."""
    runs = [
        ResultSet.open(records),
        rushhour.run("tomasov/window-scaling", quick=True, fresh=True, out=here, kernels=[KERNEL]),
    ]
    (there, mine) = (
        [(one.key, one.manifest["kernel"], one.manifest["files"]) for one in run] for run in runs
    )
    assert there == mine


@pytest.mark.virtual
@pytest.mark.index
def test_as_this_user_by_the_lock(dist: Path, place: Path, tmp_path: Path) -> None:
    guest = Guest(place / "me", None)
    packages = wheelhouse(place, sys.executable)
    locked: list[object] = ["--require-hashes", "--no-deps", "--find-links", packages]
    program = installed(
        guest,
        PYTHONS[0],
        packages,
        [*locked, "-r", dist / "requirements.lock"],
        ["--no-deps", *sorted(dist.glob("*.whl"))],
    )
    first_plot(guest, program)
    same_as_here(guest.home / "out", tmp_path / "here")


@pytest.mark.virtual
@pytest.mark.index
@pytest.mark.host
def test_as_somebody_else_by_what_the_wheels_declare(dist: Path, place: Path) -> None:
    guest = Guest(place / "home", NOBODY)
    enough = "import sys, venv; assert sys.version_info >= (3, 11)"
    python = next((one for one in PYTHONS if guest.can(one, "-c", enough)), None)
    assert python, f"none of {', '.join(PYTHONS)} can be run by another user: apt-get install python3-venv"
    packages = wheelhouse(place, python)
    links: list[object] = ["--find-links", dist, "--find-links", packages]
    program = installed(guest, python, packages, [*links, "rushhour", "rushhour-kernel-6.12"])
    assert not list((program.parents[1] / "lib").glob("python*/site-packages/pyarrow"))
    first_plot(guest, program)
