"""A program of crates from crates.io, for tests: built once for each content, in the user's cache.

`tests/lab/quic` is its source, with the lock file that says which versions; to compile it takes a minute.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from rushhour.files import rooms
from rushhour.files.cache import folder

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tests/lab/quic"
NAME = "quic"
CARGO = ROOT / "scripts/cargo"


class NoProgramError(Exception):
    """It cannot be built: cargo's last words."""


@cache
def quic() -> Path:
    """The program's path; compiled if nobody has yet.

    Raises:
        NoProgramError: there is no cargo, or it does not get the crates, or cannot compile them.
    """
    place = folder("test-programs", f"{NAME}-{_identity()}")
    program = place / NAME
    if program.is_file():
        return program
    with rooms.room(place.parent) as room:
        target, new = room / "target", room / "new"
        _run("build", "-q", "--release", "--locked", CARGO_TARGET_DIR=str(target))
        new.mkdir()
        next(target.rglob(f"release/{NAME}")).rename(new / NAME)
        rooms.take_place(new, place)
    return program


def _identity() -> str:
    """What goes into it: source, versions, compiler."""
    digest = hashlib.sha256(_run("-vV", RUN="rustc").encode())
    for file in ("Cargo.toml", "Cargo.lock", "src/main.rs"):
        digest.update((SOURCE / file).read_bytes())
    return digest.hexdigest()[:16]


def _run(*words: str, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_BUILD")}
    done = subprocess.run(
        [CARGO, *words], capture_output=True, text=True, check=False, cwd=SOURCE, env=env | environment
    )
    if done.returncode:
        raise NoProgramError(f"cargo {words[0]} of {SOURCE.name}: {done.stderr[-2000:].strip()}")
    return done.stdout
