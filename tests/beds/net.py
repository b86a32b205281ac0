"""Network namespaces that this process holds, and that are gone with it.

No name in /run/netns, no process inside: a namespace is a file that this process has open.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_NEW = 0x4000_0000
_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """A network namespace with its loopback up and no IPv6, so that nothing speaks unasked."""

    def __init__(self, name: str) -> None:
        self.name = name
        with ThreadPoolExecutor(1) as apart:
            self.file = apart.submit(_new).result()
        self.path = f"/proc/{os.getpid()}/fd/{self.file}"
        for where in ("all", "default"):
            self.sysctl(f"net.ipv6.conf.{where}.disable_ipv6", 1)
        self.ip("link set dev lo up")

    @property
    def place(self) -> str:
        """As one writes it for a session."""
        return f"netns:{self.path}"

    def words(self, *words: str) -> list[str]:
        """A command that runs here."""
        return ["nsenter", f"--net={self.path}", "--", *words]

    def run(self, *words: str, text: str | None = None) -> str:
        """Run a command here; what it printed."""
        done = subprocess.run(
            self.words(*words), input=text, capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, f"{self.name}: {' '.join(words)}: {done.stderr}{text or ''}"
        return done.stdout

    def ip(self, *lines: str) -> None:
        """Lines as they follow `ip`."""
        self.run("ip", "-batch", "-", text="\n".join(lines))

    def tc(self, *lines: str) -> None:
        """Lines as they follow `tc`."""
        self.run("tc", "-batch", "-", text="\n".join(lines))

    def nft(self, rules: str) -> None:
        """A table `bed` of the family `ip` with these chains and rules."""
        self.run("nft", "-f", "-", text=f"table ip bed {{\n{rules}\n}}\n")

    def sysctl(self, name: str, value: str | int) -> None:
        """Set one of this namespace's own."""
        path = Path("/proc/sys", *name.split("."))
        self.inside(lambda: path.write_text(str(value)))

    def read(self, name: str) -> str:
        """One of this namespace's sysctls."""
        path = Path("/proc/sys", *name.split("."))
        return str(self.inside(path.read_text)).strip()

    def close(self) -> None:
        """Let it go; the kernel takes it apart with everything in it."""
        os.close(self.file)

    def inside(self, work: Callable[[], Any]) -> Any:
        def there() -> Any:
            _check(_libc.setns(self.file, _NEW))
            return work()

        # A namespace is entered by a thread, and the thread ends there.
        with ThreadPoolExecutor(1) as apart:
            return apart.submit(there).result()


def _new() -> int:
    _check(_libc.unshare(_NEW))
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
