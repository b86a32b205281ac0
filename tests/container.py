"""A container as Docker and Podman make it, for one command: `python container.py [WORD…] -- COMMAND…`.

What a container engine takes away is taken away here: system calls (a seccomp filter that answers EPERM, or
ENOSYS for what a filter cannot look into), capabilities, most of /proc and /sys, all but 64 MB of /dev/shm.
Needs root; everything ends with the command. Sources: the table of blocked calls in Docker's documentation
("Seccomp security profiles for Docker"), moby's default list of capabilities, and the mounts of the OCI
runtime specification.

    user        as an ordinary user of the container (uid 1000), who can read what is named by OPEN=PATH:PATH…
    no-landlock the engine's filter is older than Landlock
    no-shm      /dev/shm cannot be written to
    no-sys      there is no /sys
    no-proc     there is no /proc
    no-sysctl   there is no /proc/sys
    no-cpuinfo  /proc/cpuinfo cannot be read
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from pathlib import Path

WORDS = ("user", "no-landlock", "no-shm", "no-sys", "no-proc", "no-sysctl", "no-cpuinfo")

_libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 22, 24, 47
NAMESPACE_FLAGS = 0x7E020000
AUDIT_ARCH_X86_64 = 0xC000003E
PERSONALITY, CLONE, CLONE3 = 135, 56, 435
# x86-64's numbers of what Docker's profile refuses to a container without CAP_SYS_ADMIN and the like.
REFUSED = {
    "acct": 163, "add_key": 248, "bpf": 321, "clock_adjtime": 305, "clock_settime": 227,
    "create_module": 174, "delete_module": 176, "fanotify_init": 300, "finit_module": 313, "fsconfig": 431,
    "fsmount": 432, "fsopen": 430, "fspick": 433, "get_kernel_syms": 177, "get_mempolicy": 239,
    "init_module": 175, "io_uring_enter": 426, "io_uring_register": 427, "io_uring_setup": 425,
    "ioperm": 173, "iopl": 172, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246, "keyctl": 250,
    "lookup_dcookie": 212, "mbind": 237, "mount": 165, "mount_setattr": 442, "move_mount": 429,
    "move_pages": 279, "nfsservctl": 180, "open_by_handle_at": 304, "open_tree": 428,
    "perf_event_open": 298, "pivot_root": 155, "query_module": 178, "quotactl": 179, "reboot": 169,
    "request_key": 249, "set_mempolicy": 238, "setns": 308, "settimeofday": 164, "swapoff": 168,
    "swapon": 167, "sysfs": 139, "_sysctl": 156, "syslog": 103, "umount2": 166, "unshare": 272,
    "uselib": 134, "userfaultfd": 323, "ustat": 136, "vhangup": 153,
}  # fmt: skip
LANDLOCK = (444, 445, 446)
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw, sys_chroot,
# mknod, audit_write, setfcap (linux/capability.h)
KEPT = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)


def check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def mount_tmpfs(place: str, options: str, flags: int = 0) -> None:
    if Path(place).is_dir():
        mounted = _libc.mount(b"tmpfs", place.encode(), b"tmpfs", flags, options.encode())
        check(mounted, f"mount on {place}")


def open_to_all(paths: list[str]) -> None:
    """What lies below a folder that only root may enter is shown there, and nothing beside."""
    closed: dict[Path, list[Path]] = {}
    for path in map(Path, paths):
        above = [one for one in reversed(path.parents) if not one.stat().st_mode & 0o001]
        if above:
            closed.setdefault(above[0], []).append(path)
    for folder, inside in closed.items():
        held = {path: os.open(path, os.O_PATH) for path in inside}
        mount_tmpfs(str(folder), "mode=755")
        show(held)


def show(held: dict[Path, int]) -> None:
    """Folders that are open, at their places below a new mount."""
    for path, number in held.items():
        path.mkdir(parents=True)
        bound = _libc.mount(f"/proc/self/fd/{number}".encode(), str(path).encode(), None, 0x5000, None)
        check(bound, f"show {path}")
        os.close(number)


def mount_shm(options: str) -> None:
    """A /dev/shm of the container's own; files of tests there (`scripts/in-memory`) stay in sight."""
    held = {path: os.open(path, os.O_PATH) for path in Path("/dev/shm").glob("rh-tests-*")}
    mount_tmpfs("/dev/shm", options, MS_NOSUID | MS_NODEV | MS_NOEXEC)
    show(held)


