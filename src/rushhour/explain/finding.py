"""What an explanation consists of: a cause with its share of the time, a sentence, and what would help."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Remedy:
    """What would help.

    Attributes:
        advice: In words, an imperative.
        command: What a person types on the host that is named in `advice`; empty where there is none.
        overrides: The same as `--set KEY=VALUE` of the scenario; empty where the scenario cannot say it.
        instead: Another way to it, as `overrides`; of it no number is promised, but that it is no worse.
        expected_bps: The goodput that is then reached at least; None where theory gives none.
        expected_wait_s: The median wait at the finding's queue is then at most this; None: not spoken of.
    """

    advice: str
    command: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    expected_bps: float | None = None
    expected_wait_s: float | None = None
    instead: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """One cause: its word (docs/explain.md lists them), the share of the time it held, what is said of it.

    `limit` is what its remedy takes away (of `rushhour.explain.LIMITS`); `where` the queue it speaks of.
    """

    cause: str
    share: float
    says: str
    remedy: Remedy | None = None
    limit: str = ""
    where: str = ""
