"""The results browser in a real browser, on a desk and on a phone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from browsed import filled
from browsers import DESK, PHONE, chromium, open_page, served
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
PAGES = ("results", "runs", "sets", "comparisons", "compare?base=stable&candidate=next", "baselines",
         "history?metric=goodput_bps&scenario=suite/start")  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served("--db", filled(tmp_path_factory.mktemp("browsed"))) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_no_page_is_wider_than_the_screen_or_at_fault(
    browser: Browser, address: str, size: tuple[int, int]
) -> None:
    for path in PAGES:
        page, faults = open_page(browser, address + path, size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], path
        unnamed = page.locator("input:not([type=hidden]), select").evaluate_all(
            "all => all.filter((one) => !one.labels.length && !one.ariaLabel).length"
        )
        assert unnamed == 0, path
        assert faults == [], path


def test_a_filter_changes_the_table_and_the_address(browser: Browser, address: str) -> None:
    page, faults = open_page(browser, f"{address}runs")
    assert page.locator("#found tbody tr").count() == 8
    page.fill("[name=kernel]", "next")
    page.keyboard.press("Tab")
    expect(page.locator("#found tbody tr")).to_have_count(4)
    assert "kernel=next" in page.url
    page.go_back()
    expect(page.locator("#found tbody tr")).to_have_count(8)
    assert faults == []


def test_two_runs_are_picked_with_the_keyboard_and_compared(browser: Browser, address: str) -> None:
    page, faults = open_page(browser, f"{address}runs?where=cc%3Dcubic&sort=seed")
    for place in (0, 1):
        page.locator("#found [data-key]").nth(place).focus()
        page.keyboard.press("Space")
    said = page.locator(".picked [role=status]")
    said.filter(has_text=re.compile("→|Same|Worse|Inconclusive")).wait_for()
    page.get_by_role("button", name="Compare the two picked").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**")
    assert page.locator("article, details.same, details").count() >= 1
    assert faults == []


def test_a_run_draws_its_curves(browser: Browser, address: str) -> None:
    page, faults = open_page(browser, f"{address}runs")
    page.locator("#found tbody th a").first.click()
    page.wait_for_selector("html[data-drawn]")
    assert int(page.locator("html").get_attribute("data-drawn") or 0) >= 1
    assert page.locator("#panels canvas").count() >= 1
    assert faults == []


def test_a_tag_is_given_and_taken(browser: Browser, address: str) -> None:
    page, faults = open_page(browser, f"{address}sets")
    page.locator(".news a").first.click()
    page.get_by_label("New tag").fill("for the talk")
    page.keyboard.press("Enter")
    # In the list of this set's tags, and at once among those that one can filter by; then in neither.
    expect(page.get_by_text("for the talk")).to_have_count(2)
    page.get_by_role("button", name="Remove the tag for the talk").click()
    expect(page.get_by_text("for the talk")).to_have_count(0)
    # Between the two pages is an empty one: of what the new one has not, what it has must come first.
    expect(page.get_by_text("nightly").first).to_be_visible()
    expect(page.get_by_text("for the talk")).to_have_count(0)
    assert faults == []
