"""What a visitor of the playground waits for: from the setup to the answer that the browser gets."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from rushhour.lab.uml import UmlLab
from rushhour.web.play.desk import Desk
from rushhour.web.play.setup import Setup
from rushhour.web.settings import Bounds

from .measure import Figure, costs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .measure import Cost
    from .workshop import Workshop


def playground(shop: Workshop) -> Iterator[Figure]:
    """The first experiment with another seed each time, and once more, known; without the socket."""
    desk = Desk(Bounds(), UmlLab)
    seeds = count(1)

    def ask(seed: int) -> None:
        setup = Setup().model_copy(update={"kernel": shop.kernel, "seed": seed})
        found, _ = asyncio.run(desk.ask(setup))
        json.dumps(found.document)

    try:
        new = costs(lambda: ask(next(seeds)), 2 * shop.times)
        known = costs(lambda: ask(1), 2 * shop.times)
    finally:
        desk.close()
    yield Figure.of("playground: 5 s of two flows at 20 Mbit/s, setup to answer", "s", new, _s, target=1.0)
    yield Figure.of("the same, known", "ms", [_ms(one) for one in known], _s)


def _s(seconds: float) -> float:
    return seconds


def _ms(one: Cost) -> Cost:
    return replace(one, wall=1000 * one.wall, cpu=1000 * one.cpu)
