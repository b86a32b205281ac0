"""The OpenSSH client: an agent brought to a host and started there, over one connection and in one command.

The client is the user's own: configuration, keys, agent, jumps, known hosts. What is set here keeps it from
asking, from waiting for ever, and from doing what a configuration asks of an interactive login.

The command is constant. It reads a script from standard input, the script takes the agent from there
(`bootstrap.sh`), and from then on the agent speaks. So a login shell of any kind reads nothing but constants,
and one connection carries all: there is nothing to multiplex. A master connection that the user already
has is used; none is made, for it would outlive us.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import HostError, UsageError
from rushhour.files.zipped import zipped
from rushhour.lab import agent, packages
from rushhour.lab.host.transport import SilentError, Transport

if TYPE_CHECKING:
    from rushhour.lab.host.place import Place

VARIABLE = "RUSHHOUR_SSH_CONFIG"
CONNECT_S = 15
# Silence while connecting: the client's own limit, a jump's on top of it.
_SILENCE_S = 3 * CONNECT_S
# Bytes a second of a line that is worth waiting for.
_SLOWEST = 4096
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": str(CONNECT_S),
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ControlMaster": "no",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "LogLevel": "INFO",
}

# What the client complains of, what that means, and what to do. The first that fits is told.
_FAILURES = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed: this may be another machine",
        "if the change is right, forget the old key with `ssh-keygen -R HOST` and log in once by hand",
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "its host key is not known",
        "log in once by hand with `ssh HOST` and compare the key",
    ),
    (
        r"Could not resolve hostname (\S+?):",
        "the name {0} is not known",
        "check the spelling, or give it a `Host` entry in ~/.ssh/config",
    ),
    (
        r"Permission denied \(([^)]*)\)",
        "it refuses the login (it offers {0})",
        "nothing is asked here, no password either: load the key with `ssh-add`, or open a master connection",
    ),
    (
        r"Too many authentication failures",
        "it refuses the login after too many keys",
        "name one key for this host: `IdentityFile` and `IdentitiesOnly yes` in ~/.ssh/config",
    ),
    (
        r"Connection closed by|closed by remote host|Connection reset|Broken pipe",
        "the connection broke off",
        "is it up? `ssh -v HOST true` tells where it ends",
    ),
    (r"Connection refused", "nothing listens there", "is sshd running, and is this its port?"),
    (
        r"Connection timed out|Operation timed out|timeout during banner",
        "it does not answer",
        "is it up, and does a firewall drop the packets?",
    ),
    (
        r"No route to host|Network is unreachable",
        "there is no way to it",
        "check address, routes and the jump host",
    ),
    (
        r"Bad configuration option|Can't open user config file|Bad owner or permissions|terminating, \d+ bad",
        "the client does not accept its configuration",
        "mend the file it names; `ssh -G HOST` checks it",
    ),
)
# What the script says: the message and what to do.
_REFUSALS = {
    "machine": (
        "the host is {0}, and there is no agent for that here",
        "for 64-bit ARM: `make agent-aarch64`; or choose another host",
    ),
    "place": (
        "there is no folder that can hold and start the agent ({0})",
        "give the user a folder that is writable, not mounted noexec, and has 3 MB of room: ~/.cache will do",
    ),
    "room": (
        "the agent could not be written: is there no space left?",
        "make room in /dev/shm, /tmp or ~/.cache",
    ),
    "short": (
        "only {0} bytes of the agent arrived",
        "try again; does a start-up file of the shell read input?",
    ),
    "damaged": ("the agent arrived damaged", "try again"),
    "exec": ("the agent does not start there: {0}", "does a security policy forbid programs of the user's?"),
    "sudo": ("sudo refuses: {0}", "allow it without a password, or log in as root"),
}


def configuration(asked: str | Path | None) -> Path | None:
    """The client's configuration file, if not the user's own: what was asked for, or `RUSHHOUR_SSH_CONFIG`.

    Raises:
        UsageError: there is no such file.
    """
    named = asked or os.environ.get(VARIABLE)
    if not named:
        return None
    path = Path(named)
    if not path.is_file():
        raise UsageError(
            f"no such file: {path}", hint=f"--ssh-config and {VARIABLE} name a file for `ssh -F`"
        )
    return path.resolve()


def command(place: Place, config: Path | None, script: bytes) -> list[str]:
    """The client's command line: constants, the configuration's path, the place, the script's length."""
    words = ["ssh", *(["-F", str(config)] if config else [])]
    for key, value in _OPTIONS.items():
        words += ["-o", f"{key}={value}"]
    remote = f"""exec /bin/sh -c 'eval "$(head -c {len(script)})"'"""
    return [*words, "--", place.target, remote]


