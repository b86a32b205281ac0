"""Read into gdb after `commands.py`: where a kernel complains.

rush place            the frame with the fault, which becomes the current one
"""

from __future__ import annotations

from typing import Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

# A kernel calls the first that it has of these before, or while, it says a word; none without a reason.
CALLED = ("kasan_report", "kasan_report_invalid_free", "__warn", "dump_stack_lvl")
# What only checks, or tells (mm/kasan, lib/ubsan.c, lib/dump_stack.c, kernel/panic.c, lockdep, …).
TELLING = ("mm/kasan", "lib/", "kernel/panic.c", "kernel/locking", "kernel/rcu", "mm/kmemleak.c", "arch/um")


def stop_at_complaints() -> None:
    """Breakpoints at what a complaint calls, as far as this kernel has it."""
    for name in CALLED:
        if gdb.lookup_global_symbol(name) is not None:
            gdb.Breakpoint(name)


def is_telling(frame: Any) -> Any:
    table = frame.find_sal().symtab
    return table is None or any(f"/{part}" in f"/{table.filename}" for part in TELLING)


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
