"""Orders to hosts: `there.py` goes there by the user's OpenSSH client and is run by the host's Python.

The client, its options and the place are those of the hosts lab (`lab.host.ssh`). The command is constant; a
script of POSIX shell finds a Python that is new enough. An order that changes something is carried out only
when the host hears `go` after it, so a client that outlives this program carries out nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rushhour.errors import HostError
from rushhour.fleet.marked import MARK
from rushhour.lab.host import ssh
from rushhour.lab.host.transport import SilentError, Transport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.lab.host.place import Place

_SILENCE_S = 60
# To install an environment on a slow disk, from a slow index.
LONG_S = 1800
_OLDEST = (3, 11)
_PYTHONS = ("python3", *(f"python3.{minor}" for minor in range(16, 10, -1)))
# What is sent, in the order in which it is needed; the last is started.
_MODULES = ("marked", "there")
_BEGIN = """
import json, sys, types
size = int(sys.argv[1])
text = sys.stdin.buffer.read(size)
if len(text) == size:
    for name, source in json.loads(text):
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(source, name, "exec"), module.__dict__)
    module.main()
"""
# One compound command: a script of which only a part arrives is a syntax error, and does nothing.
_VERSION = f'import sys; print("%d.%d" % sys.version_info[:2], sys.version_info >= {_OLDEST})'
_SCRIPT = """{{
set -f
umask 077
{mark}
tried=
for python in {pythons}; do
    found=$("$python" -c '{version}' 2> /dev/null < /dev/null) || found=
    case $found in
        *True) exec "$python" -I -c '{begin}' {size} ;;
        *False) tried="$tried $python is ${{found% False}}," ;;
    esac
done
printf '\\nrushhour-session/1 error {{"kind": "python", "message": "%s", "more": ""}}\\n' "${{tried%,}}"
exit 1
}}
"""
# What a host refuses by: what that means, and what to do; {0} is what it said.
_REFUSALS = {
    "python": (
        "no Python from 3.11 on was found there ({0})",
        'install one, or name it in the inventory: python = "/opt/python3.12/bin/python3"',
    ),
    "room": ("there is no room: {0}", "make room there, or set XDG_CACHE_HOME for the user's logins"),
    "full": ("the disk is full: {0}", "make room there, or set XDG_CACHE_HOME for the user's logins"),
    "files": (
        "a file cannot be written: {0}",
        "give the user a writable ~/.cache, or set XDG_CACHE_HOME for the user's logins",
    ),
    "venv": (
        "Python there makes no environment: {0}",
        "install its module venv (Debian, Ubuntu: package python3-venv), or name another in the inventory",
    ),
    "pip": (
        "the packages could not be installed: {0}",
        "a host without a package index takes them from here: --wheels FOLDER (docs/howto-fleet.md)",
    ),
    "import": (
        "what was installed does not start: {0}",
        "try again with `rushhour fleet down --purge` before",
    ),
    "module": (
        "its python lacks a package: {0}",
        "install rushhour[fleet] there, as of this version, or leave `python` out of the inventory",
    ),
    "reach": (
        "the scheduler does not answer there: {0}",
        "does a firewall drop it? --listen and --port say where the scheduler listens",
    ),
    "busy": ("{0}", "`rushhour fleet down` ends it"),
    "slow": ("{0}", "is the host very busy? The end of its log:"),
    "ended": ("it ended at once: {0}", "the end of its log:"),
}


@dataclass(frozen=True)
class Login:
    """A place, the user's configuration for it, and the Python that is used there, if one is named."""

    place: Place
    config: Path | None = None
    python: str | None = None

    def order(
        self, word: str, about: Mapping[str, Any], *, payload: Sequence[bytes] = (), long: bool = False
    ) -> dict[str, Any]:
        """Have the host do something; its answer.

        Args:
            word: One of the orders of `there.py`.
            about: What the order says.
            payload: Bytes that it takes if it asks for them.
            long: It may take many minutes.

        Raises:
            HostError: it cannot be reached, or it refuses: why, and what to do.
        """
        source = _source()
        script = self._script(word, about, len(source))
        line = json.dumps({"do": word, **about}).encode() + b"\n"
        try:
            transport = Transport(self._words(script), os.environ | {"SSH_ASKPASS_REQUIRE": "never"})
        except OSError as error:
            message = f"{error.filename or 'a program'} does not start: {error.strerror}"
            raise HostError(message, where=str(self.place), machine=True) from error
        try:
            answer = self._said(transport, script + source + line, _SILENCE_S)
            if answer is None:
                data = b"".join(payload) + b"go\n"
                answer = self._said(transport, data, LONG_S if long else 3 * _SILENCE_S)
        finally:
            transport.abandon()
        assert answer is not None
        return answer

    def _script(self, word: str, about: Mapping[str, Any], size: int) -> bytes:
        # What ends a fleet must not find itself.
        marked = word in {"stock", "start"}
        mark = f"{MARK}={about['fleet']}/{about['name']}; export {MARK}" if marked else ":"
        pythons = _quoted(self.python) if self.python else " ".join(_PYTHONS)
        return _SCRIPT.format(mark=mark, pythons=pythons, version=_VERSION, begin=_BEGIN, size=size).encode()

    def _words(self, script: bytes) -> list[str]:
        if self.place.kind == "ssh":
            return ssh.command(self.place, self.config, script)
        here = ["/bin/sh", "-c", f'eval "$(head -c {len(script)})"']
        return here if self.place.kind == "local" else ["nsenter", f"--net={self.place.target}", "--", *here]

    def _said(self, transport: Transport, data: bytes, silence_s: float) -> dict[str, Any] | None:
        """What a host answers: None where it asks for more."""
        try:
            said = transport.exchange(data, silence_s)
        except SilentError:
            hint = "does `ssh HOST true` answer at once, and without a question?"
            raise self._error(f"no answer within {silence_s:g} s", hint, "silent") from None
        if said is None:
            raise self._gone(transport)
        word, _, about = said.partition(" ")
        if word == "send":
            return None
        document: dict[str, Any] = json.loads(about)
        if word == "done":
            return document
        message, hint = _REFUSALS[document["kind"]]
        told = message.format(document["message"].strip() or "none at all")
        more = "\n".join(document["more"].strip().splitlines()[-8:])
        raise self._error(told, f"{hint}\n{more}" if more else hint, document["kind"])

    def _gone(self, transport: Transport) -> HostError:
        """The connection ended without an answer: why."""
        code, complaint = transport.ended()
        if self.place.kind == "ssh" and (found := ssh.explain(complaint)):
            return self._error(*found, "ssh")
        last = complaint.splitlines()[-1] if complaint else f"exit code {code}"
        hint = "try `ssh HOST /bin/sh -c true`" if self.place.kind == "ssh" else "try it by hand"
        return self._error(f"it gave no answer: {last}", hint, "ended")

    def _error(self, message: str, hint: str, kind: str) -> HostError:
        return HostError(
            message, where=str(self.place), hint=hint.replace("HOST", self.place.target), kind=kind
        )


@cache
def _source() -> bytes:
    """The modules that are sent: names and texts."""
    room = files(__package__)
    texts = [(f"{__package__}.{name}", room.joinpath(f"{name}.py").read_text("utf-8")) for name in _MODULES]
    return json.dumps(texts).encode()


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"
