"""The roll of workers: who is there, and whether it can take part."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any, TypeVar

from rushhour.errors import FleetError, LabError, RushHourError
from rushhour.fleet import worker
from rushhour.lab import clock
from rushhour.quantities.words import plural
from rushhour.summary import measured
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.fleet.address import Address
    from rushhour.fleet.members import Member
    from rushhour.fleet.post import Post
    from rushhour.record.slim import Wanted

T = TypeVar("T")
# Certificates, and everything that is dated, need clocks that agree about so well.
_CLOCK_S = 60.0
_LOOK_S = 0.2
_SAY_S = 5.0


def first(post: Post, address: Address, tell: Callable[[str], None]) -> Mapping[str, int]:
    """The workers as soon as there are any.

    Raises:
        FleetError: there are none for as long as the address has patience.
    """
    return awaited(post.workers, address, tell)


def awaited(
    workers: Callable[[], Mapping[str, T]],
    address: Address,
    tell: Callable[[str], None],
    look: Callable[[], None] = lambda: None,
    every_s: float = _LOOK_S,
) -> Mapping[str, T]:
    """Workers as soon as there are any; `look` is called as long as there are none, and may know better.

    Raises:
        FleetError: there are none for as long as the address has patience.
    """
    begin, say = clock.monotonic(), late(tell, f"{address.word} has no workers yet; waiting for one")
    while not (there := workers()):
        if clock.monotonic() - begin > address.patience_s:
            raise FleetError(
                f"the scheduler of {address.word} has no workers",
                hint="on each machine: dask worker SCHEDULER, in an environment with rushhour[fleet]",
            )
        say()
        look()
        clock.sleep(every_s)
    return there


def late(tell: Callable[[str], None], text: str) -> Callable[[], None]:
    """What tells this, once, when it is called after some seconds: what takes no time needs no word."""
    begin, said = clock.monotonic(), False

    def say() -> None:
        nonlocal said
        if not said and clock.monotonic() - begin > _SAY_S:
            tell(text)
            said = True

    return say


def examined(
    told: Mapping[str, Any], member: Member, wanted: Wanted, between: tuple[float, float]
) -> tuple[str, str | None]:
    """What a worker said that it is: its host's name, and why it cannot take part, if so.

    It was asked and answered `between` these times, in seconds since 1970.
    """
    if "error" in told:
        return "", sentence(told["error"])
    member.measures = told.get("measures") == measured.code()
    reason = _unfit(told, *between)
    if reason is None and not (member.measures or wanted.tables):
        reason = "it measures with another Python or numpy: install the same there, or keep records"
    return told["host"], reason


def _unfit(told: Mapping[str, Any], before: float, after: float) -> str | None:
    if told["machine"] != platform.machine():
        return f"it is {told['machine']}, and virtual kernels run on {platform.machine()} only"
    if told["version"] != __version__:
        return f"it has rushhour {told['version']}, and this is {__version__}: install the same wheel there"
    if told["code"] != worker.code():
        return f"it has another build of rushhour {__version__}: install the same wheel there"
    off = max(before - told["clock"], told["clock"] - after)
    if off > _CLOCK_S:
        return f"its clock is wrong by {off:.0f} s: set it, by NTP for example"
    if told["memory"] is not None:
        return f"it has too little memory: {told['memory']}"
    return None


def refusal(error: BaseException) -> str:
    """Why a worker that did not answer cannot take part."""
    if isinstance(error, (ImportError, AttributeError)):
        return f"it has no rushhour with a fleet, or an older one: {error}"
    if "deserializ" in str(error):
        return "the scheduler or this worker has no rushhour, or another one: install the same wheel there"
    return f"it does not answer: {type(error).__name__} {error}".strip()


def sentence(told: Mapping[str, Any]) -> str:
    """What a worker said went wrong, in a line."""
    first_line = str(told["message"]).partition("\n")[0].rstrip(":; ")
    return first_line + (f" ({told['where']})" if told["where"] else "")


def none_left(word: str, why: str) -> FleetError:
    """What ends a sweep without workers; `why` has the lines about the last of them."""
    return FleetError(
        f"no worker of {word} is left; what has finished is kept",
        hint=f"{why}when there are workers again, the same command goes on",
    )


def deadly(workers: int) -> LabError:
    """What a run fails with that workers do not outlive."""
    what = f"{plural(workers, 'worker')} went away while they made this run"
    return LabError(what, hint="does it need more memory than they have?")


def lost(word: str, error: BaseException) -> RushHourError:
    """What ends a sweep when the scheduler of this address cannot be asked any more."""
    if isinstance(error, RushHourError):
        return error
    if not isinstance(error, (OSError, TimeoutError, RuntimeError)):
        broken = FleetError(f"the runs of {word} cannot be led on: {type(error).__name__}: {error}")
        broken.__cause__ = error
        return broken
    return FleetError(
        f"the scheduler of {word} is gone; what has finished is kept",
        hint="when it is there again, the same command goes on where this one stopped",
    )
