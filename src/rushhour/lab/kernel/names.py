"""The functions that a kernel has as code of their own, by the names that the linker knew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.lab.kernel import process
from rushhour.lab.kernel.image import SYMBOLS

if TYPE_CHECKING:
    from rushhour.lab.kernel.store import Kernel

# What the compiler makes of a whole function (`.isra.0`, `.constprop.0`) begins where that begins. A part of
# one (`.part.0`, `.cold`) does not.
_FUNCTION = re.compile(r"^[0-9a-f]+ [tTwW] (\w+)(?:\.(?:isra|constprop)\.\d+)*$", re.MULTILINE)


def functions(kernel: Kernel) -> frozenset[str]:
    """The functions of a kernel; those that are only inside of their callers are left out.

    Of a kernel that was kept without the linker's names: none.
    """
    place = kernel.image.with_name(SYMBOLS)
    said = process.answer(["nm", str(place)], default="") if place.is_file() else ""
    return frozenset(_FUNCTION.findall(said))
