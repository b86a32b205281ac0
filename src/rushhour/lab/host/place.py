"""Places: where an agent can run. A place is written as one word.

    local               this machine, this network namespace
    netns:NAME          a network namespace of this machine: /run/netns/NAME
    netns:/PATH         one named by its file
    netns:PID           that of a process
    anything else       a name for the OpenSSH client: an alias of its configuration, `user@host`,
                        `ssh://user@host:port`

A place reaches programs as one argument, never through a shell. Yet the client hands host and user on to the
user's own configuration (`ProxyCommand … %h`), which a shell may read; so what is no name is refused here
already (OpenSSH does so since 9.6, CVE-2023-51385).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from rushhour.errors import UsageError

_NETNS = "netns:"
_NAMED = Path("/run/netns")
_SPELLINGS = (
    "a place is `local`, `netns:NAME`, `netns:PID`, or a name that `ssh` understands: alice, user@host"
)
# Letters of any script, digits, and what addresses (fe80::1%eth0, [::1]) hold; none begins an option.
_HOST = re.compile(r"(?!-)[\w.:%\[\]-]+")
# `DOMAIN\user` and `user@realm` are names of users, too.
_USER = re.compile(r"(?!-)[\w.+@\\-]+(?<!\\)")
_URI = re.compile(r"ssh://(?:(?P<user>.+)@)?(?P<host>\[[^\]]+\]|[^:/@]+)(?::(?P<port>\d{1,5}))?/?")
_NAMESPACE = re.compile(r"(?![-.])[\w.:@+-]+")


@dataclass(frozen=True)
class Place:
    """Where an agent can run.

    `text` is what a person wrote. `target` is the namespace's file (`kind` netns), the client's destination
    (ssh), or empty (local).
    """

    text: str
    kind: Literal["local", "netns", "ssh"]
    target: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a place.

        Raises:
            UsageError: it is no place.
        """
        if text == "local":
            return cls(text, "local")
        # isprintable: neither control characters nor what reorders text or breaks lines.
        if not text.isprintable() or any(letter.isspace() for letter in text):
            raise UsageError(
                f"{text!r} is not a place: it holds a blank or a control character", hint=_SPELLINGS
            )
        if text.startswith(_NETNS):
            return cls(text, "netns", _namespace(text))
        user, at, host = text.rpartition("@")
        if "://" in text:
            user, at, host = _uri(text)
        if not _HOST.fullmatch(host):
            raise UsageError(f"{text!r} is not a place: it has no host's name", hint=_SPELLINGS)
        if at and not _USER.fullmatch(user):
            raise UsageError(f"{text!r} is not a place: it has no user's name", hint=_SPELLINGS)
        return cls(text, "ssh", text)

    def __str__(self) -> str:
        """The place as it was written."""
        return self.text


def _namespace(text: str) -> str:
    name = text.removeprefix(_NETNS)
    if name.isascii() and name.isdigit():
        return f"/proc/{int(name)}/ns/net"
    if name.startswith("/"):
        return name
    if not _NAMESPACE.fullmatch(name):
        raise UsageError(
            f"{text!r} is not a place: it names no namespace",
            hint="write netns:NAME, netns:/PATH or netns:PID",
        )
    return str(_NAMED / name)


def _uri(text: str) -> tuple[str, str, str]:
    """User, `@` if there is one, and host of `ssh://user@host:port`."""
    found = _URI.fullmatch(text)
    if found is None or int(found["port"] or 22) not in range(1, 65536):
        raise UsageError(f"{text!r} is not a place", hint="write ssh://user@host:port")
    return found["user"] or "", "@" if found["user"] else "", found["host"]
