"""A section of the site: its place in the navigation, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.routing import BaseRoute


@dataclass(frozen=True)
class Section:
    """One section of the site.

    Attributes:
        title: What the navigation calls it.
        path: Where it begins.
        routes: What it answers.
        begin: Called when the server begins to listen.
        stop: Called when the server is asked to end, before it waits for answers under way.
        end: Called when the server ends.
    """

    title: str
    path: str
    routes: Sequence[BaseRoute] = field(repr=False)
    begin: Callable[[], None] | None = None
    stop: Callable[[], None] | None = None
    end: Callable[[], None] | None = None
