"""The rules that hold for every TCP flow, of a record or between two hosts.

A rule takes the evidence and the share of the time in which its limit held; its file lists it under that
limit. Of the rules of one limit the first that knows the flow speaks. Some evidence only one source has: only
a real host has processors, only a record has counted what each queue dropped. The other source then shows
nothing, and the table says so (`Cause.shown_by`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes import end_rules, loss_rules, path_rules

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rushhour.causes.evidence import Evidence, Named
    from rushhour.causes.telling import Rule

RULES: Mapping[str, tuple[Rule, ...]] = {**end_rules.RULES, **loss_rules.RULES, **path_rules.RULES}
"""Limit → its rules, in order."""


def named(e: Evidence, limit: str, share: float, without: Collection[str] = ()) -> Named | None:
    """What the first rule of a limit says that knows the flow; causes of `without` are left out."""
    said = (rule(e, share) for rule in RULES[limit])
    return next((one for one in said if one is not None and one.key not in without), None)
