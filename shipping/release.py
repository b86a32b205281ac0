"""A release: everything that is given out, in one folder, with checksums."""

from __future__ import annotations

import shutil
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

import rushhour
from rushhour.errors import RushHourError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import sources, store
from shipping.bill import bill
from shipping.build import ROOT, build
from shipping.kernels import pack
from shipping.texts import filled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rushhour.lab.kernel import Kernel

    Tell = Callable[[str], None]

SUMS = "SHA256SUMS"
# What earlier calls left: it would be taken for a part of this release.
_OURS = ("rushhour-*", "rushhour_kernel_*.whl", "kernels.lock", "requirements.lock", "INSTALL.md", SUMS)


def wheels(
    specs: Sequence[str], out: Path, contact: str, tell: Tell, *, from_nothing: bool = False
) -> tuple[list[Path], list[Kernel]]:
    """Make the wheel of Rush Hour, and one for each kernel, in an emptied folder.

    Args:
        specs: The kernels' sources, as of `rushhour kernel build`.
        out: The folder; what does not look like a part of a release is left alone.
        contact: Who gives out the kernels' sources: `NAME <ADDRESS>`.
        tell: Told what goes on.
        from_nothing: Compile kernels anew that are there already.

    Raises:
        RushHourError: something could not be built.
    """
    out.mkdir(parents=True, exist_ok=True)
    for path in (path for pattern in _OURS for path in out.glob(pattern)):
        path.unlink()
    tell("building the wheel of rushhour, with the agent in it")
    made = [build(ROOT, out)]
    built = [whole(spec, tell, from_nothing=from_nothing) for spec in specs]
    for kernel in built:
        tell(f"packing Linux {kernel.release}")
        made.append(pack(kernel, _source(kernel.origin()["source"], tell), out, contact))
    return made, built


def whole(spec: str, tell: Tell, *, from_nothing: bool = False) -> Kernel:
    """A kernel that was compiled from nothing, now if it was not (or is to be): its log tells all of it."""

    def told(step: kernels.Step) -> None:
        if not step.done:
            tell(f"{spec}: {step.text}")

    kernel = kernels.build(spec, progress=told, from_nothing=from_nothing)
    if kernel.origin().get("from_nothing"):
        return kernel
    return kernels.build(spec, progress=told, from_nothing=True)


def _source(spec: str, tell: Tell) -> Path:
    found = sources.resolve(spec, tell)
    with store.lock(found.key, lambda: tell("waiting: another process builds this tree")):
        return found.directory()


def release(specs: Sequence[str], out: Path, contact: str, tell: Tell) -> None:
    """Make everything of a release, in an emptied folder.

    Args:
        specs: As of `wheels`.
        out: As of `wheels`.
        contact: As of `wheels`.
        tell: As of `wheels`.

    Raises:
        RushHourError: something could not be built.
    """
    made, built = wheels(specs, out, contact, tell)
    tell("packing the source")
    build(ROOT, out, "sdist")
    shutil.copyfile(ROOT / "requirements.lock", out / "requirements.lock")
    (out / "INSTALL.md").write_text(filled("install", version=rushhour.__version__) + "\n")
    (out / "kernels.lock").write_text(lock(made[1:]), encoding="utf-8")
    tell("writing the bill of materials and the checksums")
    name = f"rushhour-{rushhour.__version__}.cdx.json"
    (out / name).write_text(bill(made, built), encoding="utf-8")
    sums(out)


def lock(wheels: Sequence[Path]) -> str:
    """The kernels' wheels as `kernels.lock` has them: by name, version and hash."""
    lines = []
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        plain = name.replace("rushhour_kernel_", "rushhour-kernel-").replace("_", ".")
        lines.append(f"{plain}=={version} \\\n    --hash=sha256:{sha256(wheel.read_bytes()).hexdigest()}\n")
    return "".join(lines)


def sums(out: Path) -> None:
    """Write the checksums of every file in a folder, for `sha256sum -c`."""
    paths = sorted(path for path in out.iterdir() if path.is_file() and path.name != SUMS)
    lines = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths]
    (out / SUMS).write_text("".join(lines), encoding="utf-8")


def wheelhouse(folder: Path, python: str | None = None) -> None:
    """Download the wheels of all that running needs, checked against the lock, and of pip; none twice.

    Args:
        folder: Where they go; what is of another lock is removed.
        python: For which Python (`3.12`); for this one if not said.

    Raises:
        RushHourError: they could not be downloaded.
    """
    python = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    text = f"# Python {python}\n{(ROOT / 'requirements.lock').read_text()}"
    stamp = folder / "requirements.lock"
    if stamp.is_file() and stamp.read_text() == text:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.whl"):
        path.unlink()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q", "--no-deps"]
    more = ["--only-binary", ":all:", "--python-version", python, "-d", str(folder)]
    for words in (["--require-hashes", "-r", str(ROOT / "requirements.lock")], ["pip"]):
        if subprocess.run([*pip, *more, *words], check=False).returncode:
            raise RushHourError("the packages could not be downloaded; see above", where=str(folder))
    stamp.write_text(text)
