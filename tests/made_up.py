"""A copy of the program's tree to which something is added, and how many of its files that took."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What Python compiled goes along: it is of the same text and time.
_LEFT_OUT = shutil.ignore_patterns("_agent", "target")
# What the agent is built from, and where all copies of it stand. They are built where the agent is, so that
# cargo finds the crates that it has compiled for the agent's own tests. It tells packages apart by name and
# version, not by their path: copies have a version of their own, or each would take the other's build script
# for its own.
_AGENT = ("agent", "scripts", "src/rushhour/tc", "src/rushhour/traffic")
_TARGET = ROOT / "agent/target"
_TREE = _TARGET / "copies/tree"
_VERSIONED = (Path("Cargo.toml"), Path("Cargo.lock"))
_OURS = re.compile(rb'(name = "rushhour-agent"\nversion = "[^"+]+)"')


@dataclass
class Copy:
    """The sources of both languages in a folder of their own."""

    root: Path

    @classmethod
    def make(cls, folder: Path) -> Copy:
        """Copy what the package and the agent are made from."""
        for name in ("src", "agent", "scripts"):
            shutil.copytree(ROOT / name, folder / name, ignore=_LEFT_OUT)
        return cls(folder)

    def write(self, place: str, text: str) -> None:
        """Add a file that was not there."""
        assert not (self.root / place).exists()
        (self.root / place).write_text(text, "utf-8")

    def add(self, place: str, mark: str, text: str) -> None:
        """Add text before a mark, which a file has once."""
        old = (self.root / place).read_text("utf-8")
        assert old.count(mark) == 1, f"{place} has {mark!r} {old.count(mark)} times"
        (self.root / place).write_text(old.replace(mark, text + mark), "utf-8")

    def touched(self) -> list[str]:
        """The files that differ from the program's."""
        return sorted(
            str(place)
            for place in _files(self.root)
            if not (ROOT / place).is_file() or (ROOT / place).read_bytes() != (self.root / place).read_bytes()
        )

    def python(self, program: str) -> str:
        """What a program says that imports this copy."""
        return self._run(sys.executable, "-c", program)

    def rushhour(self, *words: str) -> str:
        """What a command of this copy says."""
        return self._run(sys.executable, "-m", "rushhour", *words)

    def cargo(self, *words: str) -> str:
        """What cargo says of this copy's agent, which it builds where it built the last one.

        There only what differs is written, so that only that is built again. Cargo starts in the agent's own
        folder: in the copy's, which is below, it would join the flags of both, and compile all crates again.
        """
        for name in _AGENT:
            _mirror(self.root / name, _TREE / name)
        command, *others = words
        copy = ("--manifest-path", str(_TREE / "agent/Cargo.toml"), "--target-dir", str(_TARGET))
        return self._run("../scripts/cargo", command, *copy, *others, folder=ROOT / "agent")

    def _run(self, *command: str, folder: Path | None = None, **more: str) -> str:
        told = os.environ | {"PYTHONPATH": str(self.root / "src"), "COLUMNS": "100"} | more
        done = subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _files(folder: Path) -> dict[Path, Path]:
    """Every file below a folder by its place in it."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder): path for path in files}


def _mirror(folder: Path, other: Path) -> None:
    """Give another folder the same files; what it has already keeps its time."""
    ours, theirs = _files(folder), _files(other)
    for place in theirs.keys() - ours.keys():
        theirs[place].unlink()
    for place, path in ours.items():
        text = path.read_bytes()
        if place in _VERSIONED:
            text = _OURS.sub(rb'\1+copy"', text)
        if place not in theirs or theirs[place].read_bytes() != text:
            (other / place).parent.mkdir(parents=True, exist_ok=True)
            (other / place).write_bytes(text)
            shutil.copymode(path, other / place)
