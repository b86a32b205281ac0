"""The machine itself: processor, memory, files, and what a process may do here."""

from __future__ import annotations

import os
import platform
import re
import shutil
from pathlib import Path

from rushhour.errors import RushHourError
from rushhour.lab import cpus
from rushhour.lab.doctor import calls
from rushhour.lab.doctor.check import Check, State

# What kernels before 6.13 keep of a guest process's extended registers (`HOST_FP_SIZE` in arch/x86/um).
OLD_AREA = 2696
_AMX = 1 << 17 | 1 << 18
_SHARED = Path("/dev/shm")  # noqa: S108 - asked for, and not used: guests keep their memory elsewhere
_ELSEWHERE = "export XDG_CACHE_HOME=FOLDER   # one of yours, on a file system with room"
# Places that a run looks at, and what shows that they are there.
_PLACES = {"/proc": "/proc/self/stat", "/sys": "/sys/kernel", "/dev/null": "/dev/null"}
# A guest touches some hundred MB at the most in most runs; each run at once needs its own.
_ROOM, _LITTLE = 1 << 30, 256 << 20
# Knobs by which user namespaces are kept from ordinary users: the value that does, and one that does not.
_KNOBS = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "15000"),
}


def cpu() -> Check:
    """Model, count, and how large the extended state of a process is."""
    known = _text("/proc/cpuinfo")
    model = _match(r"^(?:model name|Model|CPU part)\s*: (.*)$", known) or "unknown model"
    count = len(os.sched_getaffinity(0))
    said = calls.answer(calls.trace)
    facts: dict[str, object] = {"model": _plain(model), "machine": platform.machine()}
    facts |= {"cpus": count, "trace": said}
    head = f"{facts['model']}, {count} CPU{'s' * (count != 1)}"
    facts["allowed"] = share = cpus.quota()
    if share is not None and share < count:
        head += f", the time of {share:g} for this container"
    if platform.machine() != "x86_64":
        says = f"{head}, {platform.machine()}: no virtual kernel runs on it"
        return Check("cpu", State.WARN, says, (), facts)
    numbers = re.fullmatch(r"(\d+) (\d+)", said)
    if not numbers:
        says = f"{head}; processes cannot be traced ({said}), and kernels before 7.0 need that"
        return Check("cpu", State.WARN, says, (), facts)
    size, amx = int(numbers[1]), bool(int(numbers[2]) & _AMX)
    facts |= {"extended_state": size, "amx": amx}
    large = f", more than the {OLD_AREA} that kernels before 6.13 know of" if size > OLD_AREA else ""
    says = f"{head}; extended state {size} bytes{large}, {'with' if amx else 'no'} AMX"
    return Check("cpu", State.OK, says, (), facts)


