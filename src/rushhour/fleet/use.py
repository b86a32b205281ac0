"""Using a fleet for a while: the one door that commands go through."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.fleet.address import resolve
from rushhour.fleet.connect import connected
from rushhour.fleet.executor import AUDIT, Fleet
from rushhour.lab.uml import UmlLab
from rushhour.record.manifest import VIRTUAL
from rushhour.record.slim import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.lab.base import Lab
    from rushhour.record.slim import Wanted


@contextmanager
def fleet(
    word: str,
    lab: Lab,
    *,
    audit: float = AUDIT,
    jobs: int | None = None,
    wanted: Wanted = WHOLE,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Fleet]:
    """A fleet that carries out the runs of a lab.

    Args:
        word: Where: what `--on` says (`rushhour.fleet.address`).
        lab: Whose runs; it has to be one in virtual time.
        audit: Share of the runs that are made twice, on different workers; 0: none.
        jobs: Runs at once at most; by default what the workers take.
        wanted: What is to be kept of runs (`rushhour.running.runner.keeping`).
        tell: Is told what a person should know.

    Raises:
        UsageError: the word names nothing, or the lab is in real time.
        ExtraError: a package is missing.
        FleetError: nobody answers there, or there are no workers.
    """
    address = resolve(word)
    if lab.name not in VIRTUAL or not isinstance(lab, UmlLab):
        raise UsageError(
            f"--on {word}: the lab {lab.name} is in real time, and its runs are made where it is",
            hint="leave --on out; or --lab uml, whose runs are the same on every machine",
        )
    with (
        connected(address, tell) as client,
        Fleet(client, lab, address, audit=audit, jobs=jobs, wanted=wanted, tell=tell) as made,
    ):
        yield made
