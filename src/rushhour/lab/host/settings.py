"""Settings of a machine, by a session: looked at, applied, put back (docs/serve-protocol.md, settings).

What is applied holds as long as its session and is put back by the machine itself, however the session ends;
what is *kept* holds until it is reverted, or the machine starts anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rushhour.lab.host import answers
from rushhour.lab.host.answers import typed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.host.answers import Journal, Looked, Made, Skipped, Undone


# Stopping a service may take systemd's patience, which is 90 s.
_PATIENCE_S = 120.0
_NO_VALUES = frozenset({"kind", "dev", "name", "if_there"})


class Asked(Protocol):
    """What a session is here (`rushhour.lab.host.session.Session` is one)."""

    def call(self, verb: str, *, timeout_s: float | None = ..., **arguments: Any) -> dict[str, Any]:
        """Ask for something; `HostError` when it is refused."""


@dataclass(frozen=True, slots=True)
class Row:
    """A change as it would be made: what it is about, its value before and after, or why it cannot be."""

    change: Mapping[str, object]
    key: str
    before: str
    after: str
    same: bool = False
    error: str | None = None
    hint: str | None = None

    @property
    def skipped(self) -> bool:
        """Whether it would be left out without complaint."""
        return self.same or (self.error is not None and self.change.get("if_there") is True)


@dataclass(slots=True)
class Applied:
    """What was changed at a machine.

    `applied` are changes with `before` and `after`, `skipped` those that were not made with `why`, `put_back`
    what an earlier session had left changed there and was put back first.
    """

    session: Asked
    who: str
    applied: Sequence[Made]
    skipped: Sequence[Skipped]
    put_back: Sequence[Undone]

    def restore(self) -> list[Undone]:
        """Put everything back that this session changed; each change with its `outcome`.

        Raises:
            HostError: the connection is gone; then the machine does it by itself.
        """
        return list(typed(answers.Undo, self.session.call("restore", timeout_s=_PATIENCE_S)).undone)

    def document(self) -> dict[str, object]:
        """What a record says of it."""
        made = [
            {"setting": about(one.change), "before": text(one.before), "after": text(one.after)}
            for one in self.applied
        ]
        left = [{"setting": about(one.change), "why": one.why} for one in self.skipped]
        return {"profile": self.who, "changed": made, "left": left}


def apply(
    session: Asked, changes: Sequence[Mapping[str, object]], *, who: str, keep: bool = False
) -> Applied:
    """Make all changes or none; `who` is told to others who find them, `keep` makes them outlive the session.

    Raises:
        HostError: one cannot be made; those before it are put back.
    """
    answer = session.call("apply", changes=list(changes), who=who, keep=keep, timeout_s=_PATIENCE_S)
    found = typed(answers.Apply, answer)
    return Applied(session, who, found.applied, found.skipped, found.put_back)


def check(session: Asked, changes: Sequence[Mapping[str, object]]) -> list[Row]:
    """What `apply` would do, in the order of the changes; nothing is done."""
    return [_row(one) for one in typed(answers.Check, session.call("check", changes=list(changes))).rows]


def left(session: Asked) -> list[Journal]:
    """What stands changed at a machine, by everybody who did."""
    return list(typed(answers.Left, session.call("left")).journals)


def revert(session: Asked, *, kept: bool) -> list[Undone]:
    """Put back what dead sessions left and, if `kept`, what was kept."""
    return list(typed(answers.Undo, session.call("revert", kept=kept, timeout_s=_PATIENCE_S)).undone)


def _row(one: Looked) -> Row:
    change, error = one.change, one.error
    if error is not None:
        return Row(change, about(change), "-", wanted(change), error=error.message, hint=error.hint or None)
    return Row(change, one.key, text(one.before), text(one.after), same=one.same)


def about(change: Mapping[str, object]) -> str:
    """What a change is about, in words: `sysctl net.ipv4.tcp_sack`, `ring eth0`."""
    return " ".join(str(change[key]) for key in ("kind", "dev", "name") if key in change)


def wanted(change: Mapping[str, object]) -> str:
    """The value that a change asks for, in words."""
    return text({key: value for key, value in change.items() if key not in _NO_VALUES})


def text(value: object) -> str:
    """A value of the agent's in words: what it reads of a setting, or what is wanted of it."""
    if isinstance(value, dict):
        return _words(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _words(value: Mapping[str, object]) -> str:
    if "requested" in value:  # features: on if any of them is
        active = value["active"]
        return text(any(active.values()) if isinstance(active, dict) else active)
    if "qdisc" in value:
        return str(value["qdisc"])
    if len(value) == 1 or set(value) <= {"value", "ipv6"}:
        return text(next(iter({key: one for key, one in value.items() if key != "ipv6"}.values())))
    distinct = {json.dumps(one) for one in value.values()}
    if len(distinct) == 1 and all(key.startswith("cpu") or key.isdigit() for key in value):
        return text(next(iter(value.values())))
    return " ".join(f"{key} {text(one)}" for key, one in sorted(value.items()))
