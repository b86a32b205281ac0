"""What `rushhour fleet` does at a host: looks at it, installs, starts and ends what belongs to a fleet.

It is sent as a text and run by any Python from 3.11 on, before anything of Rush Hour is there: it imports the
standard library only. An order comes as one line of JSON on standard input; answers are marked lines, as
`lab.host.transport` reads them. What changes something waits for a further `go`, so that an order whose
sender is gone does nothing; and every process that is started has the fleet's mark in its environment, by
which `stop` finds it, whatever became of those who started it.

    CACHE/rushhour/fleet/run/ID/NAME    keys, log and scratch of a member (0700); gone with it
    CACHE/rushhour/fleet/venv/KEY       an environment made from wheels; kept until it is purged
    CACHE/rushhour/fleet/cache          what workers were sent: kernels, the agent
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from rushhour.fleet.marked import MARK, end, marked, with_mark

SAY = "rushhour-session/1 "
READY = "ready.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)
Order = dict[str, Any]


class Refusal(Exception):  # noqa: N818 - it is the answer, not a fault
    """Why an order cannot be carried out: a word, what happened, more of it."""

    def __init__(self, kind: str, message: str, more: str = "") -> None:
        super().__init__(message)
        self.kind, self.message, self.more = kind, message, more


def say(word: str, **about: Any) -> None:
    """One marked line; the line feed before it ends whatever a start-up file left unfinished."""
    sys.stdout.write(f"\n{SAY}{word} {json.dumps(about)}\n")
    sys.stdout.flush()


def home() -> Path:
    """The folder of all fleets at this host."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rushhour" / "fleet"


def run_folder(order: Order) -> Path:
    """The folder of one member of a fleet."""
    return home().joinpath("run", str(order["fleet"]), str(order["name"]))


# -- orders


def probe(_order: Order) -> dict[str, Any]:
    """What this host is: nothing is changed."""
    came = os.environ.get("SSH_CONNECTION", "").split()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "hostname": socket.gethostname(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": _memory(),
        "time": time.time(),
        "seen_from": came[0] if len(came) == 4 else None,
        "seen_as": came[2] if len(came) == 4 else None,
        "room": _room(home()),
    }


def stock(order: Order) -> dict[str, Any]:
    """Have an environment with these wheels installed: the one that is there, or a new one."""
    folder = home() / "venv" / order["key"]
    if (folder / READY).is_file():
        return _told(folder)
    if (room := _room(folder)) < order["room"]:
        have, need = room // 10**6, order["room"] // 10**6
        raise Refusal("room", f"{have} MB are free in {folder.parent}, {need} are needed")
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    say("send")
    files = {name: _exactly(size) for name, size in order["files"].items()}
    _await_go()
    with _locked(folder.with_suffix(".lock")):
        if not (folder / READY).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _install(folder, files, order)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
    return _told(folder)


def start(order: Order) -> dict[str, Any]:
    """Start a member of a fleet, which goes on when this program has ended; what it says of itself."""
    folder = run_folder(order)
    if order.get("reach"):
        order["config"].setdefault("host", _route(*order["reach"]))
    if marked(order["fleet"], order["name"]):
        raise Refusal("busy", "a process of this fleet runs there already")
    say("send")
    _await_go()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    try:
        for name, text in order["files"].items():
            _write(folder / name, text)
        _write(folder / "member.json", json.dumps(order["config"]))
        return _ready(folder, _spawn(folder, order), order["patience"])
    except BaseException:
        # Not by a signal to its group: what removes the semaphores of its processes is in that, too.
        end(order["fleet"], order["name"])
        _remove(folder)
        raise


def stop(order: Order) -> dict[str, Any]:
    """End every process of a member, and remove its folder; with `purge` also what is kept in between."""
    ended = end(order["fleet"], order["name"])
    _remove(run_folder(order))
    _unfinished()
    if order.get("purge"):
        _purge()
    return {"ended": ended, "left": [str(pid) for pid in marked(order["fleet"], order["name"])]}


# -- the host


def _memory() -> int:
    """Bytes that are available to us: of the machine, or less by a control group."""
    found = {}
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        name, _, rest = line.partition(":")
        found[name] = int(rest.split()[0]) * 1024
    limits = [found.get("MemAvailable", found["MemTotal"])]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limits)


def _room(folder: Path) -> int:
    """Bytes that are free where a folder is or would be."""
    while not folder.is_dir():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _route(address: str, port: int) -> str:
    """This host's address on its way to the scheduler, once it is known that it answers there."""
    try:
        with socket.create_connection((address, port), timeout=10) as connection:
            return str(connection.getsockname()[0])
    except OSError as error:
        raise Refusal("reach", f"{address} port {port}: {error.strerror or error}") from None


# -- environments


