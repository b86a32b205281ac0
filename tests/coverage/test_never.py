"""The list of what no cell executes, compared with the index that is part of the program."""

import numpy as np
import pytest

from rushhour.coverage import document
from rushhour.coverage.decoded import Decoded, Function, Item
from rushhour.coverage.gather import Gatherer
from rushhour.coverage.index import CellRef, Index
from rushhour.coverage.never import faults, parse, shipped
from rushhour.errors import UsageError

FILE = "net/ipv4/tcp_a.c"
KERNEL = {"name": "k", "release": "6.12.1"}
CALLED, IDLE, LEFT = Function("called", 1, 2), Function("idle", 3, 4), Function("left", 5, 6)


@pytest.fixture
def index() -> Index:
    items = (
        *(Item(FILE, "line", number) for number in (1, 3, 5)),
        *(Item(FILE, "function", function) for function in (CALLED, IDLE, LEFT)),
    )
    gatherer = Gatherer(KERNEL)
    gatherer.take(CellRef("one", 0, {}, 0), [Decoded(items, np.asarray([True, False, False] * 2), 1)])
    return gatherer.index({FILE: "text"})


def _listed(*names: str) -> str:
    return f'"{FILE}" = [{{ functions = {list(names)}, reason = "why" }}]'


def test_the_list_and_the_index_of_the_suite_agree() -> None:
    """Every function of the listed files is executed by a cell, or in the list; never both."""
    assert faults(shipped(), document.shipped()) == []


def test_the_list_has_the_files_that_the_suite_promises_to_execute() -> None:
    promised = {
        f"net/ipv4/tcp_{name}.c" for name in ("input", "output", "timer", "recovery", "rate", "cubic")
    }
    assert promised <= set(shipped().files)


def test_a_list_that_agrees_has_no_faults(index: Index) -> None:
    assert faults(parse(_listed("idle", "left")), index) == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["idle"], "left is never executed, and not in the list"),
        (["idle", "left", "called"], "called is in the list and executed"),
        (["idle", "left", "lost"], "lost is in the list and no function of the file"),
        (["idle", "left", "left"], "left is 2 times in the list"),
    ],
)
def test_each_disagreement_is_said(index: Index, names: list[str], said: str) -> None:
    assert faults(parse(_listed(*names)), index) == [f"{FILE}: {said}"]


def test_a_file_that_is_not_covered_is_said(index: Index) -> None:
    assert faults(parse('"net/tls/a.c" = []'), index) == ["net/tls/a.c: is in the list and not covered"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[", "no TOML"),
        (f'"{FILE}" = "idle"', "no list of entries"),
        (f'"{FILE}" = ["idle"]', "not functions and a reason"),
        (f'"{FILE}" = [{{ functions = ["idle"] }}]', "not functions and a reason"),
        (f'"{FILE}" = [{{ functions = [], reason = "why" }}]', "not functions and a reason"),
        (f'"{FILE}" = [{{ functions = ["idle"], reason = " " }}]', "not functions and a reason"),
        (f'"{FILE}" = [{{ functions = ["idle"], reason = "why", x = 1 }}]', "not functions and a reason"),
    ],
)
def test_a_list_of_another_shape_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(text)


def test_the_tables_say_how_much_and_why_not(index: Index) -> None:
    text = document.tables(index, parse(_listed("idle", "left")))
    assert "Of 6.12.1 the quick suite's 1 cell executes 33 % of the lines" in text
    assert f"| `{FILE}` | 33 % | 1 of 3 | 100 % |" in text
    assert "| tcp_a.c: `idle`, `left` | why |" in text


def test_only_what_is_between_the_marks_is_renewed() -> None:
    page = document.within(f"before\n{document.BEGIN}\nof another day\n{document.END}\nafter\n")
    assert page.startswith(f"before\n{document.BEGIN}\n\nOf ")
    assert page.endswith(f"{document.END}\nafter\n")
    assert "of another day" not in page