def take_files_away(words: set[str]) -> None:
    check(_libc.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    if "user" in words:
        open_to_all([path for path in os.environ.pop("OPEN", "").split(":") if path])
    mount_shm("size=4k,mode=555" if "no-shm" in words else "size=64m,mode=1777")
    mount_tmpfs("/sys/firmware", "size=0", MS_RDONLY)
    if "no-sys" in words:
        mount_tmpfs("/sys", "size=4k", MS_RDONLY)
    for place in ("/proc/asound", "/proc/acpi", "/proc/scsi"):
        mount_tmpfs(place, "size=0", MS_RDONLY)
    if "no-sysctl" in words:
        mount_tmpfs("/proc/sys", "size=4k", MS_RDONLY)
    else:
        check(_libc.mount(b"/proc/sys", b"/proc/sys", None, 0x1000, None), "bind /proc/sys")
        check(_libc.mount(b"none", b"/proc/sys", None, 0x1000 | 0x20 | MS_RDONLY, None), "protect /proc/sys")
    if "no-cpuinfo" in words:
        check(_libc.mount(b"/dev/null", b"/proc/cpuinfo", None, 0x1000, None), "hide /proc/cpuinfo")
    if "no-proc" in words:
        mount_tmpfs("/proc", "size=4k", MS_RDONLY)


def filter_calls(words: set[str]) -> None:
    """Classic BPF over `struct seccomp_data`: number at 0, architecture at 4, arguments from 16 on."""
    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06
    refuse, lacking, allow = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x7FFF0000
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4), (equal, 1, 0, AUDIT_ARCH_X86_64), (answer, 0, 0, refuse), (load, 0, 0, 0),
    ]  # fmt: skip
    for number in [*REFUSED.values(), *(LANDLOCK if "no-landlock" in words else ())]:
        program += [(equal, 0, 1, number), (answer, 0, 0, refuse)]
    program += [(equal, 0, 1, CLONE3), (answer, 0, 0, lacking)]
    program += [(equal, 0, 4, CLONE), (load, 0, 0, 16), (any_bit, 0, 1, NAMESPACE_FLAGS)]
    program += [(answer, 0, 0, refuse), (load, 0, 0, 0)]
    program += [(equal, 0, len(PERSONALITIES) * 2 + 2, PERSONALITY), (load, 0, 0, 16)]
    for known in PERSONALITIES:
        program += [(equal, 0, 1, known), (answer, 0, 0, allow)]
    program += [(answer, 0, 0, refuse), (answer, 0, 0, allow)]
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code)
    head = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(buffer))
    check(_libc.prctl(PR_SET_SECCOMP, 2, head, 0, 0), "set the filter")


def drop_capabilities(words: set[str]) -> None:
    for capability in range(41):
        if capability not in KEPT:
            check(_libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), f"drop capability {capability}")
    os.setgroups([])
    if "user" in words:
        os.setgid(1000)
        os.setuid(1000)
        return
    mask = sum(1 << capability for capability in KEPT)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    head = struct.pack("Ii", 0x20080522, 0)
    data = struct.pack("6I", low, low, low, high, high, high)
    check(_libc.capset(head, data), "give up capabilities")


def main() -> None:
    split = sys.argv.index("--")
    words, command = set(sys.argv[1:split]), sys.argv[split + 1 :]
    unknown = words.difference(WORDS)
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}")
    take_files_away(words)
    filter_calls(words)
    drop_capabilities(words)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