def bootstrap(found: agent.Agent, *, sudo: bool, patience_s: int) -> bytes:
    """The script that takes this agent, checks it and starts it."""
    given = {
        "size": found.binary.stat().st_size,
        "packed": len(_packed(found)),
        "digest": found.sha256,
        "machine": found.machine,
        "patience": patience_s,
        "sudo": "yes" if sudo else "no",
    }
    head = "".join(f"{name}={value}\n" for name, value in given.items())
    return head.encode() + files(__package__).joinpath("bootstrap.sh").read_bytes()


def start(
    place: Place, found: agent.Agent, *, config: Path | None, sudo: bool, patience_s: int
) -> tuple[Transport, list[str]]:
    """Bring the agent to a host and start it: the connection that it speaks over, and warnings.

    A host of another kind of machine is brought the agent for that, if there is one.

    Raises:
        HostError: it cannot be reached, or the agent cannot run there.
    """
    try:
        return _start(place, found, config=config, sudo=sudo, patience_s=patience_s)
    except HostError as error:
        system, _, machine = str(error.args[-1]).partition(" ")
        other = agent.find_for(machine) if error.kind == "machine" and system == "Linux" else None
        if other is None or machine == found.machine:
            raise
    return _start(place, other, config=config, sudo=sudo, patience_s=patience_s)


def _start(
    place: Place, found: agent.Agent, *, config: Path | None, sudo: bool, patience_s: int
) -> tuple[Transport, list[str]]:
    script = bootstrap(found, sudo=sudo, patience_s=patience_s)
    environment = os.environ | {"SSH_ASKPASS_REQUIRE": "never"}
    try:
        transport = Transport(command(place, config, script), environment)
    except OSError as error:
        raise HostError(
            f"the OpenSSH client does not start: {error.strerror}",
            where=str(place),
            hint=packages.advice("ssh"),
            machine=True,
        ) from error
    try:
        how = _expect(place, transport, script, "", "send")
        data = _packed(found) if how == "packed" else found.binary.read_bytes()
        said = _expect(place, transport, data, "send", "ready")
    except BaseException:
        transport.abandon()
        raise
    unchecked = "the agent's bytes were not checked at the host: it has no sha256sum"
    return transport, [unchecked] if "unchecked" in said else []


def explain(complaint: str) -> tuple[str, str] | None:
    """What a complaint of the client means, and what to do; None if it is none that is known."""
    for pattern, meaning, hint in _FAILURES:
        if found := re.search(pattern, complaint):
            return meaning.format(*found.groups()), hint
    return None


@cache
def _packed(found: agent.Agent) -> bytes:
    """The agent for slow lines: less than half of its size."""
    return zipped(found.binary.read_bytes())


def _expect(place: Place, transport: Transport, data: bytes, began: str, word: str) -> str:
    """Send data to a script that said `began` last; what it says after `word`."""
    # What was taken from us is not there yet: buffers on the way hold megabytes.
    silence_s = _SILENCE_S + len(data) // _SLOWEST
    try:
        said = transport.exchange(data, silence_s)
    except SilentError:
        raise _error(
            place,
            f"no answer within {silence_s} s{_noise(transport)}",
            "does `ssh HOST true` answer at once, and without a question?",
            "silent",
        ) from None
    if said is None:
        raise _nothing_more(place, transport, began)
    first, _, rest = said.partition(" ")
    if first == word:
        return rest
    kind, _, about = rest.partition(" ")
    message, hint = _REFUSALS[kind]
    error = _error(place, message.format(about), hint, kind)
    # What the script told, for whoever can do something about it.
    error.args = (*error.args, about)
    raise error


def _nothing_more(place: Place, transport: Transport, began: str) -> HostError:
    """The output ended before the agent spoke: why."""
    code, complaint = transport.ended()
    if found := explain(complaint):
        return _error(place, *found, "ssh")
    if code is not None and code < 0:
        return _error(place, f"the ssh client was ended by signal {-code}", "was it killed?", "ended")
    if complaint:
        return _error(place, f"ssh failed: {complaint.splitlines()[-1]}", "try `ssh HOST true`", "ssh")
    if began:
        message = f"the connection ended while the agent was brought (exit code {code})"
        return _error(place, message, "was the login ended at the host?", "ended")
    return _error(
        place,
        f"the login started no POSIX shell (exit code {code}){_noise(transport)}",
        "the user needs a login shell that runs commands: `ssh HOST /bin/sh -c true` must do nothing",
        "shell",
    )


def _error(place: Place, message: str, hint: str, kind: str) -> HostError:
    return HostError(message, where=str(place), hint=hint.replace("HOST", place.target), kind=kind)


def _noise(transport: Transport) -> str:
    said = " ".join(transport.noise.split())
    return f"; it said: {said[:200]}" if said else ""
