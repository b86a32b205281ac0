"""Read into gdb after `commands.py`: where a kernel complains.

rush place            the frame with the fault, which becomes the current one
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

if TYPE_CHECKING:
    from rushhour.debug.commands import Part

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


def warned() -> tuple[str, int, int, str] | None:
    """File and line of a warning, an address in the call and whose it is, as the kernel was told them."""
    frame = gdb.newest_frame()
    if frame.name() != "__warn" or not (file := frame.read_var("file")):
        return None
    caller = str(frame.read_var("caller").format_string(symbols=True))
    function = re.search(r"<(\w+)", caller)
    # The caller is where it goes on, which may be another line.
    address = int(frame.read_var("caller")) - 1
    return file.string(), int(frame.read_var("line")), address, function[1] if function else caller


def is_at(frame: Any, file: str, line: int) -> bool:
    """Whether a frame is at a line; of a statement of several lines the compiler may name another."""
    found = frame.find_sal()
    return bool(found.symtab and found.symtab.filename.endswith(file) and abs(found.line - line) <= 1)


def place(_: Any) -> None:
    """Go to the frame with the fault, and show it."""
    frame = gdb.newest_frame()
    while frame is not None and is_telling(frame):
        frame = frame.older()
    if (known := warned()) and not (frame and is_at(frame, *known[:2])):
        # Without frame pointers gdb may lose its way behind the function that warns.
        file, line, address, function = known
        print(f"{function} at {file}:{line}; callers that gdb shows may be wrong")
        gdb.execute(f"info line *{address:#x}")
        return
    if frame is None:
        print("no complaint: the run has not come to one")
        return
    frame.select()
    gdb.execute("frame")


Part("place", place)