def memory() -> Check:
    """Memory, and what of it is in /dev/shm."""
    said = re.findall(r"^(\w+): +(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    known = {name: int(size) << 10 for name, size in said}
    total = known.get("MemTotal") or _pages("SC_PHYS_PAGES")
    free = known.get("MemAvailable") or _pages("SC_AVPHYS_PAGES")
    limit = _limit()
    facts: dict[str, object] = {"total": total, "free": free, "limit": limit, "shm": None}
    says = f"{_size(total)}, {_size(free)} free"
    says += f", {_size(limit)} for this container" if limit else ""
    state, words = State.OK, _shared(facts)
    if min(free, limit or free) < _LITTLE:
        state, words = State.WARN, f"{words}; that is little: a run takes about {_size(_LITTLE)}"
    return Check("memory", state, f"{says}; {words}", (), facts)


def files() -> Check:
    """What runs read and write: /proc, /sys, the cache, room for it."""
    from rushhour.files import cache  # noqa: PLC0415 - what is broken is said here

    lacking = [place for place, mark in _PLACES.items() if not Path(mark).exists()]
    try:
        folder = cache.folder("any").parent
    except RushHourError as error:
        said = f"{error.where}: {error.message}" if error.where else error.message
        return Check("files", State.BAD, said, (_ELSEWHERE,), {"lacking": lacking})
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    writable = os.access(folder, os.W_OK)
    noexec = bool(about.f_flag & os.ST_NOEXEC)
    facts = {"lacking": lacking, "cache": str(folder), "free": free, "writable": writable, "noexec": noexec}
    faults = [f"there is no {place}" for place in lacking]
    mend = []
    if not writable or noexec or free < _ROOM:
        fault = "cannot be written" if not writable else "is mounted noexec" if noexec else "has no room left"
        faults.append(f"{folder} {fault}")
        mend.append(_ELSEWHERE)
    state = State.BAD if mend else State.WARN if faults else State.OK
    mend += ["mount -t proc proc /proc"] if "/proc" in lacking else []
    says = "; ".join([*faults, f"cache {_short(folder)}, {_size(free)} free"])
    return Check("files", state, says, tuple(mend), facts)


def apart() -> Check:
    """How far a guest can be set apart: namespaces, mounts, Landlock."""
    user, kinds, mounts = (calls.refusal(one) for one in (calls.user_namespace, calls.apart, calls.world))
    said = calls.answer(calls.landlock)
    landlock = int(said) if said.isdigit() else 0
    knobs = [name for name, (closed, _) in _KNOBS.items() if _sysctl(name) == closed]
    facts = {"user": user, "pid_net_ipc": kinds, "mount": mounts, "landlock": landlock, "knobs": knobs}
    fence = f"Landlock {landlock}" if landlock else "no Landlock"
    if mounts is None:
        state = State.OK if landlock else State.WARN
        return Check("confine", state, f"namespaces and mounts of a guest's own, {fence}", (), facts)
    why = f"by {knobs[0]}" if knobs else f"({kinds or mounts})"
    missing = "no namespaces" if kinds else "no mounts"
    caged = calls.refusal(calls.cage) is None
    facts["chroot"] = caged
    holds = ["a root directory of its own"] * caged + ["Landlock"] * bool(landlock)
    held = f"held by {' and '.join(holds) or 'nothing but the filter of system calls'}"
    mend = [_privileged(f"sysctl -w {name}={_KNOBS[name][1]}") for name in knobs]
    says = f"{missing} of a guest's own {why}, {fence}: runs go on with a warning, {held}"
    return Check("confine", State.WARN, says, tuple(mend), facts)


def seccomp() -> Check:
    """Whether a filter of system calls is active already, and what it refuses."""
    mode = calls.answer(calls.seccomp_mode)
    tries = {
        "personality": calls.personality, "clone3": calls.clone3, "memfd_create": calls.memfd,
        "seccomp": calls.seccomp_filter,
    }  # fmt: skip
    if mode != "0":
        # Without a filter it is a setting that refuses this, and the line before says which.
        tries["unshare"] = lambda: calls.unshare(calls.NEWUSER)
    refused = {name: why for name, one in tries.items() if (why := calls.refusal(one))}
    traced = calls.answer(calls.trace)
    if not re.fullmatch(r"\d+ \d+", traced):
        refused["ptrace"] = traced
    facts = {"mode": mode, "refused": refused}
    active = {"0": "no filter is active", "2": "a filter is active"}.get(mode, f"not to be asked ({mode})")
    harmful = refused.keys() - _REPLACED
    if not refused:
        return Check("seccomp", State.OK, f"{active}; no call that a run makes is refused", (), facts)
    listed = ", ".join(f"{name} ({why})" for name, why in refused.items())
    says = f"{active}; refused{'' if harmful else ', without harm'}: {listed}"
    if "seccomp" in refused:
        says += "; a guest without a filter of its own sees libc's rseq, which old stubs die of"
    return Check("seccomp", State.WARN if harmful else State.OK, says, (), facts)


def system() -> str:
    """The distribution and the kernel, for people."""
    from rushhour.lab import packages  # noqa: PLC0415

    container = next((name for path, name in _CONTAINERS.items() if Path(path).exists()), None)
    inside = f" in {container}" if container else ""
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    return f"{packages.here().name}{inside}, Linux {platform.release()} {platform.machine()}, {user}"


# A run has other ways to what these do; `confine` says what is lost without namespaces.
_REPLACED = {"clone3", "personality", "unshare"}
_CONTAINERS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}


def _shared(facts: dict[str, object]) -> str:
    """Words for /dev/shm."""
    if not _SHARED.is_dir():
        return "no /dev/shm, and none is needed"
    about = os.statvfs(_SHARED)
    size, free = about.f_blocks * about.f_frsize, about.f_bavail * about.f_frsize
    facts["shm"] = {"size": size, "free": free}
    return f"{_SHARED} {_size(size)}, {_size(free)} free"


def _limit() -> int | None:
    """The memory that this container may use, in bytes."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _text(path).strip()
        if text.isdigit() and int(text) < 1 << 60:
            return int(text)
    return None


def _privileged(command: str) -> str:
    if os.geteuid() == 0:
        return command
    return f"sudo {command}" if shutil.which("sudo") else f"as root: {command}"


def _sysctl(name: str) -> str:
    # The first dot divides the folder from the name; names hold no others here.
    return _text(f"/proc/sys/{name.replace('.', '/')}").strip()


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _plain(model: str) -> str:
    """A processor's name without marks of trade and words that all have."""
    return " ".join(re.sub(r"\((?:R|TM|tm)\)|\b(?:CPU|Processor)\b|@.*", "", model).split())


def _match(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None


def _pages(name: str) -> int:
    return os.sysconf(name) * os.sysconf("SC_PAGESIZE")


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 1 << 30 else f"{count / 2**20:.0f} MB"


def _short(path: Path) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - without an error where there is no home
    return str(path).replace(home, "~", 1) if home not in {"", "/"} else str(path)
