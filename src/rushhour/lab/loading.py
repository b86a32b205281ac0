"""What programs load, by asking this machine: libraries, interpreters, the modules of a Python.

A program's shared libraries are found by the loader itself, the interpreter of a script by its first line,
and what a Python installation keeps in its folders by that Python. Nothing is laid out or identified here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.lab import packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ELF, _SCRIPT = b"\x7fELF", b"#!"
_PYTHON_NAME = re.compile(r"python[0-9.]*")
_LOCALE = Path("/usr/lib/locale/C.utf8")
# What no program needs at run time, and what would differ from one start to the next.
_LEFT_OUT = {"__pycache__", "test", "tests", "idlelib", "ensurepip", "lib2to3", "turtledemo"}
_INSTALLED = ("site-packages", "dist-packages")
_WHERE = "import sys, json; print(json.dumps([sys.executable, sys.base_prefix, *sys.path]))"
# What a processor may have beyond the first x86-64, by glibc's names; it passes over what it does not know.
_FEATURES = (
    *("AVX512F", "AVX512CD", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX512ER", "AVX512PF", "AVX2", "AVX"),
    *("FMA", "FMA4", "F16C", "BMI1", "BMI2", "LZCNT", "MOVBE", "POPCNT", "SSE4_2", "SSE4_1", "SSSE3"),
    *("ERMS", "FSRM", "RTM"),
    # As glibc before 2.33 called them.
    *("AVX512F_Usable", "AVX2_Usable", "AVX_Usable", "FMA_Usable", "FMA4_Usable"),
)
# By the sizes of caches glibc chooses how it copies, and so in which order pages are touched.
_CACHES = {
    "x86_data_cache_size": 2**15,
    "x86_shared_cache_size": 2**20,
    "x86_non_temporal_threshold": 3 * 2**18,
}
BASELINE = ":".join(
    [
        "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in _FEATURES),
        *(f"glibc.cpu.{name}={size:#x}" for name, size in _CACHES.items()),
    ]
)
# What glibc loads when a thread is cancelled, which `ldd` does not know; it lies beside libc.
_CANCELLING, _LOADED_LATE = b"pthread_cancel", "libgcc_s.so.1"
# Files of which the loader is asked at once.
_AT_ONCE = 200
# An unprivileged user's PATH often lacks these.
_SYSTEM = ("/usr/sbin", "/sbin", "/usr/local/sbin")
# `libc.so.6 => /lib/libc.so.6 (0x…)`, or the loader: `/lib64/ld-linux-x86-64.so.2 (0x…)`
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


class AbsentError(LabError):
    """Programs that a scenario, or a script, needs are not on this machine."""

    def __init__(self, *needs: str, who: str = "this scenario") -> None:
        """An error that says how to get all of them, where the machine's packages of them are known."""
        self.needs = needs
        first, last = ", ".join(needs[:-1]), needs[-1]
        told = f"{first} and {last}, and they are" if first else f"{last}, and it is"
        super().__init__(f"{who} needs {told} not on this machine", hint=how_to_get(*needs), machine=True)


def how_to_get(*needs: str) -> str:
    """One line that says how to get programs and files here: a command as far as their packages are known."""
    known = [need for need in needs if need in packages.needs()]
    paths = [need for need in needs if need.startswith("/")]
    others = [need for need in needs if need not in known and need not in paths]
    said = [packages.advice(*known)] if known else []
    if others:
        said.append(f"install what brings {', '.join(others)}")
    if paths:
        said.append(f"correct {', '.join(paths)}")
    return "; ".join(said)


def search_path() -> str:
    """Where programs are looked for."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM])


def where(name: str) -> Path | None:
    """The program of this name, also where an ordinary user's path does not lead; links not followed."""
    found = shutil.which(name, path=search_path())
    return None if found is None else Path(found)


def there(word: str) -> Path | None:
    """What a name or a whole path leads to, as it is; None where nothing is there."""
    found = Path(word) if word.startswith("/") else where(word)
    return found if found is not None and os.path.lexists(found) else None


def place(word: str) -> Path:
    """Where a program, file or folder is on this machine, links within its path not followed.

    Raises:
        AbsentError: it is not there.
    """
    found = there(word)
    if found is None:
        raise AbsentError(word)
    return _real_python(found) if _PYTHON_NAME.fullmatch(found.name) else found


def _real_python(program: Path) -> Path:
    """The interpreter that a name of Python leads to here: some systems have a script in between."""
    with program.open("rb") as file:
        return program if file.read(4) == _ELF else Path(ask_python(program, "-c", _WHERE)[0])


def closure(path: Path) -> Iterator[Path]:
    """A program, a file or a folder, and what it loads; a file may come more than once.

    Raises:
        LabError: it is not there, does not load here, or is kept from others.
        OSError: it cannot be read.
    """
    if path.is_dir():
        yield from _with_libraries(_below(path))
        return
    check_open(path)
    with path.open("rb") as file:
        begin = file.read(256)
    yield path
    real = path.resolve()
    python = _PYTHON_NAME.fullmatch(real.name)
    if real.parent != path.parent and not python:
        yield real
    if begin.startswith(_ELF):
        # The kernel starts what a link leads to, and that is where the loader takes `$ORIGIN` from.
        yield from libraries([real])
        if python:
            yield from _python(path)
    elif begin.startswith(_SCRIPT):
        for word in _interpreters(begin):
            yield from closure(place(word))


