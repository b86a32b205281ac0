"""Read into gdb after `commands.py`: where to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

if TYPE_CHECKING:
    from rushhour.debug.commands import at, is_of

SOCKETS = ("struct sock *", "const struct sock *", "struct tcp_sock *", "const struct tcp_sock *")
# Of calls that are only counted: as many may be left alone.
MANY = 2**31 - 1


class Calls(gdb.Breakpoint):  # type: ignore[misc]
    """A breakpoint at a function; with a flow only where the function's socket is that flow's."""

    def __init__(self, function: Any, flow: Any, left: int = 0) -> None:
        """Of the calls this many are left alone."""
        super().__init__(function)
        self.function = function
        self.flow = flow
        self.ignore_count = left

    def stop(self) -> Any:
        return self.flow is None or self.is_of_flow()

    def is_of_flow(self) -> Any:
        frame = gdb.selected_frame()
        try:
            block = frame.block()
        except RuntimeError:
            return True
        for symbol in block:
            if symbol.is_argument:
                kind = str(symbol.type.strip_typedefs().unqualified())
                if kind in SOCKETS:
                    return is_of(at(symbol.value(frame), "struct sock"), self.flow)
        return True


class Counted(Calls):
    """Calls of a function that are only counted; `latest` is the place of its last among those of all."""

    calls = 0

    def __init__(self, function: Any, flow: Any) -> None:
        super().__init__(function, flow, MANY)
        self.latest = 0

    def stop(self) -> Any:
        if not super().stop():
            return False
        Counted.calls += 1
        self.latest = Counted.calls
        return True


def tell_last(counted: Any, path: str) -> None:
    """Write down which function was called last, and how often; nothing, if there is none of them."""
    there = [one for one in counted if not one.pending]
    if not there:
        return
    last = max(there, key=lambda one: one.latest)
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - gdb's own Python may be old
        file.write(f"{last.function} {last.hit_count}")
