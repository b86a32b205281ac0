"""A cluster of Kubernetes that somebody takes away: whoever misses it first, it is said."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rushhour.errors import FleetError
from rushhour.fleet import pods

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize(
    ("answers", "said", "kind"),
    [([True, False], "somebody took the cluster mine away", FleetError), ([True, True], "no room", OSError)],
)
def test_a_start_that_fails(
    monkeypatch: pytest.MonkeyPatch, answers: list[bool], said: str, kind: type[Exception]
) -> None:
    async def begin(there: Iterator[bool]) -> None:
        starting = asyncio.get_running_loop().create_future()

        async def is_there(_: object) -> bool:
            if not starting.done():
                starting.set_exception(OSError("no room"))
            return next(there)

        async def waiting(_: object) -> set[str]:
            return set()

        monkeypatch.setattr(pods, "_is_there", is_there)
        monkeypatch.setattr(pods, "_waiting", waiting)
        await pods._until(starting, SimpleNamespace(name="mine"), lambda _: None)
        await starting

    monkeypatch.setattr(pods, "_LOOK_S", 0.001)
    with pytest.raises(kind, match=said):
        asyncio.run(begin(iter(answers)))
