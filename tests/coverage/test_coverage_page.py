"""The page of coverage in a real browser, on a desk and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from browsers import DESK, PHONE, chromium, open_page

from rushhour.coverage.decoded import Decoded, Function, Item
from rushhour.coverage.gather import Gatherer
from rushhour.coverage.index import CellRef, Index
from rushhour.report.coverage import page

if TYPE_CHECKING:
    from pathlib import Path

FILE = "net/ipv4/tcp_a.c"
TEXT = (
    "int enter(int x)\n{\n\tif (x)\n\t\treturn 1;\n\treturn 2; /* <b> & */\n}\n"
    "int never(void)\n{\n\treturn 3;\n}\n"
)
ITEMS = (
    *(Item(FILE, "line", number) for number in (1, 3, 4, 5, 9)),
    *(Item(FILE, "branch", (3, place)) for place in (0, 1)),
    Item(FILE, "function", Function("enter", 1, 6)),
    Item(FILE, "function", Function("never", 7, 10)),
)


@pytest.fixture
def index() -> Index:
    gatherer = Gatherer({"name": "k", "release": "6.12.1"})
    for number, calls in ((0, 9), (1, 4)):
        bits = np.asarray([bit == "1" for bit in "110100110"])
        gatherer.take(CellRef("suite/<i>", number, {"n": number}, 0), [Decoded(ITEMS, bits, calls)])
    return gatherer.index({FILE: TEXT})


def test_the_same_index_gives_the_same_page_and_texts_cannot_act(index: Index) -> None:
    text = page.render(index, {FILE: TEXT})
    assert text == page.render(index, {FILE: TEXT})
    assert "2 cells of 1 scenario execute 60\N{NO-BREAK SPACE}% of the lines" in text
    assert "<option>net/ipv4/tcp_a.c</option>" in text
    assert "<i>" not in text
    assert f'href="#{FILE}"' not in page.render(index, {})


@pytest.mark.browser
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_lines_have_their_cells_and_gaps_are_found(
    index: Index, tmp_path: Path, size: tuple[int, int]
) -> None:
    path = tmp_path / "coverage.html"
    path.write_text(page.render(index, {FILE: TEXT}))
    with chromium() as browser:
        seen, faults = open_page(browser, f"file://{path}#{FILE}:3", size)
        seen.wait_for_selector("#L9")
        kinds = seen.eval_on_selector_all("#lines tr", "rows => rows.map((row) => row.className)")
        assert kinds[:6] == ["yes", "", "half here", "no", "yes", ""]
        assert seen.text_content("#L5 td:last-child") == "\treturn 2; /* <b> & */"
        seen.click("#L1 button")
        assert seen.locator("#by li").all_text_contents() == ["suite/<i> n=1", "suite/<i> n=0"]
        assert seen.text_content("#gaps summary") == "1 of 2 functions is never executed"
        seen.click("#after")
        assert seen.locator(".here").get_attribute("id") == "L4"
        seen.fill("#find", "nothing")
        assert seen.text_content("#left") == "0 files"
        assert seen.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert faults == []
