"""What rules of every flow are made of: a cause's sentence, for how long it held, and what shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import Named
from rushhour.causes.table import CAUSES
from rushhour.quantities.short import percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.causes.evidence import Cure, Evidence, Shown

    Rule = Callable[[Evidence, float], Named | None]

LEAST_TIMEOUT = "200 ms"
"""The least retransmission timeout where nothing sets another (TCP_RTO_MIN of <net/tcp.h>)."""
NO_ORIGIN = "their origin did not show"


def said(key: str, where: str, cure: Cure | None = None, **words: str) -> Named:
    """What is said of a cause: its sentence of the table, with these words."""
    return Named(key, where, sentence(key, **words), cure)


def sentence(key: str, **words: str) -> str:
    """A cause's sentence, with these words."""
    return CAUSES[key].says.format(**words)


def held(share: float) -> str:
    """For how much of the time a limit held."""
    return f"for {percent(share)} of the time"


def told(e: Evidence, key: str, shown: Shown, share: float, cure: Cure | None = None) -> Named:
    """What is said of a cause that something shows: its sentence, with the words of what shows it."""
    says = sentence(key, **{"held": held(share), **shown.words})
    whole = " ".join(part for part in (shown.before, says, shown.after) if part)
    return Named(key, shown.host or e.sender, whole, cure, shown.law, shown.queue)


def lasting(one: Named | None, share: float) -> Named | None:
    """The same, which counts for this share of the time instead of its limit's."""
    return None if one is None else replace(one, share=share)


def by_shown(
    e: Evidence, key: str, share: float, cure: Cure | Callable[[Shown], Cure] | None = None, host: str = ""
) -> Named | None:
    """A cause where something shows it, at this host if it is one of a host."""
    shown = e.shown(key, host)
    if shown is None:
        return None
    return told(e, key, shown, share, cure(shown) if callable(cure) else cure)
