"""A wheel of this installation: what runs here, agent and all, for hosts where nothing is.

It is made of the files that are imported here, so that a fleet has the program of whoever started it, from a
checkout as from a wheel. The same files give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import platform
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rushhour.errors import LabError
from rushhour.lab import agent

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRA = "fleet"
_TAG = "py3-none-linux_{machine}"
_DATE = (1980, 1, 1, 0, 0, 0)


def make() -> tuple[str, bytes]:
    """The wheel's file name and bytes.

    Raises:
        LabError: there is no agent here.
    """
    about = metadata.distribution("rushhour")
    machine = platform.machine()
    info = f"rushhour-{about.version}.dist-info"
    tag = _TAG.format(machine=machine)
    files = dict(_package(machine))
    files[f"{info}/METADATA"] = (about.read_text("METADATA") or "").encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: rushhour fleet\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    files[f"{info}/entry_points.txt"] = (about.read_text("entry_points.txt") or "").encode()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD").encode()
    return f"rushhour-{about.version}-{tag}.whl", _zipped(files)


def constraints() -> str:
    """The versions that are installed here of all that a member of a fleet needs, as pip takes them."""
    found: dict[str, str] = {}
    waiting = [("rushhour", frozenset({EXTRA}))]
    seen = set()
    while waiting:
        name, extras = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for text in metadata.distribution(name).requires or []:
            need = Requirement(text)
            if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
                continue
            try:
                found[canonicalize_name(need.name)] = metadata.version(need.name)
            except metadata.PackageNotFoundError:
                continue
            waiting.append((need.name, frozenset(need.extras)))
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items()))


def fetch(folder: Path, python: str | None = None) -> int:
    """Download what hosts need from the package index into a folder; how many wheels it then has.

    Args:
        folder: Made if it is not there.
        python: The hosts' version of Python, as in `3.12`; by default that which runs here.

    Raises:
        LabError: pip refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q", "--no-deps"]
    words += ["--only-binary", ":all:", "--dest", str(folder)]
    words += ["--python-version", python] if python else []
    done = subprocess.run(
        [*words, *constraints().split()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [
            done.stderr.strip()
        ]
        hint = "is there a way to a package index, and has it wheels for that Python?"
        raise LabError(f"the wheels cannot be downloaded: {said[-1]}", where=str(folder), hint=hint)
    return len([*folder.glob("*.whl")])


def _package(machine: str) -> Iterator[tuple[str, bytes]]:
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if path.is_file() and "__pycache__" not in inside.parts and inside.parts[0] != "_agent":
            yield f"rushhour/{inside.as_posix()}", path.read_bytes()
    yield f"rushhour/_agent/{machine}/rushhour-agent", agent.find().binary.read_bytes()


def _record(files: dict[str, bytes], own: str) -> str:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f'"{name}",sha256={digest},{len(data)}\n')
    return "".join([*lines, f"{own},,\n"])


def _zipped(files: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith("rushhour-agent") else 0o644) << 16
            archive.writestr(entry, data)
    return sink.getvalue()
