"""Read into gdb after `commands.py`: where to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

if TYPE_CHECKING:
    from rushhour.debug.commands import is_of

SOCKETS = ("struct sock *", "const struct sock *", "struct tcp_sock *", "const struct tcp_sock *")
# Of calls that are only counted: as many may be left alone.
MANY = 2**31 - 1


class Calls(gdb.Breakpoint):  # type: ignore[misc]
    """A breakpoint at a function; with a flow only where the function's socket is that flow's."""

    def __init__(self, function: Any, flow: Any, left: int = 0) -> None:
        """Of the calls this many are left alone."""
        super().__init__(function)
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
        pointer = gdb.lookup_type("struct sock").pointer()
        for symbol in block:
            if symbol.is_argument:
                kind = str(symbol.type.strip_typedefs().unqualified())
                if kind in SOCKETS:
                    return is_of(symbol.value(frame).cast(pointer), self.flow)
        return True

    def tell(self, path: str) -> None:
        """Write down how many calls there were; nothing, if there is no such function."""
        if self.pending:
            return
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - gdb's own Python may be old
            file.write(str(self.hit_count))
