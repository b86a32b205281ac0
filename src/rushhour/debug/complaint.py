"""Read into gdb after `commands.py`: where a kernel complains.

rush place            the frame with the fault, which becomes the current one
"""

from __future__ import annotations

import re
from typing import Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

# Every complaint calls one of these, and nothing else does. (kasan_report also comes and says nothing.)
CALLED = ("__warn", "dump_stack_lvl")
# What only checks, or tells.
TELLING = re.compile(
    r"/(?:mm/kasan/\w+|mm/kmemleak|lib/(?:dump_stack|ubsan|refcount|bug|list_debug)|kernel/panic"
    r"|kernel/(?:locking|rcu)/\w+|arch/um/.*)\.[chS]$"
)


def stop_at_complaints() -> None:
    """Breakpoints at what a complaint calls, as far as this kernel has it."""
    for name in CALLED:
        if gdb.lookup_global_symbol(name) is not None:
            gdb.Breakpoint(name)


def is_telling(frame: Any) -> Any:
    table = frame.find_sal().symtab
    return table is None or TELLING.search(table.filename) is not None


def place(_: Any) -> None:
    """Go to the frame with the fault, and show it."""
    frame = gdb.newest_frame()
    while frame is not None and is_telling(frame):
        frame = frame.older()
    if frame is None:
        print("no complaint: the run has not come to one")
        return
    frame.select()
    gdb.execute("frame")


Part("place", place)  # type: ignore[name-defined] # noqa: F821 - of commands.py
