"""What an eye reads off a page: no number that was not measured, nothing covered, nothing too pale."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import chromium
from playwright.sync_api import Browser, Page
from report_records import make_set
from test_browser import drive

from rushhour.quantities.words import NONE
from rushhour.record.result_set import ResultSet
from rushhour.report.html import render

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One run of 6 s whose second flow sends from 1 s to 4 s."""
    return render(ResultSet.open(make_set(tmp_path_factory.mktemp("single"), [{}], seconds=6)))


READ = """
const said_at = (seconds) => {
  const over = $("#panels .u-over");
  const box = over.getBoundingClientRect();
  const x = box.left + (seconds / 6) * box.width;
  over.dispatchEvent(new MouseEvent("mousemove", { clientX: x, clientY: box.top + 20, bubbles: true }));
  const found = {};
  for (const panel of all("#panels .panel")) {
    for (const entry of panel.querySelectorAll(".legend li")) {
      const name = `${panel.dataset.panel} ${entry.querySelector("span").textContent}`;
      found[name] = entry.querySelector("output").textContent;
    }
  }
  return found;
};
"""


def test_no_number_is_said_of_a_flow_that_is_not_there(single: str, tmp_path: Path) -> None:
    steps = READ + "said.before = said_at(0.5); said.between = said_at(3); said.after = said_at(5.5);"
    said = drive(single, tmp_path, steps, 1200)
    shown = {name: value for name, value in said["between"].items() if not name.startswith("events")}
    names = [name for name, value in shown.items() if value != NONE]
    second = [name for name in names if "short" in name]
    assert len(second) >= 3, names
    for when in ("before", "after"):
        assert {name: said[when][name] for name in second} == dict.fromkeys(second, NONE), when
    first = [name for name in names if name.split()[1] == "long" and "ssthresh" not in name]
    assert len(first) >= 3
    assert all(said["before"][name] != NONE for name in first)


@pytest.fixture(scope="module")
def shop() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def page_of(browser: Browser, text: str, folder: Path, **options: Any) -> Page:
    """The page, drawn, in a browser of which nothing is known but what `options` say."""
    (folder / "page.html").write_text(text)
    page = browser.new_context(**options).new_page()
    page.add_init_script(FILLED)
    page.goto((folder / "page.html").as_uri())
    page.wait_for_selector("html[data-drawn]")
    return page


# Every colour that a text is drawn with on a canvas.
FILLED = """
window.filled = new Set();
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (...words) {
  window.filled.add(String(this.fillStyle));
  return fill.apply(this, words);
};
// What it was while the printer was there.
addEventListener("beforeprint", () => window.filled.clear());
addEventListener("afterprint", () => { window.printed = [...window.filled]; });
"""
CONTRAST = """(colours) => {
  const light = (text) => {
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = text;
    probe.fillRect(0, 0, 1, 1);
    const parts = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => value / 255)
      .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper");
  return Object.fromEntries(colours.map((colour) => {
    const [low, high] = [light(colour), light(paper)].sort((a, b) => a - b);
    return [colour, (high + 0.05) / (low + 0.05)];
  }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_in_a_plot_can_be_read(shop: Browser, single: str, tmp_path: Path, scheme: Any) -> None:
    page = page_of(shop, single, tmp_path, color_scheme=scheme)
    colours = page.evaluate("[...window.filled]")
    assert colours
    assert {colour: ratio for colour, ratio in page.evaluate(CONTRAST, colours).items() if ratio < 4.5} == {}


@pytest.mark.parametrize("width", [390, 1280, 1900])
def test_no_label_covers_a_curve_and_the_legend_has_every_limit(
    shop: Browser, single: str, tmp_path: Path, width: int
) -> None:
    page = page_of(shop, single, tmp_path, viewport={"width": width, "height": 900})
    found = page.evaluate("Plots.labels()")
    assert sum(panel["limits"] for panel in found) >= 3
    assert [panel for panel in found if panel["covered"]] == []
    said = page.locator(".legend .limit").all_inner_texts()
    assert len(said) == sum(panel["limits"] for panel in found)
    assert any("500 kB" in one for one in said)


def test_every_button_has_a_name(shop: Browser, single: str, tmp_path: Path) -> None:
    page = page_of(shop, single, tmp_path)
    names = page.locator("button").evaluate_all(
        "(all) => all.map((one) => (one.getAttribute('aria-label') ?? one.textContent).trim())"
    )
    assert names
    assert "" not in names


def test_what_is_dark_on_the_screen_is_light_on_paper(shop: Browser, single: str, tmp_path: Path) -> None:
    page = page_of(shop, single, tmp_path, color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert dark == "rgb(20, 22, 25)"
    page.pdf()
    printed = page.evaluate("window.printed")
    assert printed
    page.emulate_media(media="print", color_scheme="dark")
    ratios = page.evaluate(CONTRAST, printed)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert {colour: ratio for colour, ratio in ratios.items() if ratio < 4.5} == {}
