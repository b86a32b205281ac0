"""A cause that held a TCP flow: for which share of its time, where, and the inequality that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.causes.table import CAUSES

if TYPE_CHECKING:
    from rushhour.causes.cause import Cause


@dataclass(frozen=True, slots=True)
class Held:
    """One cause that limited a flow.

    Attributes:
        key: The cause, a key of the table.
        where: The end that has to act, or the direction.
        limited: Share of the flow's time.
        law: The inequality that holds, with its numbers.
        expected_bps: What the flow would reach without it; None where nobody can say.
        limit: The limit whose rule names it (`rushhour.causes.rules`); empty where measurements do.
    """

    key: str
    where: str
    limited: float
    law: str
    expected_bps: float | None = None
    limit: str = ""

    @property
    def cause(self) -> Cause:
        """The cause's row in the table."""
        return CAUSES[self.key]
