"""What goes between the controller and the scheduler: messages to one worker each, and the roll of workers.

The only place that uses Dask's client.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, RushHourError
from rushhour.fleet import faults, message, parts, worker
from rushhour.record.slim import WHOLE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from distributed import Client

    from rushhour.lab.base import Job
    from rushhour.lab.uml import UmlLab
    from rushhour.record.slim import Wanted

# A worker that does not say within this time what it is, or takes so long for a file, is of no use.
_ASK_S = 120.0
# A scheduler that does not say within this time who is there, is gone.
_ROLL_S = 30.0


class Post:
    """Messages to workers. May be used by several threads at once."""

    def __init__(self, client: Client, lab: UmlLab, wanted: Wanted = WHOLE) -> None:
        self._client, self._lab, self._wanted = client, lab, wanted
        self._about = parts.about_lab(lab)
        self._needs = parts.Needs()
        self._files: dict[str, Path] = {lab.agent.sha256: lab.agent.binary}
        self._of: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}
        self._asked: dict[Any, str] = {}
        self._lock = Lock()

    def workers(self) -> dict[str, int]:
        """The workers that the scheduler has, by address, and how many runs each makes at once.

        Raises:
            OSError: the scheduler is gone.
        """
        if self._client.status != "running":
            raise OSError("the connection to the scheduler is lost")
        # A scheduler that is frozen, or whose cable is cut, is as good as gone.
        return dict(self._client.sync(self._client.scheduler.ncores, callback_timeout=_ROLL_S))

    def is_busy(self, address: str) -> bool:
        """Whether a worker makes runs, or has to, of whatever command.

        Raises:
            OSError: the scheduler is gone.
        """
        going = self._client.sync(
            self._client.scheduler.processing, workers=[address], callback_timeout=_ROLL_S
        )
        with self._lock:
            ours = {future.key for future, to in self._asked.items() if to == address}
        return bool({*going.get(address, ())} - ours)

    def taken_apart(self, job: Job, key: str) -> dict[str, Any]:
        """A job as messages have it."""
        return parts.taken_apart(self._lab, job, key, self._needs)

    def files_of(self, job: Job) -> frozenset[str]:
        """The SHA-256 of the files that a job needs."""
        kind = (str(job.kernel.identity["image_sha256"]), tuple(job.plan.tools))
        with self._lock:
            if kind not in self._of:
                found = parts.files_of(self._lab, job)
                self._files |= found
                self._of[kind] = frozenset(found)
            return self._of[kind]

    def asked(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """A job as messages have it, with the kernel's identity."""
        return {**told, "identity": self._needs.kernels[told["image"]]["identity"]}

    def begin(self, address: str, told: Sequence[Mapping[str, Any]]) -> Any:
        """Have a worker carry out runs; gives Dask's future."""
        images, tools = {one["image"] for one in told}, {tool for one in told for tool in one["tools"]}
        needs = {
            "kernels": {image: self._needs.kernels[image] for image in images},
            "tools": {tool: self._needs.tools[tool] for tool in tools},
        }
        about = {"lab": self._about, "tables": self._wanted.tables, "storage": self._wanted.storage}
        return self._submitted(address, message.pack({"do": "run", **about, "needs": needs, "runs": told}))

    def ask(self, address: str, header: Mapping[str, Any], pieces: Sequence[bytes] = ()) -> dict[str, Any]:
        """Ask a worker something, and wait for what it answers.

        Raises:
            TimeoutError: it does not answer.
        """
        future = self.send(address, message.pack(header, pieces))
        try:
            return message.unpack(future.result(timeout=_ASK_S))[0]
        finally:
            self.cancel(future)

    def forget(self, address: str | None = None) -> None:
        """Wait no longer for what a worker was asked, or for all: it went away, or the command ends."""
        with self._lock:
            asked = [future for future, to in self._asked.items() if address in (None, to)]
        self.cancel(*asked)

    def equip(self, address: str, digests: Collection[str]) -> str | None:
        """Give a worker files that it lacks; the reason, if it cannot keep them."""
        asked = self.ask(address, {"do": "examine", "files": sorted(digests)})
        for digest in asked.get("lacks", ()):
            content = self._files[digest].read_bytes()
            asked = self.ask(address, {"do": "take", "files": [digest]}, [content])
        told = asked.get("error")
        return (
            None if told is None else str(told["message"]) + (f" ({told['where']})" if told["where"] else "")
        )

    def answer(self, future: Any) -> tuple[dict[str, Any], list[bytes]] | None:
        """What came of a task: header and pieces; None if it has none, for its worker went away."""
        if future.status in ("cancelled", "lost"):
            return None
        try:
            return message.unpack(future.result(timeout=_ASK_S))
        except RushHourError as error:
            return {"error": faults.document(error)}, []
        except Exception as error:  # noqa: BLE001 - whatever Dask raises: a lost worker, a lost connection
            if future.status != "error":
                return None
            return {
                "error": faults.document(LabError(f"it answers with {type(error).__name__}: {error}"))
            }, []
        finally:
            future.release()

    def cancel(self, *futures: Any) -> None:
        """Have nothing more come of tasks; their workers end them."""
        with self._lock:
            for future in futures:
                self._asked.pop(future, None)
        with suppress(Exception):  # the scheduler may be gone, and then nobody waits for them either
            self._client.cancel([future for future in futures if future is not None], force=True)

    def send(self, address: str, request: bytes, *, first: bool = False) -> Any:
        """Send a worker a question; gives Dask's future, until `cancel` or `forget`.

        One that goes `first` is not behind what the worker has been given and has not begun.
        """
        future = self._submitted(address, request, priority=int(first))
        with self._lock:
            self._asked[future] = address
        return future

    def _submitted(self, address: str, request: bytes, priority: int = 0) -> Any:
        how = {"workers": [address], "allow_other_workers": False, "pure": False, "retries": 0}
        return self._client.submit(worker.serve, request, priority=priority, **how)
