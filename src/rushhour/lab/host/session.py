"""A session: an agent that runs at a place and does what it is asked (docs/serve-protocol.md).

Three threads serve it: one hears answers, one says every few seconds that we are still here, one keeps what
the connection complains of. The agent ends when its input ends, or when it hears nothing for its patience; we
give it up when we hear nothing for `SILENCE_S`.
"""

from __future__ import annotations

import io
import json
import os
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from rushhour.errors import HostError
from rushhour.lab import agent
from rushhour.lab.host import ssh
from rushhour.lab.host.answers import Hello, typed
from rushhour.lab.host.place import Place
from rushhour.lab.host.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

FORMAT = "rushhour-serve/1"
PATIENCE_S = 30
SILENCE_S = 20.0
_ALIVE_S = 5.0
_ANSWER_S = 30.0
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Timed:
    """An answer, and when on this machine's CLOCK_MONOTONIC it was asked for and heard."""

    value: dict[str, Any]
    sent_ns: int
    received_ns: int


@dataclass
class _Pending:
    verb: str
    sink: BinaryIO
    answer: Future[Timed] = field(default_factory=Future)
    sent_ns: int = 0


class Session:
    """An agent at a place; a context manager. Calls may come from several threads.

    `hello` is what the agent tells of its host (`hostname`, `boot_id`, `kernel`, `capabilities` and more),
    `warnings` are doubts about how it got there.
    """

    def __init__(
        self,
        place: Place,
        transport: Transport,
        *,
        warnings: list[str] | None = None,
        patience_s: int = PATIENCE_S,
    ) -> None:
        self.place = place
        self.warnings = warnings or []
        self._transport = transport
        self._lock, self._writing = Lock(), Lock()
        self._pending: dict[int, _Pending] = {}
        self._count = 0
        self._lost: HostError | None = None
        self._closing = Event()
        self._heard = time.monotonic()
        self._every_s = min(_ALIVE_S, patience_s / 4)
        self._threads = [Thread(target=one, name=f"{one.__name__} {place}", daemon=True)
                         for one in (self._listen, self._keep_alive)]  # fmt: skip
        for thread in self._threads:
            thread.start()
        self.hello = self._greet()

    @classmethod
    def open(
        cls,
        place: Place | str,
        *,
        ssh_config: str | Path | None = None,
        sudo: bool = False,
        patience_s: int = PATIENCE_S,
    ) -> Self:
        """Start an agent at a place and greet it.

        `ssh_config` replaces the user's configuration of the client; `sudo` starts the agent by `sudo -n`;
        `patience_s` is how long the agent goes on without a word from us.

        Raises:
            UsageError: no place, or no such configuration.
            HostError: the place cannot be reached, or the agent cannot run there.
        """
        at = Place.parse(place) if isinstance(place, str) else place
        config = ssh.configuration(ssh_config)
        found = agent.find()
        if at.kind == "ssh":
            transport, warnings = ssh.start(at, found, config=config, sudo=sudo, patience_s=patience_s)
        else:
            transport, warnings = _start_here(at, found, sudo=sudo, patience_s=patience_s), []
        return cls(at, transport, warnings=warnings, patience_s=patience_s)

    def __enter__(self) -> Self:
        """Use the session."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it in order."""
        self.close()

    def call(self, verb: str, *, timeout_s: float | None = _ANSWER_S, **arguments: Any) -> dict[str, Any]:
        """Ask the agent for something, and wait for its answer.

        Raises:
            HostError: it refused, it did not answer in time, or the connection is gone.
        """
        return self.timed(verb, timeout_s=timeout_s, **arguments).value

    def begin(self, verb: str, **arguments: Any) -> Future[dict[str, Any]]:
        """Send a request that takes long; `.result()` waits, and raises as `call` does."""
        told: Future[dict[str, Any]] = Future()
        told.set_running_or_notify_cancel()

        def tell(answer: Future[Timed]) -> None:
            if error := answer.exception():
                told.set_exception(error)
            else:
                told.set_result(answer.result().value)

        self._ask(verb, arguments, io.BytesIO()).answer.add_done_callback(tell)
        return told

    def timed(self, verb: str, *, timeout_s: float | None = _ANSWER_S, **arguments: Any) -> Timed:
        """As `call`, with the times of question and answer."""
        return self._wait(self._ask(verb, arguments, io.BytesIO()), timeout_s)

    def fetch(self, name: str, *, verb: str = "fetch") -> bytes:
        """The bytes of a table that the agent holds; raises as `call` does."""
        sink = io.BytesIO()
        self._wait(self._ask(verb, {"name": name}, sink), None)
        return sink.getvalue()

    def download(self, name: str, path: Path, *, verb: str = "fetch") -> int:
        """Bring a table into a file, whatever its size; how many bytes it has.

        Raises:
            HostError: as `call` does.
            OSError: the file cannot be written.
        """
        with path.open("wb") as sink:
            self._wait(self._ask(verb, {"name": name}, sink), None)
            return sink.tell()

    @property
    def lost(self) -> HostError | None:
        """Why the connection is gone; None while it stands."""
        return self._lost

    def close(self) -> None:
        """End the agent in order: it stops all, puts back what it changed, and goes. May be called twice."""
        if self._closing.is_set():
            return
        self._closing.set()
        try:
            with suppress(HostError):
                self.call("bye")
        finally:
            self._end(2.0 if self._lost else PATIENCE_S)

    def _greet(self) -> Hello:
        try:
            hello = typed(Hello, self.call("hello"), str(self.place))
            _check(self.place, hello)
        except BaseException:
            self._closing.set()
            self._transport.kill()
            self._end(0)
            raise
        return hello

    def _end(self, patience_s: float) -> None:
        self._transport.end(patience_s)
        for thread in self._threads:
            thread.join(_ALIVE_S)

    def _ask(self, verb: str, arguments: Mapping[str, Any], sink: BinaryIO) -> _Pending:
        pending = _Pending(verb, sink)
        with self._lock:
            if self._lost:
                raise self._lost
            self._count += 1
            self._pending[self._count] = pending
            line = json.dumps({"id": self._count, "do": verb, **arguments}, ensure_ascii=False) + "\n"
        # Not under the other lock: who finds out that nobody reads this must be able to say so. And if nobody
        # takes it, who listens will find out why, and tell all that wait.
        with self._writing, suppress(OSError, ValueError):
            pending.sent_ns = time.monotonic_ns()
            self._transport.write(line.encode())
        return pending

    def _wait(self, pending: _Pending, timeout_s: float | None) -> Timed:
        try:
            return pending.answer.result(timeout_s)
        except TimeoutError as error:
            raise HostError(
                f"no answer to `{pending.verb}` within {timeout_s:g} s",
                where=str(self.place),
                hint="is the host very busy?",
            ) from error

    def _listen(self) -> None:
        """Hear answers until there are none, then tell all who wait."""
        why: Callable[[list[str]], HostError] = partial(_ended, self.place, self._transport)
        try:
            with self._transport.lines() as lines:
                while (line := lines.readline()).endswith(b"\n"):
                    self._take(line, lines)
        except (KeyError, ValueError, TypeError) as error:
            why = partial(_garbled, self.place, error)
        except OSError:
            pass
        self._lose(why)

    def _take(self, line: bytes, lines: io.BufferedReader) -> None:
        received = time.monotonic_ns()
        self._heard = time.monotonic()
        said = json.loads(line)
        if said["id"] is None:  # what it says unasked: why it cannot begin, or that a line was no request
            self._lose(lambda _doing: _refusal(self.place, said["error"]))
            return
        with self._lock:
            pending = self._pending.get(said["id"])
        sink = pending.sink if pending else io.BytesIO()
        fault = self._pour(lines, sink, said.get("bytes", 0))
        if pending is None:
            return
        with self._lock:
            del self._pending[said["id"]]
        if fault:
            pending.answer.set_exception(fault)
        elif said["ok"]:
            pending.answer.set_result(Timed(said["value"], pending.sent_ns, received))
        else:
            pending.answer.set_exception(_refusal(self.place, said["error"]))

    def _pour(self, lines: io.BufferedReader, sink: BinaryIO, count: int) -> OSError | None:
        """Take `count` raw bytes, whatever becomes of them; the error if they could not be written."""
        fault = None
        while count:
            data = lines.read1(min(count, _CHUNK))
            if not data:
                raise OSError
            self._heard = time.monotonic()
            count -= len(data)
            try:
                if not fault:
                    sink.write(data)
            except OSError as error:
                fault = error
        return fault

    def _keep_alive(self) -> None:
        while not self._closing.wait(self._every_s) and not self._lost:
            if time.monotonic() - self._heard > SILENCE_S:
                self._lose(partial(_silent, self.place))
                return
            if self._writing.locked():
                continue  # a line is under way, and perhaps nobody takes it
            with suppress(HostError):
                self._ask("alive", {}, io.BytesIO())

    def _lose(self, why: Callable[[list[str]], HostError]) -> None:
        """The connection is gone: tell all who wait, and all who ask from now on."""
        with self._lock:
            if self._lost:
                return
            waiting = [*self._pending.values()]
        doing = [one.verb for one in waiting if one.verb not in {"alive", "bye"}]
        lost = why(doing)
        with self._lock:
            self._lost = lost
            waiting = [*self._pending.values()]
            self._pending.clear()
        self._transport.kill()
        for one in waiting:
            one.answer.set_exception(lost)


