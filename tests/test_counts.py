"""Counts in words: what may be one is not written as several."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
NOUNS = [
    "branch",
    "cable",
    "case",
    "cell",
    "change",
    "class",
    "commit",
    "datagram",
    "error",
    "event",
    "experiment",
    "fault",
    "file",
    "flow",
    "frame",
    "function",
    "image",
    "key",
    "line",
    "metric",
    "module",
    "more",
    "node",
    "note",
    "object",
    "other",
    "packet",
    "place",
    "process",
    "processor",
    "program",
    "run",
    "sample",
    "scenario",
    "script",
    "seed",
    "segment",
    "step",
    "term",
    "time",
    "value",
    "warning",
    "wheel",
    "worker",
]
SEVERAL = {*(f"{noun}s" for noun in NOUNS), "branches", "processes", "classes"}
COUNTED = re.compile(r" (?:(?:more|further|other) )?(?P<noun>[a-z]+)\b(?! (?:are more|of datagrams))")
BOUND = re.compile(r"[A-Z_]+")
SEVERAL_THERE = {
    "coverage/never.py": "count",  # more than once, as asked there
    "diagnosis/rules/link.py": "common.name(case, end)",  # a name, and a verb
    "plan/commands.py": "dev",  # likewise
    "report/verdict/screen.py": "len(group.cells)",  # of one cell no group is made
    "report/verdict/summary.py": "len(group.cells)",  # likewise
    "diagnosis/losses.py": "m.udp.loss_run",  # 16 at least (DEAD_RUN)
    "diagnosis/rules/packet_filter.py": "most",  # as a filter's rule has it: a rate
    "diagnosis/rules/sizes.py": "fits / single.mss",  # a ratio
    "metrics/doubts.py": "found.value",  # likewise
    "plan/drawing.py": "link.bond.links",  # a bond has two at least
    "report/shares.py": "self.name",  # a name
    "spec/catalog.py": "len(same)",  # of one alone nothing is asked
    "spec/check/arrivals.py": "expected",  # more than a cell holds
    "spec/check/classes.py": "police.packet_burst",  # more than a second's
    "spec/course.py": "len(passes)",  # more than may be
    "tune/rules.py": "packets",  # of a fast device
    "web/play/scenario.py": "count",  # more than the server takes
}
"""File → the number that is several there whatever happens, or is no count."""
PROGRAMS = "catalog/programs"
"""What runs in a guest by itself and imports nothing of ours."""


def counted(text: str) -> Iterator[tuple[int, str]]:
    """Numbers of a source that stand before several, and may be one: the line, the expression."""
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part, after in zip(node.values, [*node.values[1:], None], strict=True):
            if isinstance(part, ast.Constant):
                before = str(part.value)
                continue
            follows = str(after.value) if isinstance(after, ast.Constant) else ""
            found = COUNTED.match(follows)
            of_all = before.endswith((" of ", " to ", " about ", "least ", "most ")) and "more" not in follows
            value = part.value if isinstance(part, ast.FormattedValue) else part
            if found and found["noun"] in SEVERAL and not of_all and not _is_several(value, node, parents):
                yield node.lineno, ast.unparse(value)
            before = ""


def _is_several(value: ast.expr, node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the number is a bound of ours, or what it stands in asks whether it is more than one."""
    names = {name for one in ast.walk(value) if (name := getattr(one, "id", getattr(one, "attr", "")))}
    left = any(isinstance(one, ast.Sub) for one in ast.walk(value))
    if not left and any(BOUND.fullmatch(name) for name in names):
        return True
    while node in parents:
        node = parents[node]
        test = getattr(node, "test", None)
        for one in ast.walk(test) if test is not None else ():
            if isinstance(one, ast.Compare) and _asks(one, ast.unparse(value), left=left):
                return True
    return False


def _asks(test: ast.Compare, value: str, *, left: bool) -> bool:
    bound = test.comparators[0]
    one = isinstance(bound, ast.Constant) and isinstance(bound.value, int) and bound.value >= 1
    ours = not left and BOUND.fullmatch(ast.unparse(bound).rpartition(".")[2]) is not None
    return ast.unparse(test.left) == value and (one or ours)


def test_what_may_be_one_is_written_by_the_helper_for_counts() -> None:
    sources = [*(ROOT / "src/rushhour").rglob("*.py"), ROOT / "docs/generate.py"]
    found = [
        f"{source.relative_to(ROOT)}:{line}: {value}"
        for source in sources
        if PROGRAMS not in str(source)
        for line, value in counted(source.read_text())
        if not any(
            str(source).endswith(f"/{file}") and value == known for file, known in SEVERAL_THERE.items()
        )
    ]
    assert not found, "write plural(count, noun), of rushhour.quantities.words:\n" + "\n".join(sorted(found))


def test_the_search_knows_a_count_that_may_be_one() -> None:
    assert [*counted('f"{len(cells)} cells"')] == [(1, "len(cells)")]
    assert [*counted('f"and {len(names) - MOST} more cells"')] == [(1, "len(names) - MOST")]
    assert not [*counted('f"{len(cells)} cells" if len(cells) != 1 else "one cell"')]
    assert not [*counted('f"at most {MOST} cells, 3 of {count} cells"')]
