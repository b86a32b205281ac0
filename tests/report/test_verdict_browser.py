"""A verdict's page in a browser: filters, pictures of both sides, a phone's width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_browser import drive
from verdict_documents import cell, document, drawn

from rushhour.report.verdict import html

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("verdict")
    worse = [drawn(folder, 1), drawn(folder, 2, scenario="suite/codel", title="CoDel")]
    others = [cell(number, "better") for number in range(3, 6)]
    return html(document([*worse, *others, cell(9, "same")]), folder)


def test_filters_leave_what_was_asked_for(page: str, tmp_path: Path) -> None:
    steps = """
    const shown = () => [all("tr[data-verdict]"), all("section[data-verdict]")]
      .map((parts) => parts.filter((part) => !part.hidden).length);
    said.whole = shown();
    $(".filters [data-verdict=worse]").click();
    said.better = [...shown(), $("#left").textContent];
    $(".filters [data-verdict=worse]").click();
    const area = $("#area");
    area.value = [...area.options].at(-1).value; area.dispatchEvent(new Event("change"));
    said.area = [...shown(), $("tr[data-verdict]:not([hidden])").dataset.area === area.value];
    """
    said = drive(page, tmp_path, steps, 1000)
    assert said["whole"] == [5, 5]
    assert said["better"] == [3, 3, "3 of 5 shown"]
    assert said["area"] == [1, 1, True]


def test_pictures_are_drawn_and_zoom_cell_by_cell(page: str, tmp_path: Path) -> None:
    steps = """
    while (document.documentElement.dataset.drawn !== "2") await settle();
    said.figures = all(".pictures").map((host) => host.querySelectorAll(".plot canvas").length);
    said.inked = Plots.inked();
    said.spoken = $(".pictures .plot").getAttribute("aria-label");
    all(".pictures")[1].querySelector("[data-zoom=around]").click();
    await settle();
    said.ranges = Plots.ranges();
    said.legend = all(".pictures .legend")[0].textContent;
    """
    said = drive(page, tmp_path, steps, 1000)
    assert said["figures"] == [4, 4]
    assert said["inked"] == 8
    assert said["spoken"].startswith("Congestion window over time. base long")
    assert "base long" in said["legend"]
    assert "candidate long" in said["legend"]
    assert said["ranges"][:4] == [[0, 6]] * 4
    assert all(low > 0 or high < 6 for low, high in said["ranges"][4:])


@pytest.mark.parametrize("width", [360, 390])
def test_a_phone_scrolls_down_only(page: str, tmp_path: Path, width: int) -> None:
    steps = """
    for (const part of all("details")) part.open = true;
    while (document.documentElement.dataset.drawn !== "2") await settle();
    said.width = innerWidth;
    said.page = document.documentElement.scrollWidth;
    said.plot = $(".pictures canvas").clientWidth;
    said.reason = $(".cells td:last-child").clientWidth;
    $(".filters [data-verdict=worse]").click();
    said.left = all(".cells tbody tr").filter((row) => row.clientHeight > 0).length;
    """
    said = drive(page, tmp_path, steps, width)
    assert said["width"] == width
    assert said["page"] <= width
    assert 0.7 * width < said["plot"] <= width
    assert said["reason"] > 0.8 * width, "words of a reason are not broken"
    assert said["left"] == 3
