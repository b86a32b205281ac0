"""A copy of the program's tree to which something is added, and how many of its files that took."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "_agent", "target")


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
        files = (path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        places = [path.relative_to(self.root) for path in files]
        return sorted(
            str(place)
            for place in places
            if not (ROOT / place).is_file() or (ROOT / place).read_bytes() != (self.root / place).read_bytes()
        )

    def python(self, program: str) -> str:
        """What a program says that imports this copy."""
        return self._run(sys.executable, "-c", program)

    def rushhour(self, *words: str) -> str:
        """What a command of this copy says."""
        return self._run(sys.executable, "-m", "rushhour", *words)

    def cargo(self, *words: str) -> str:
        """What cargo says of this copy's agent; the crates that it needs are built once for all copies."""
        agent, shared = self.root / "agent", {"CARGO_TARGET_DIR": str(ROOT / "agent/target/copies")}
        # All copies are one to cargo, and it takes files by their times.
        self._run("../scripts/cargo", "clean", "-q", "-p", "rushhour-agent", folder=agent, **shared)
        return self._run("../scripts/cargo", *words, folder=agent, **shared)

    def _run(self, *command: str, folder: Path | None = None, **more: str) -> str:
        told = os.environ | {"PYTHONPATH": str(self.root / "src"), "COLUMNS": "100"} | more
        done = subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
