"""An index as lcov's tracefile, which editors and genhtml read.

A count is the number of cells that execute a line, not how often they do.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.coverage.index import FileIndex, Index

FILE = "coverage.info"


def tracefile(index: Index, tree: str = "") -> str:
    """The tracefile.

    Args:
        index: What was executed.
        tree: Where the kernel's source is, put before the names of files; by default they are relative to it.
    """
    return "".join(f"{line}\n" for one in index.files.values() for line in _file(index, one, tree))


def _file(index: Index, one: FileIndex, tree: str) -> Iterator[str]:
    yield "TN:"
    yield f"SF:{tree.rstrip('/')}/{one.name}" if tree else f"SF:{one.name}"
    counts = index.sizes[one.function_sets].tolist()
    yield from (f"FN:{function.first},{function.last},{function.name}" for function in one.functions)
    named = zip(counts, one.functions, strict=True)
    yield from (f"FNDA:{count},{function.name}" for count, function in named)
    yield from (f"FNF:{len(counts)}", f"FNH:{sum(map(bool, counts))}")
    branches = index.sizes[one.branch_sets].tolist()
    lines = dict(zip(one.lines.tolist(), index.sizes[one.line_sets].tolist(), strict=True))
    pairs = zip(one.branches.tolist(), branches, strict=True)
    for number, ways in groupby(pairs, key=lambda pair: pair[0]):
        for place, (_, count) in enumerate(ways):
            yield f"BRDA:{number},0,{place},{count if lines.get(number) else '-'}"
    yield from (f"BRF:{len(branches)}", f"BRH:{sum(map(bool, branches))}")
    yield from (f"DA:{number},{count}" for number, count in lines.items())
    yield from (f"LF:{len(lines)}", f"LH:{sum(map(bool, lines.values()))}", "end_of_record")
