"""Several options of a command, given to each that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def with_options(command: F, *options: Callable[[F], F]) -> F:
    """Give a command options, which its help shows in this order."""
    for option in reversed(options):
        command = option(command)
    return command
