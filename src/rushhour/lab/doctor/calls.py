"""System calls, tried: each in a process of its own, so that nothing here is changed by it.

Nothing is asked of `/proc`: what a filter refuses, the call itself says.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import platform
import signal
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ADDR_NO_RANDOMIZE = 0x0040000
NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_LIMIT_S = 5
_PTRACE = {"traceme": 0, "cont": 7, "kill": 8, "sysemu": 31, "getregset": 0x4204, "setregset": 0x4205}
_NT_X86_XSTATE = 0x202
_XCR0_AT, _MOST = 464, 1 << 16
_PR_SET_NO_NEW_PRIVS, _PR_GET_SECCOMP, _PR_SET_SECCOMP, _FILTER = 38, 21, 22, 2
_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "x86_64": {"clone3": 435, "landlock_create_ruleset": 444, "pivot_root": 155},
    "aarch64": {"clone3": 435, "landlock_create_ruleset": 444, "pivot_root": 41},
}


def answer(attempt: Callable[[], str]) -> str:
    """What an attempt says in a process of its own: its word, its errno's name, or the signal it died of."""
    from_child, to_parent = os.pipe()
    child = os.fork()
    if child == 0:
        _become(attempt, to_parent)
    os.close(to_parent)
    with open(from_child, "rb") as pipe:  # noqa: PTH123 - a descriptor
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "no answer" if number == signal.SIGALRM else f"killed by {_signal(number)}"
    return said


def refusal(attempt: Callable[[], object]) -> str | None:
    """Why an attempt fails in a process of its own, as `answer` says it; None where it does not."""

    def tried() -> str:
        attempt()
        return ""

    return answer(tried) or None


def _become(attempt: Callable[[], str], pipe: int) -> None:
    """The child's life: nothing of it comes back but what it writes."""
    said = ""
    try:
        signal.alarm(_LIMIT_S)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        said = attempt()
    except OSError as error:
        said = errno.errorcode.get(error.errno or 0, str(error))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must not go on as the parent
        said = f"{type(error).__name__}: {error}"
    finally:
        with contextlib.suppress(OSError):
            os.write(pipe, said.encode()[:4000])
        os._exit(0)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _libc() -> Any:
    import ctypes  # noqa: PLC0415 - a Python without it still gets the other answers

    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    import ctypes  # noqa: PLC0415

    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _syscall(name: str, *arguments: int | None) -> int:
    import ctypes  # noqa: PLC0415

    numbers = _NUMBERS.get(platform.machine(), {})
    if name not in numbers:
        raise OSError(errno.ENOSYS, "not known on this machine")
    words = [ctypes.c_void_p(None) if one is None else ctypes.c_long(one) for one in arguments]
    return _check(_libc().syscall(ctypes.c_long(numbers[name]), *words))


def personality() -> None:
    """Switch address-space randomisation off."""
    import ctypes  # noqa: PLC0415

    _check(_libc().personality(ctypes.c_ulong(ADDR_NO_RANDOMIZE)))


def memfd() -> None:
    """Make a file without a name and map it with the right to execute."""
    with mapped(os.memfd_create("rushhour")):
        pass


def clone3() -> None:
    """Whether `clone3` is there; libc falls back to `clone`, so its lack is no harm."""
    try:
        _syscall("clone3", None, 0)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def unshare(flags: int) -> None:
    """Leave namespaces."""
    _check(_libc().unshare(flags))


def user_namespace() -> None:
    """Enter a user namespace as the same user."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def mount_tmpfs(folder: Path) -> None:
    """Mounts of its own, and a file system in memory on a folder."""
    unshare(NEWNS)
    libc = _libc()
    _check(libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None))
    _check(libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, None))


def apart(kinds: int = NEWPID | NEWNET | NEWIPC) -> None:
    """Processes, network and IPC of its own, in a user namespace where that is allowed."""
    try:
        user_namespace()
    except OSError:
        if os.geteuid() != 0:
            raise
    unshare(kinds)


def world() -> None:
    """The same, and mounts."""
    apart()
    with tempfile.TemporaryDirectory() as folder:
        mount_tmpfs(Path(folder))
        _check(_libc().umount2(os.fsencode(folder), 2))


def cage() -> None:
    """Another root directory; the same one asks for the same right."""
    os.chroot("/")


def landlock() -> str:
    """The version of Landlock's interface."""
    return str(_syscall("landlock_create_ruleset", None, 0, 1))


def seccomp_mode() -> str:
    """2 where a filter of system calls is active for this process, 0 where none is."""
    return str(_check(_libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0)))


def seccomp_filter() -> None:
    """Set a filter that allows everything."""
    import ctypes  # noqa: PLC0415

    libc = _libc()
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow))
    _check(libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.create_string_buffer(program), 0, 0))


def trace() -> str:
    """Trace a child as a virtual kernel does its own; gives the size of its extended state and XCR0."""
    import ctypes  # noqa: PLC0415

    libc = _libc()
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long

    def ptrace(request: str, child: int, address: int, data: object) -> None:
        _check(libc.ptrace(_PTRACE[request], child, address, data))

    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            ptrace("traceme", 0, 0, None)
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    try:
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            raise OSError(errno.EPERM, "the child could not be traced")
        if platform.machine() != "x86_64":
            return "0 0"
        area = ctypes.create_string_buffer(_MOST)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(area), _MOST)
        ptrace("getregset", child, _NT_X86_XSTATE, ctypes.addressof(vector))
        ptrace("setregset", child, _NT_X86_XSTATE, ctypes.addressof(vector))
        ptrace("sysemu", child, 0, None)
        size = vector[1] or 0
        return f"{size} {int.from_bytes(area.raw[_XCR0_AT : _XCR0_AT + 8], 'little')}"
    finally:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@contextlib.contextmanager
def mapped(descriptor: int) -> Any:
    """A page of a file, mapped as a virtual kernel maps its memory."""
    with open(descriptor, "r+b") as file:
        file.truncate(mmap.PAGESIZE)
        rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        with mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED, rights) as area:
            yield area