def _check(place: Place, hello: Hello) -> None:
    if hello.format != FORMAT:
        raise HostError(
            f"the agent speaks {hello.format!r}, not {FORMAT!r}",
            where=str(place),
            hint="build the agent again with `make agent`",
        )


def _start_here(place: Place, found: agent.Agent, *, sudo: bool, patience_s: int) -> Transport:
    """Start the agent on this machine."""
    words = ["sudo", "-n", "--"] if sudo else []
    words += [str(found.binary), "serve", "--patience", f"{patience_s}"]
    if place.kind == "netns":
        if not os.path.lexists(place.target):
            raise HostError(
                f"there is no such namespace ({place.target})",
                where=str(place),
                hint="`ip netns list` names those that have a name; a PID must be of a living process",
            )
        words += ["--netns", place.target]
    try:
        # What it may need of the environment: where programs are.
        return Transport(words, {"PATH": os.environ.get("PATH", os.defpath)})
    except OSError as error:
        raise HostError(
            f"the agent does not start: {error.strerror}", where=str(place), hint="is sudo installed?"
        ) from error


def _during(doing: list[str]) -> str:
    return f" while it did: {', '.join(doing)}" if doing else ""


def _ended(place: Place, transport: Transport, doing: list[str]) -> HostError:
    code, complaint = transport.ended()
    program = "ssh client" if place.kind == "ssh" else "agent"
    away = "is the host up, and its network? What ran there stops by itself and is put back"
    killed = "was it killed?"
    if code is not None and code < 0:
        last, hint = f"the {program} here was ended by signal {-code}", killed
    elif complaint:
        last, hint = complaint.splitlines()[-1], away if place.kind == "ssh" else killed
    else:
        last, hint = f"the agent is gone (exit code {code})", away if place.kind == "ssh" else killed
    return HostError(
        f"the connection ended{_during(doing)}: {last}", where=str(place), hint=hint, kind="ended"
    )


def _silent(place: Place, doing: list[str]) -> HostError:
    return HostError(
        f"the agent said nothing for {SILENCE_S:g} s{_during(doing)}",
        where=str(place),
        hint="is its network up? The agent there stops by itself and puts back what it changed",
        kind="silent",
    )


def _garbled(place: Place, error: Exception, doing: list[str]) -> HostError:
    return HostError(
        f"the agent's answer cannot be read{_during(doing)}: {error}",
        where=str(place),
        hint="a fault of ours: please report it",
        kind="garbled",
    )


def _refusal(place: Place, error: Mapping[str, Any]) -> HostError:
    about = f"{error['where']}: " if error.get("where") else ""
    return HostError(
        f"{about}{error['message']}", where=str(place), hint=error.get("hint"), kind=error.get("kind")
    )
