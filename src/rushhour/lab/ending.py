"""What came of a run: its result, or the error that its end deserves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import AgentError, LabError, UnsupportedError
from rushhour.lab import console
from rushhour.lab.base import CancelledError
from rushhour.record.json_file import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.confine import Ending, Sandbox


def result_of(ending: Ending, sandbox: Sandbox, where: str, *, native: bool = False) -> Mapping[str, object]:
    """What the agent reports (`result.json`) of a run that went well.

    Args:
        ending: How the process ended.
        sandbox: Where it wrote.
        where: The run, for errors.
        native: It was the agent alone, without a virtual kernel.

    Raises:
        CancelledError: it was stopped.
        AgentError: the agent reports a failure.
        LabError: it ended without a result.
    """
    if ending.reason == "cancelled":
        raise CancelledError("stopped", where=where)
    result = sandbox.out / "result.json"
    # The agent says by its exit code what its result says better.
    ended = ending.reason == "done" or (native and ending.reason == "killed" and ending.signal is None)
    if not ended or result.is_symlink() or not result.is_file():
        console.check_room(sandbox.out)
        raise console.explain(
            ending, sandbox.console, where, native=native, begun=sandbox.begun, reached_s=sandbox.reached_s
        )
    report = read_json(result)
    if report.get("ok") is not True:
        console.check_room(sandbox.out)
        raise agent_error(report.get("error"), where)
    return report


def spinning(programs: Sequence[str], where: str) -> LabError:
    """The error of a run in which virtual time stood still while these programs were there."""
    shown = ", ".join(programs[:8]) + (" …" if len(programs) > 8 else "")
    return LabError(
        f"virtual time stood still: a program computes without end, and computing takes no time ({shown})",
        where=where,
        hint="what it waits for cannot come meanwhile: let it sleep or poll; "
        "where the machine is only slow, allow more with RUSHHOUR_STALL (seconds)",
    )


def agent_error(error: object, where: str) -> AgentError:
    """The error that an agent reports; `UnsupportedError` where the kernel lacks something."""
    if not isinstance(error, dict):
        return AgentError("the agent failed without a reason", where=where, hint="look at console.log")
    place = f"{where}: {error['where']}" if error.get("where") else where
    kind = UnsupportedError if error.get("kind") == "unsupported" else AgentError
    return kind(str(error.get("message")), where=place, hint=error.get("hint"))