def _interpreters(begin: bytes) -> list[str]:
    """The programs that a script's first line names."""
    words = begin[2:].partition(b"\n")[0].decode("utf-8", "replace").split()
    if words and words[0].endswith("/env"):
        return [words[0], *[word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]]
    return words[:1]


def check_open(file: Path, about: os.stat_result | None = None) -> None:
    """Refuse what is kept from others on this machine: a scenario of a stranger must not take it along.

    Raises:
        LabError: not everybody may read it, and it is not below the working directory; or it is a device.
        OSError: it is not there.
    """
    mode = (about or file.stat()).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise LabError("is neither a regular file nor a folder", where=str(file))
    if not mode & stat.S_IROTH and not file.resolve().is_relative_to(Path.cwd()):
        raise LabError(
            "is kept from others on this machine, so no scenario takes it along",
            where=str(file),
            hint="let everybody read it (chmod o+r), or stand in its folder",
        )


def _below(folder: Path, but: Iterable[str] = ()) -> Iterator[Path]:
    """The files below a folder, in order, without those of these names."""
    if folder.name in but:
        return
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT - set(but))
        for name in sorted(names):
            file = Path(place, name)
            if file.is_file() and not name.endswith((".pyc", ".a")):
                check_open(file)
                yield file


def locale() -> list[Path]:
    """What glibc reads of C.UTF-8, the locale of every program, where a system has that in files."""
    return [*_below(_LOCALE)]


def _with_libraries(files: Iterable[Path]) -> Iterator[Path]:
    """Files, and what those of them load that are shared objects or programs."""
    objects = []
    for file in files:
        yield file
        with file.open("rb") as content:
            if content.read(4) == _ELF:
                objects.append(file)
    if objects:
        yield from libraries(objects)


def ask_python(program: Path, *words: str) -> list[str]:
    """The list that a Python prints in the last line of what it says, as JSON, when started with these words.

    Raises:
        LabError: it does not.
    """
    try:
        answer = subprocess.run(
            [program, "-B", *words],
            capture_output=True, text=True, timeout=60, check=True, cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )  # fmt: skip
        told: list[str] = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise LabError(
            f"this Python does not say where its modules are: {error}", where=str(program)
        ) from error
    return told


def _python(program: Path) -> Iterator[Path]:
    """What a Python has in its folders, without what only tests and builds need.

    Modules that were installed come along with a virtual environment; a system has too many of them.
    """
    _, prefix, *folders = ask_python(program, "-c", _WHERE)
    own = False
    for marker in (program.parent / "pyvenv.cfg", program.parent.parent / "pyvenv.cfg"):
        if marker.is_file():
            own = True
            yield marker
            real = Path(prefix) / "bin" / program.resolve().name
            yield from (real, *libraries([real])) if real.is_file() else ()
    taken: list[Path] = []
    for folder in map(Path, folders):
        if folder.is_file():
            yield folder
        elif (
            folder.is_dir() and folder.is_absolute() and not any(folder.is_relative_to(one) for one in taken)
        ):
            taken.append(folder)
            yield from _with_libraries(_below(folder, () if own else _INSTALLED))


def libraries(objects: Sequence[Path]) -> list[Path]:
    """What programs and shared objects load, each file once; of several, what is not there is left out.

    Raises:
        LabError: the only one does not load here.
    """
    if len(objects) == 1:
        return _with_late(loaded(objects[0]), objects[0])
    found: dict[Path, None] = {}
    for first in range(0, len(objects), _AT_ONCE):
        some = objects[first : first + _AT_ONCE]
        said = _ldd(some).stdout
        found |= dict.fromkeys(_told(said))
    return list(found)


def loaded(program: Path) -> list[Path]:
    """The loader and all libraries of a program in the order in which they are loaded; none if it is static.

    They are those of the first x86-64, where a distribution has others for newer processors beside them.
    """
    answer = _ldd([program])
    said = answer.stdout + answer.stderr
    if answer.returncode and ("not a dynamic executable" in said or "statically linked" in said):
        return []
    if answer.returncode or "not found" in said:
        raise LabError(
            f"{program.name} does not load here: {said.strip()}",
            where=str(program),
            hint="install its package again, and with it what it loads",
        )
    return _told(answer.stdout)


def _told(said: str) -> list[Path]:
    """The libraries that the loader names; `$ORIGIN/../lib` by where that is."""
    found = [Path(path) for path in _LOADED.findall(said)]
    return [path.parent.resolve() / path.name if ".." in path.parts else path for path in found]


def _ldd(objects: Sequence[Path]) -> subprocess.CompletedProcess[str]:
    """What the loader says that these load, as on the first x86-64.

    Raises:
        LabError: it cannot be asked.
    """
    environment = {"LC_ALL": "C", "GLIBC_TUNABLES": BASELINE, "PATH": os.environ.get("PATH", os.defpath)}
    try:
        return subprocess.run(
            ["ldd", *objects], capture_output=True, text=True, timeout=60, env=environment, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"what {objects[0].name} loads cannot be found out: {error}",
            where=str(objects[0]),
            hint=packages.advice("ldd"),
            machine=True,
        ) from error


def _with_late(libraries: list[Path], program: Path) -> list[Path]:
    """The libraries of a program, and what it loads only when it needs it."""
    libc = [path for path in libraries if path.name.startswith("libc.so")]
    others = [program, *(path for path in libraries if path not in libc)]
    late = [path.with_name(_LOADED_LATE) for path in libc]
    if not any(_CANCELLING in path.read_bytes() for path in others if path.is_file()):
        return libraries
    return [*libraries, *(path for path in late if path.is_file() and path not in libraries)]
