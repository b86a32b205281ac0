"""Which cells execute a change, by an index of coverage."""

import hashlib

import numpy as np
import pytest

from rushhour.check.change import Change, FileChange
from rushhour.check.reach import reach
from rushhour.coverage.decoded import Function
from rushhour.coverage.index import CellRef, FileIndex, Index
from rushhour.verdict.side import key_of

TEXT = "the file as the index knows it\n"
CELLS = tuple(
    CellRef("suite/a", number, {"cc": cc}, 10 - number) for number, cc in enumerate(("cubic", "reno", "bbr"))
)
# Sets: nobody, cubic alone, everybody.
SETS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 1]], dtype=np.bool_)


@pytest.fixture
def index() -> Index:
    one = FileIndex(
        "net/ipv4/tcp_x.c", hashlib.sha256(TEXT.encode()).hexdigest(),
        np.array([12, 13, 15, 22]), np.array([2, 1, 0, 0]), np.array([], np.int64), np.array([], np.int64),
        (Function("used", 10, 17), Function("idle", 20, 23)), np.array([2, 0]),
    )  # fmt: skip
    return Index({}, CELLS, {one.name: one}, SETS)


def keys(*algorithms: str) -> frozenset[tuple[str, str]]:
    return frozenset(key_of("suite/a", {"cc": cc}) for cc in algorithms)


def change(
    *lines: int, functions: tuple[str, ...] = ("used",), path: str = "net/ipv4/tcp_x.c", **more: bool
) -> Change:
    return Change("a", "b", (FileChange(path, "changed", lines, lines, functions, **more),))


@pytest.mark.parametrize(
    ("lines", "text", "expected"),
    [
        ((12,), TEXT, keys("cubic", "reno", "bbr")),
        ((13,), TEXT, keys("cubic")),
        ((15,), TEXT, keys()),  # a line of an executed function that no cell comes to
        ((14,), TEXT, keys("cubic", "reno", "bbr")),  # no code: whoever executes the function
        ((), TEXT, keys("cubic", "reno", "bbr")),  # lines that come in
        ((13,), "another version's file\n", keys("cubic", "reno", "bbr")),
    ],
)
def test_cells_that_execute_the_lines_come_first(
    index: Index, lines: tuple[int, ...], text: str, expected: frozenset[tuple[str, str]]
) -> None:
    found = reach(change(*lines), index, lambda _: text)
    assert found.first == expected
    assert found.known
    assert found.cells("net/ipv4/tcp_x.c", "used") == 3


def test_lines_that_no_cell_executes_are_named(index: Index) -> None:
    assert reach(change(12, 14, 15), index, lambda _: TEXT).never == {"net/ipv4/tcp_x.c": (15,)}
    assert reach(change(15), index, lambda _: "another version's file\n").never == {"net/ipv4/tcp_x.c": ()}


def test_functions_that_nobody_executes_and_such_as_nobody_knows(index: Index) -> None:
    found = reach(change(22, functions=("idle", "new")), index, lambda _: TEXT)
    assert found.first == keys()
    assert found.cells("net/ipv4/tcp_x.c", "idle") == 0
    assert found.cells("net/ipv4/tcp_x.c", "new") is None
    assert found.known


def test_what_is_not_known_is_not_claimed(index: Index) -> None:
    assert not reach(change(5, functions=(), outside=True), index, lambda _: TEXT).known
    assert not reach(change(5, path="drivers/net/veth.c"), index, lambda _: TEXT).known
    assert not reach(change(5), None, lambda _: TEXT).known


def test_what_is_not_compiled_is_known_not_to_be_executed(index: Index) -> None:
    for path in ("net/ipv4/fou.c", "Documentation/networking/tcp.rst", "tools/testing/selftests/net/x.c"):
        found = reach(change(5, path=path), index, lambda _: TEXT)
        assert (found.known, found.first, found.compiled) == (True, keys(), {path: False})
