"""A small userland for a guest: programs of this machine under the paths that scripts expect.

`lab/tools.py` gives a guest one program as the agent starts it. Scripts start programs themselves, by name:
these lie in `/usr/bin` and `/bin`, their libraries where the loader looks for them, and Python with the
modules that scripts import. All of it is one `Tool`: identified by content, laid out once.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.lab import loading, tools

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.tools import Tool

ENVIRONMENT: Mapping[str, str] = {
    "GLIBC_TUNABLES": loading.BASELINE,
    "HOME": "/tmp",  # noqa: S108 - the guest's
    "LANG": "C",
    "LD_BIND_NOW": "1",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONHOME": "/usr",
    "PYTHONNOUSERSITE": "1",
}
"""In what programs of a userland are started; the same on every machine."""
# Where scripts and their first lines look for them.
_PLACES = ("bin", "usr/bin")
_MODULES = (
    *("argparse", "ast", "collections", "contextlib", "ctypes", "errno", "fcntl", "functools", "glob"),
    *("io", "itertools", "json", "math", "os", "random", "re", "select", "shlex", "shutil", "signal"),
    *(
        "socket",
        "stat",
        "string",
        "struct",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "traceback",
    ),
)
"""What of Python's library scripts can import, with what these import themselves."""
_LIST = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sorted({getattr(m, "__file__", None) or "" for m in [*sys.modules.values()]})))
"""


def gather(
    name: str,
    programs: Sequence[str],
    extra: Mapping[str, Path],
    *,
    welcome: Sequence[str] = (),
    python: bool = False,
) -> Tool:
    """A userland as one `Tool`.

    Args:
        name: what it is called.
        programs: what is taken from this machine, by name; `sh` is the shell that `/bin/sh` becomes.
        extra: other files, by their path in the guest.
        welcome: programs that are taken where they are installed.
        python: with Python, as `python3`.

    Raises:
        LabError: one of them is not installed or cannot be read.
    """
    files: dict[str, Path] = {}
    for one in (*programs, *(one for one in welcome if loading.where(one))):
        files |= _program(one)
    if python:
        files |= _python()
    files |= extra
    settings = tuple(f"{key}={value}" for key, value in sorted(ENVIRONMENT.items()))
    return tools.identified(name, files, environment=settings)


def _program(name: str) -> dict[str, Path]:
    wanted = "dash" if name == "sh" else name
    path = loading.where(wanted)
    if path is None:
        raise loading.AbsentError(wanted, who="the guest's userland")
    path = path.resolve()
    return {f"{place}/{name}": path for place in _PLACES} | loads(path)


def loads(program: Path) -> dict[str, Path]:
    """What a program or script loads, by its path in the guest, which is the one here.

    Raises:
        LabError: it does not load here.
    """
    try:
        return {str(path).lstrip("/"): path for path in loading.closure(program) if path != program}
    except OSError as error:
        raise tools.unreadable(program.name, error, program) from error


def _python() -> dict[str, Path]:
    """This very Python, under `/usr`, with the modules of `_MODULES`."""
    program = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    files = {"usr/bin/python3": program} | _libraries(program)
    home = f"usr/lib/{library.name}"
    # Without what this machine's owner added to it.
    words = ("-I", "-S", "-c", _LIST, *_MODULES, "encodings.ascii", "encodings.latin_1", "site")
    for path in map(Path, filter(None, loading.ask_python(program, *words))):
        if not path.is_relative_to(library):
            continue
        place = f"{home}/{path.relative_to(library)}"
        if path.suffix == ".so":
            files |= {place: path} | _libraries(path)
            continue
        # Beside no source a compiled module is taken as it is; compiling takes longer than all else.
        compiled = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
        files |= {f"{place}c": compiled} if compiled.is_file() else {place: path}
    return files


def _libraries(program: Path) -> dict[str, Path]:
    return {str(path).lstrip("/"): path for path in loading.libraries([program])}