def _install(folder: Path, files: dict[str, bytes], order: Order) -> None:
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    for name, data in files.items():
        (wheels / name).write_bytes(data)
    environment = folder / "env"
    _done([sys.executable, "-m", "venv", str(environment)], folder, "venv")
    python = str(environment / "bin/python")
    words = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-cache-dir"]
    if order["closed"]:
        words += ["--no-index", "--find-links", str(wheels)]
    if order["constraints"]:
        (wheels / "constraints.txt").write_text(order["constraints"], encoding="utf-8")
        words += ["--constraint", str(wheels / "constraints.txt")]
    _done([*words, f"{wheels / order['wheel']}[{order['extra']}]"], folder, "pip")
    _done([python, "-P", "-c", "import rushhour.fleet.member"], folder, "import")
    shutil.rmtree(wheels)
    (folder / "log").unlink(missing_ok=True)
    about = {"python": python, "version": platform.python_version()}
    (folder / "new").write_text(json.dumps(about), encoding="utf-8")
    (folder / "new").rename(folder / READY)


def _done(words: list[str], folder: Path, kind: str) -> None:
    """Carry out a program, unless whoever asked for it goes away."""
    log = folder / "log"
    with (
        log.open("wb") as sink,
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            while process.poll() is None:
                _still_wanted(0.1)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        said = _tail(log)
        if "No space left" in said or "Errno 28" in said:
            raise Refusal("room", f"the disk is full: {folder.parent}", said)
        raise Refusal(kind, f"`{' '.join(Path(word).name for word in words[:4])}` failed", said)


def _told(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / READY).read_text(encoding="utf-8")))


class _locked:  # noqa: N801 - it is used as a word
    """Hold a file's lock, waiting as long as whoever asked is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _still_wanted(0.2)
            else:
                return

    def __exit__(self, *_: object) -> None:
        os.close(self.file)


def _unfinished() -> None:
    """Remove environments that nobody finished and nobody is at."""
    for folder in (home() / "venv").glob("*/"):
        if (folder / READY).is_file():
            continue
        with suppress(OSError), folder.with_suffix(".lock").open("ab") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


def _purge() -> None:
    """Remove what is kept, unless another fleet runs here."""
    if not any(True for _ in with_mark(f"{MARK}=")):
        for name in ("venv", "cache"):
            shutil.rmtree(home() / name, ignore_errors=True)
        for folder in (home(), home().parent):
            with suppress(OSError):
                folder.rmdir()


# -- processes


def _spawn(folder: Path, order: Order) -> subprocess.Popen[bytes]:
    python = order["python"] or sys.executable
    # Dask reads what it logs when it is imported; a log of weeks must not fill a disk.
    environment = os.environ | {"DASK_LOGGING__DISTRIBUTED": "warning"}
    environment["DASK_TEMPORARY_DIRECTORY"] = str(folder / "scratch")
    if order["apart"]:
        environment["XDG_CACHE_HOME"] = str(home() / "cache")
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(
            [python, "-P", "-m", "rushhour.fleet.member", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise Refusal("python", f"{python} does not start: {error.strerror}") from None
    finally:
        os.close(log)


def _ready(folder: Path, member: subprocess.Popen[bytes], patience_s: float) -> dict[str, Any]:
    deadline = time.monotonic() + patience_s
    while not (folder / READY).is_file():
        if member.poll() is not None:
            raise _why(_tail(folder / "log"), member.returncode)
        if time.monotonic() > deadline:
            raise Refusal("slow", f"it was not ready within {patience_s:g} s", _tail(folder / "log"))
        _still_wanted(0.05)
    return _told(folder) | {"pid": member.pid, "folder": str(folder)}


def _why(log: str, code: int) -> Refusal:
    if "No module named" in log:
        return Refusal("module", log.strip().splitlines()[-1])
    last = next((line for line in reversed(log.splitlines()) if line.strip()), f"exit code {code}")
    return Refusal("full" if "No space left" in log else "ended", last, log)


# -- files and the other side


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for parent in (folder.parent, folder.parent.parent, folder.parent.parent.parent):
        with suppress(OSError):
            parent.rmdir()


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")


def _tail(path: Path) -> str:
    with suppress(OSError):
        return path.read_bytes()[-4000:].decode(errors="replace")
    return ""


def _exactly(size: int) -> bytes:
    data = sys.stdin.buffer.read(size)
    if len(data) != size:
        _nobody()
    return data


def _await_go() -> None:
    if sys.stdin.buffer.readline() != b"go\n":
        _nobody()


def _still_wanted(seconds: float) -> None:
    """Wait a moment; end where standard input has ended: then nobody waits for the answer."""
    readable, _, _ = select.select([sys.stdin.buffer], [], [], seconds)
    if readable:
        _nobody()


def _nobody() -> NoReturn:
    raise SystemExit(1)


def main() -> None:
    """Carry out one order."""
    os.umask(0o077)
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        _nobody()
    order = json.loads(line)
    try:
        done = {"probe": probe, "stock": stock, "start": start, "stop": stop}[order["do"]](order)
    except Refusal as refusal:
        say("error", kind=refusal.kind, message=refusal.message, more=refusal.more)
    except OSError as error:
        kind = "room" if error.errno in _FULL else "files"
        say("error", kind=kind, message=f"{error.filename or home()}: {error.strerror}", more="")
    else:
        say("done", **done)


if __name__ == "__main__":
    main()
