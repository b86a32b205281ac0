"""Which cells execute a change, by an index of coverage."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from little_tree import commit, git

from rushhour.check.change import Change, FileChange
from rushhour.check.reach import holds, reach
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
    *lines: int, functions: tuple[str, ...] = ("used",), path: str = "net/ipv4/tcp_x.c", outside: bool = False
) -> Change:
    return Change("a", "b", (FileChange(path, "changed", lines, lines, functions, outside),))


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


def test_of_macros_and_declarations_the_cells_of_their_file_come_first(index: Index) -> None:
    found = reach(change(3, functions=(), outside=True), index, lambda _: TEXT)
    assert found.first == keys("cubic", "reno", "bbr")
    assert not found.known


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


def test_what_an_index_covers_is_told_by_what_it_knows(index: Index) -> None:
    """One of an older program covers less: what it does not know may well be compiled."""
    driver = change(5, path="drivers/net/ethernet/intel/e1000/e1000_main.c")
    assert not reach(driver, index, lambda _: TEXT).known
    known = replace(index.files["net/ipv4/tcp_x.c"], name="drivers/net/veth.c")
    wider = replace(index, files={**index.files, known.name: known})
    assert reach(driver, wider, lambda _: TEXT).compiled == {driver.files[0].path: False}


def test_cells_that_come_to_no_function_that_differs_are_idle(index: Index) -> None:
    assert reach(change(22, functions=("idle",)), index, lambda _: TEXT).idle == keys("cubic", "reno", "bbr")
    one = replace(
        index,
        files={"net/ipv4/tcp_x.c": replace(index.files["net/ipv4/tcp_x.c"], function_sets=np.array([1, 0]))},
    )
    # Whoever comes to the function may come to lines that are new in it.
    assert reach(change(15), one, lambda _: TEXT).idle == keys("reno", "bbr")
    silent = FileChange("net/ipv4/fou.c", "changed", (1,), (1,), ("fou",))
    both = Change("a", "b", (*change(15).files, silent))
    assert reach(both, one, lambda _: TEXT).idle == keys("reno", "bbr")


@pytest.mark.parametrize(
    "doubt",
    [
        change(15, outside=True),
        change(15, functions=("used", "new")),
        change(15, path="net/ipv4/tcp_x.h"),
        change(15, path="drivers/net/veth.c"),
        Change("a", "b", (FileChange("net/ipv4/tcp_x.c", "removed", (15,), (), ("used",)),)),
    ],
)
def test_in_doubt_no_cell_is_idle(index: Index, doubt: Change) -> None:
    assert reach(doubt, index, lambda _: TEXT).idle == keys()


def test_an_index_holds_of_the_very_kernel_it_was_made_on(index: Index, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", ".")
    (tmp_path / "net/ipv4").mkdir(parents=True)
    (tmp_path / "net/ipv4/tcp_x.c").write_text(TEXT)
    right = commit(tmp_path, "first", one__c="")
    (tmp_path / "net/ipv4/tcp_x.c").write_text(f"{TEXT}more\n")
    other = commit(tmp_path, "second")
    git(tmp_path, "rm", "-q", "net/ipv4/tcp_x.c")
    none = commit(tmp_path, "third")
    kernel = {"release": "6.12.1", "config_sha256": "ab"}
    made = replace(index, kernel=kernel)
    assert holds(made, {**kernel, "name": "mine"}, tmp_path, right)
    assert not holds(made, {**kernel, "release": "6.12.2"}, tmp_path, right)
    assert not holds(made, {**kernel, "config_sha256": "cd"}, tmp_path, right)
    assert not holds(made, kernel, tmp_path, other)
    assert not holds(made, kernel, tmp_path, none)
