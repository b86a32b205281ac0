"""The index of coverage: its sets, its file, its totals, the tracefile; with counts that are known."""

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from rushhour.coverage import index_file, lcov, totals
from rushhour.coverage.decoded import Decoded, Function, Item, shape_of
from rushhour.coverage.gather import Gatherer
from rushhour.coverage.index import CellRef, Index, cells_calling, cells_executing
from rushhour.coverage.said import sentence
from rushhour.errors import RecordError, UsageError

FILE, HEADER = "net/ipv4/tcp_a.c", "include/net/tcp.h"
ENTER, LEAVE = Function("enter", 1, 4), Function("leave", 6, 8)
ITEMS = (
    Item(FILE, "line", 1),
    Item(FILE, "line", 2),
    Item(FILE, "branch", (2, 0)),
    Item(FILE, "branch", (2, 1)),
    Item(FILE, "line", 7),
    Item(FILE, "function", ENTER),
    Item(FILE, "function", LEAVE),
    Item(HEADER, "line", 30),
)
KERNEL = {"name": "k", "release": "6.12.1", "source_sha256": "ab", "image_sha256": "not kept"}


def _run(bits: str, calls: int) -> list[Decoded]:
    return [Decoded(ITEMS, np.asarray([bit == "1" for bit in bits]), calls)]


@pytest.fixture
def index() -> Index:
    gatherer = Gatherer(KERNEL)
    gatherer.take(CellRef("two", 0, {"cc": "bbr"}, 0), _run("11100100", 50))
    gatherer.take(CellRef("one", 1, {}, 0), _run("11010100", 20))
    gatherer.take(CellRef("one", 0, {}, 0), _run("00001001", 90))
    return gatherer.index({FILE: "text"})


def test_cells_are_in_order_and_sets_are_distinct(index: Index) -> None:
    assert [(cell.scenario, cell.cell) for cell in index.cells] == [("one", 0), ("one", 1), ("two", 0)]
    assert len({row.tobytes() for row in index.sets}) == len(index.sets)
    assert index.kernel == {"name": "k", "release": "6.12.1", "source_sha256": "ab"}


def test_a_function_whose_lines_run_in_its_callers_is_executed(index: Index) -> None:
    assert [cell.calls for cell in cells_calling(index, FILE, ["leave"])] == [90]
    assert [cell.calls for cell in cells_calling(index, FILE, ["enter"])] == [20, 50]


def test_cells_that_execute_changed_lines_the_cheapest_first(index: Index) -> None:
    assert [cell.label for cell in cells_executing(index, FILE, range(1, 3))] == ["one", "two cc=bbr"]
    assert [cell.calls for cell in cells_executing(index, FILE, [7, 2])] == [20, 50, 90]
    assert cells_executing(index, FILE, [3]) == []
    assert [cell.calls for cell in cells_executing(index, HEADER, [30])] == [90]
    with pytest.raises(UsageError, match=r"net/tls/tls_sw\.c is not covered"):
        cells_executing(index, "net/tls/tls_sw.c", [1])


def test_the_file_is_the_index_again_and_the_same_bytes(index: Index, tmp_path: Path) -> None:
    path = tmp_path / index_file.FILE
    index_file.write(index, path)
    again = index_file.read(tmp_path)
    index_file.write(again, tmp_path / "second")
    assert path.read_bytes() == (tmp_path / "second").read_bytes()
    assert again.cells == index.cells
    assert again.kernel == index.kernel
    assert cells_executing(again, FILE, [7]) == cells_executing(index, FILE, [7])
    assert again.files[FILE].functions == (ENTER, LEAVE)
    assert again.files[FILE].branches.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "rushhour-coverage/2"}, "format 'rushhour-coverage/2'"),
        ({"sets": ["00ff"]}, "a set is not of these cells"),
        ({"sets": []}, "are not sets of its items"),
        ({"cells": None}, "damaged"),
    ],
)
def test_a_damaged_file_is_an_error_that_says_what_to_do(
    index: Index, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / index_file.FILE
    index_file.write(index, path)
    document = json.loads(lzma.decompress(path.read_bytes())) | change
    path.write_bytes(lzma.compress(json.dumps(document).encode()))
    with pytest.raises(RecordError, match=message) as told:
        index_file.read(path)
    assert told.value.hint == "make it again: rushhour coverage RESULTS"


def test_no_file_and_no_xz_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="there is no index of coverage here"):
        index_file.read(tmp_path)
    (tmp_path / index_file.FILE).write_text("no xz")
    with pytest.raises(RecordError, match="damaged"):
        index_file.read(tmp_path)


def test_totals_by_folder_and_what_is_never_executed(index: Index) -> None:
    (whole, (one,)), (header, _) = totals.by_folder(index)
    assert (whole.name, one.name, header.name) == ("net/ipv4", FILE, "include/net")
    assert (one.lines, one.functions, one.branches) == (
        totals.Share(3, 3),
        totals.Share(2, 2),
        totals.Share(2, 2),
    )
    gatherer = Gatherer(KERNEL)
    gatherer.take(CellRef("one", 0, {}, 0), _run("11010100", 20))
    less = gatherer.index({})
    (_, (part,)), _ = totals.by_folder(less)
    assert (part.lines, part.functions, part.branches) == (
        totals.Share(2, 3),
        totals.Share(1, 2),
        totals.Share(1, 2),
    )
    assert totals.never(less, less.files[FILE]) == [LEAVE]
    # 2 of 4 lines, header included.
    said = sentence(less).replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("1 cell of 1 scenario executes 50 % of the lines, 50 % of the functions")


def test_the_tracefile_counts_cells(index: Index) -> None:
    text = lcov.tracefile(index, "/src/linux/")
    mine = text.partition("end_of_record\n")[2]
    assert mine.splitlines() == [
        "TN:",
        f"SF:/src/linux/{FILE}",
        "FN:1,4,enter",
        "FN:6,8,leave",
        "FNDA:2,enter",
        "FNDA:1,leave",
        "FNF:2",
        "FNH:2",
        "BRDA:2,0,0,1",
        "BRDA:2,0,1,1",
        "BRF:2",
        "BRH:2",
        "DA:1,2",
        "DA:2,2",
        "DA:7,1",
        "LF:3",
        "LH:3",
        "end_of_record",
    ]
    assert f"SF:{HEADER}\n" in lcov.tracefile(index)


def test_of_what_gcov_says_only_covered_files_count() -> None:
    line = {"line_number": 4, "count": 3, "branches": [{"count": 0}, {"count": 3}]}
    function = {"name": "f", "start_line": 4, "end_line": 9, "execution_count": 3}
    said = {
        "files": [
            {"file": "net/core/dev.c", "lines": [line], "functions": [function]},
            {"file": "include/linux/list.h", "lines": [line], "functions": [function]},
        ]
    }
    shape = shape_of(said)
    assert {item.file for item in shape.items} == {"net/core/dev.c"}
    made = shape.decoded(said)
    assert (made.executed.tolist(), made.calls) == ([True, False, True, True], 3)
