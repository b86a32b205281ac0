"""What is installed: Python's packages, the agent, the tools that build kernels, the kernels."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import RushHourError
from rushhour.lab import packages
from rushhour.lab.doctor.check import Check, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.lab.agent import Agent
    from rushhour.lab.kernel import Kernel

_IMPORT_S = 60
# More than these are not booted: somebody who bisects has hundreds.
_BOOTED = 4
# What is imported under another name than that of its distribution.
_NAMES = {"arro3-core": "arro3.core", "arro3-io": "arro3.io"}
_TRY = """
import importlib, json, sys
faults = {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        faults[name] = f"{type(error).__name__}: {error}"
print(json.dumps(faults))
"""


def python() -> Check:
    """The interpreter, and whether all packages that Rush Hour needs can be imported."""
    version = platform.python_version()
    needed = sorted(_required())
    done = subprocess.run(
        [sys.executable, "-c", _TRY, *needed],
        capture_output=True, text=True, errors="replace", timeout=_IMPORT_S, check=False,
    )  # fmt: skip
    try:
        faults: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        # One of them took the whole process with it.
        said = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        faults = {"an import": said[0]}
    facts = {"version": version, "executable": sys.executable, "faults": faults}
    if not needed:
        says = f"{version}; Rush Hour is imported, but not installed"
        return Check("python", State.WARN, says, (), facts)
    if faults:
        reasons = dict.fromkeys(faults.values())
        named = {why: ", ".join(name for name in faults if faults[name] == why) for why in reasons}
        says = f"{version}; " + "; ".join(f"{names}: {why}" for why, names in named.items())
        return Check("python", State.BAD, says, (_reinstall(),), facts)
    return Check("python", State.OK, f"{version}, all {len(needed)} packages can be imported", (), facts)


def agent() -> Check:
    """The agent's program."""
    from rushhour.lab import agent as agents  # noqa: PLC0415 - what is broken is said here

    try:
        found = agents.find()
    except RushHourError as error:
        build = () if _has_cargo() else (packages.advice("rust", "libc.a"),)
        mend = (*build, "make agent") if _checkout() else (_reinstall(),)
        return Check("agent", State.BAD, error.message, mend, {"found": False})
    facts = {"found": True, "version": found.version, "sha256": found.sha256}
    return Check("agent", State.OK, f"{found.version}, {found.sha256[:12]}", (), facts)


def tools() -> Check:
    """Compilers and what else builds kernels; the host's programs that some scenarios take into the guest."""
    from rushhour.lab import loading  # noqa: PLC0415
    from rushhour.lab.kernel import process  # noqa: PLC0415

    lacking = process.missing_tools()
    compiler = process.answer(["gcc", "--version"], default="").partition("\n")[0]
    compiler = re.sub(r"\(.*?\) ", "", compiler)
    absent = [name for name in ("tc", "iperf3") if loading.where(name) is None]
    facts = {"compiler": compiler or None, "lacking": lacking, "absent": absent}
    mend = [packages.advice(*lacking)] if lacking else []
    mend += [packages.advice(*absent)] if absent else []
    says = f"{compiler}: kernels can be built"
    if lacking:
        says = f"no kernel can be built: no {', '.join(lacking)}"
    says += f"; scenarios that take {' or '.join(absent)} do not run" if absent else ""
    return Check("tools", State.WARN if lacking or absent else State.OK, says, tuple(mend), facts)


def kernels(checks: Mapping[str, Check]) -> Check:
    """The kernels that are there, and whether each boots; what that takes is looked up in `checks`."""
    from rushhour.lab import kernel as built  # noqa: PLC0415

    try:
        # Of each name the newest: who names an older one does so by its identity.
        there = [*{one.name: one for one in reversed(built.installed())}.values()][::-1]
    except RushHourError as error:
        return Check("kernels", State.BAD, str(error), (), {"kernels": []})
    if not there:
        mend = ("rushhour kernel build debian:6.12",)
        return Check("kernels", State.BAD, "there is none yet", mend, {"kernels": []})
    if missing := [name for name in ("python", "agent") if checks[name].state not in {State.OK, State.WARN}]:
        names = ", ".join(one.name for one in there[:_BOOTED])
        says = f"{names}: not tried, for lack of {' and '.join(missing)}"
        return Check("kernels", State.UNKNOWN, says, (), {"kernels": []})
    from rushhour.lab import agent as agents  # noqa: PLC0415

    program = agents.find()
    with ThreadPoolExecutor(2) as pool:
        tried = [*pool.map(lambda one: _tried(one, program), there[:_BOOTED])]
    return _told(tried, len(there))


def _tried(kernel: Kernel, program: Agent) -> dict[str, object]:
    from rushhour.lab.boot import boot  # noqa: PLC0415

    found: dict[str, object] = {"name": kernel.name, "id": kernel.id, "release": kernel.release}
    try:
        done = boot(kernel, program)
    except RushHourError as error:
        return found | {"boots": False, "why": error.message, "hint": error.hint}
    return found | {"boots": True, "seconds": round(done.seconds, 2), "warnings": done.warnings}


def _told(tried: list[dict[str, Any]], count: int) -> Check:
    words = [f"{one['name']} boots ({one['seconds']:.1f} s)" for one in tried if one["boots"]]
    reasons = dict.fromkeys(_reason(one) for one in tried if not one["boots"])
    for reason in reasons:
        names = [str(one["name"]) for one in tried if not one["boots"] and _reason(one) == reason]
        words.append(f"{', '.join(names)}: {reason}")
    words += [f"{count - len(tried)} more not tried"] if count > len(tried) else []
    good = sum(one["boots"] for one in tried)
    state = State.OK if good == len(tried) else State.WARN if good else State.BAD
    return Check("kernels", state, "; ".join(words), (), {"kernels": tried})


def _reason(one: dict[str, object]) -> str:
    """Why a kernel does not boot, in a line; the console's last lines are in the facts."""
    first, *said = str(one["why"]).splitlines()
    telling = next((line.strip() for line in reversed(said) if "panic" in line), "")
    return first.partition(";")[0] + (f": {telling}" if telling else "")


def _required() -> Iterator[str]:
    """The modules of the distributions that Rush Hour asks for, without those of extras."""
    try:
        wanted = metadata.requires("rushhour") or []
    except metadata.PackageNotFoundError:
        return
    for line in wanted:
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        if "extra ==" not in line:
            yield _NAMES.get(name, name.replace("-", "_"))


def _checkout() -> bool:
    """Whether this is a clone of the repository."""
    return (Path(__file__).parents[4] / "agent/Cargo.toml").is_file()


def _has_cargo() -> bool:
    script = Path(__file__).parents[4] / "scripts/cargo"
    try:
        return not subprocess.run([script, "--version"], capture_output=True, check=False).returncode
    except OSError:
        return False


def _reinstall() -> str:
    if _checkout():
        return "rm -r .venv && make setup"
    return f"{sys.executable} -m pip install --force-reinstall rushhour"
