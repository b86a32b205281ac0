"""Programs under a filter of system calls, as containers and administrators set them."""

from __future__ import annotations

import ctypes
import errno
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Of x86-64; what Docker's default profile refuses of what concerns us.
NUMBERS = {
    "ptrace": 101, "personality": 135, "mount": 165, "unshare": 272, "setns": 308, "seccomp": 317,
    "memfd_create": 319, "bpf": 321, "clone3": 435,
}  # fmt: skip
CONTAINER = dict.fromkeys(("personality", "mount", "unshare", "setns", "bpf"), errno.EPERM) | {
    "clone3": errno.ENOSYS
}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def under(refused: Mapping[str, int]) -> Callable[[], None]:
    """What a child calls before it becomes a program: from then on these calls fail with these errnos."""
    lines = [struct.pack("HBBI", _LOAD, 0, 0, 0)]
    for name, number in refused.items():
        lines.append(struct.pack("HBBI", _EQUAL, 0, 1, NUMBERS[name]))
        lines.append(struct.pack("HBBI", _RETURN, 0, 0, _ERRNO | number))
    lines.append(struct.pack("HBBI", _RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(lines))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def enter() -> None:
        for words in ((38, 1, 0, 0, 0), (22, 2, program, 0, 0)):
            if libc.prctl(*words):
                raise OSError(ctypes.get_errno(), "the filter could not be set")
        assert code

    return enter
