"""The playground in a real browser, on a desk and on a phone."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from browsers import DESK, PHONE, chromium, served
from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.virtual]
SMALL = "kernel=debian-6.12&rate=5mbit&rtt=10ms&duration=1s&flow=cubic"


@dataclass
class Visit:
    """A page of the playground, and how many results it has shown."""

    page: Page
    faults: list[str]

    def settled(self) -> int:
        return int(self.page.locator("html").get_attribute("data-settled") or 0)

    def wait(self, before: int) -> None:
        self.page.wait_for_selector(f'html[data-settled="{before + 1}"]', timeout=60_000)

    def data(self, name: str) -> str:
        return self.page.locator("html").get_attribute(f"data-{name}") or ""

    def total(self, metric: str) -> str:
        return self.page.locator(f'#totals [data-metric="{metric}"] dd').first.inner_text()

    def picture(self) -> bytes:
        """What the canvas of the congestion window shows."""
        return self.page.locator('[data-panel="cwnd"] .plot canvas').screenshot()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(autouse=True)
def pages_end_with_their_test(browser: Browser) -> Iterator[None]:
    """Pages that nobody looks at any more go on asking the server, which has so many answers under way."""
    yield
    for context in browser.contexts:
        context.close()


def visit(browser: Browser, url: str, size: tuple[int, int] = DESK) -> Visit:
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    found = Visit(page, [])
    page.on("pageerror", lambda error: found.faults.append(str(error)))
    page.on(
        "requestfailed",
        lambda request: found.faults.append(request.url) if "/static/" in request.url else None,
    )
    page.goto(url)
    page.wait_for_selector("html[data-settled]", timeout=60_000)
    return found


def test_a_slider_moves_and_the_picture_changes(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    assert int(here.data("drawn")) >= 4
    assert here.total("goodput_bps").endswith("Mbit/s")
    window, key, before = here.picture(), here.data("key"), here.settled()
    here.page.focus("#rtt-slider")
    here.page.keyboard.press("ArrowRight")
    here.wait(before)
    assert here.page.input_value("#rtt") == "12ms"
    assert here.data("key") != key
    assert here.picture() != window
    assert "rtt=12ms" in here.page.url
    assert here.page.get_attribute("#rtt-slider", "aria-valuetext") == "12ms"
    assert here.faults == []


def test_a_shared_address_shows_the_same(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}&queue=fq_codel&loss=0.1%25")
    there = visit(browser, here.page.url)
    assert there.data("key") == here.data("key")
    assert there.page.url == here.page.url
    assert there.page.input_value("#loss") == "0.1%"
    assert there.picture() == here.picture()


def test_two_runs_are_compared(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    here.page.click("#pin")
    before = here.settled()
    here.page.select_option("#flow-list select", "bbr")
    here.wait(before)
    assert "Pinned" in here.page.inner_text("#pinned")
    assert "pinned" in here.page.inner_text("#totals")
    assert "pinned cubic" in here.page.inner_text("#numbers")
    again = visit(browser, here.page.url)
    assert "pinned cubic" in again.page.inner_text("#numbers")
    assert again.picture() == here.picture()
    again.page.click("#pinned button")
    again.page.wait_for_selector("html[data-settled='2']")
    assert again.page.input_value("#flow-list select") == "cubic"


def test_kernels_are_compared_and_asked_what_they_offer(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    here.page.click("#pin")
    before = here.settled()
    with here.page.expect_response("**/api/kernels/debian-6.1"):
        here.page.select_option("#kernel", "debian-6.1")
    here.wait(before)
    assert "Linux 6.1." in here.page.inner_text("#state-line")
    assert "kernel=debian-6.1&" in here.page.url
    before = here.settled()
    with here.page.expect_response("**/api/kernels/debian-6.12"):
        here.page.click("#pinned button")
    here.wait(before)
    assert "Linux 6.12." in here.page.inner_text("#state-line")


def test_flows_come_and_go_by_keyboard(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    before = here.settled()
    here.page.focus("#add")
    here.page.keyboard.press("Enter")
    here.wait(before)
    assert here.page.locator("#flow-list > li").count() == 2
    assert "cubic-2" in here.page.inner_text("#numbers")
    before = here.settled()
    here.page.focus("#flow-list li:first-child .remove")
    here.page.keyboard.press("Enter")
    here.wait(before)
    assert here.page.locator("#numbers tbody tr").count() == 1


def test_a_mistake_is_said_where_it_is_and_forgotten_when_mended(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    before = here.settled()
    here.page.fill("#rate", "10")
    here.wait(before)
    assert "has no unit" in here.page.inner_text("#rate-said")
    assert here.page.get_attribute("#rate", "aria-invalid") == "true"
    assert "This cannot be run" in here.page.inner_text("#alert")
    here.page.fill("#rate", "6mbit")
    here.wait(before + 1)
    assert here.page.is_hidden("#alert")
    assert here.page.get_attribute("#rate", "aria-invalid") is None


def test_a_wrong_address_is_explained(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}play?rate=fast&nonsense=1")
    page.wait_for_selector("#alert:not([hidden])")
    assert "nonsense: unknown key" in page.inner_text("#alert")


def test_the_scenario_file_is_downloaded(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    with here.page.expect_download() as waiting:
        here.page.click("#export")
    found = waiting.value
    assert found.suggested_filename == "playground.toml"
    scenario = tomllib.loads(found.path().read_text())
    assert scenario["topology"]["rate"] == "5mbit"


def test_a_scenario_of_the_catalogue_is_opened(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    with here.page.expect_response("**/play/catalogue?q="):
        here.page.click("text=From the catalogue")
    with here.page.expect_response("**/play/catalogue?q=mendicino**"):
        here.page.fill("[type=search]", "mendicino matrix")
    here.page.wait_for_selector(".lenders li:only-child button")
    here.page.click(".lenders li button")
    here.page.wait_for_selector("ul.cells a")
    assert here.page.locator("ul.cells a").count() == 180


@pytest.mark.parametrize("width", [360, 390])
def test_a_phone_scrolls_in_one_direction_and_has_the_controls_at_hand(
    browser: Browser, address: str, width: int
) -> None:
    here = visit(browser, f"{address}play?{SMALL}", (width, PHONE[1]))
    assert here.page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert here.page.is_hidden("#rate")
    here.page.click("#sheet > summary")
    before = here.settled()
    here.page.focus("#rate-slider")
    here.page.keyboard.press("ArrowRight")
    here.wait(before)
    assert here.page.input_value("#rate") == "6mbit"
    assert "6mbit" in here.page.inner_text("#brief")
    assert here.page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_everything_has_a_name_and_a_place_in_the_order_of_keys(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}&flow=udp,rate=1mbit")
    nameless = here.page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select")].filter((element) => {
          const said = element.getAttribute("aria-label") || element.textContent.trim();
          return !said && !element.labels?.length && element.type !== "hidden";
        }).map((element) => element.outerHTML)"""
    )
    assert nameless == []
    reached = set()
    for _ in range(60):
        here.page.keyboard.press("Tab")
        reached.add(
            here.page.evaluate("() => document.activeElement.id || document.activeElement.dataset.key")
        )
    assert {
        "rate",
        "rate-slider",
        "queue",
        "ecn",
        "cc",
        "add",
        "kernel",
        "run",
        "pin",
        "share",
        "export",
    } <= reached


def test_advice_can_be_tried(browser: Browser, address: str) -> None:
    here = visit(
        browser, f"{address}play?kernel=debian-6.12&rate=10mbit&rtt=80ms&loss=1%25&duration=5s&flow=reno"
    )
    before = here.settled()
    here.page.click("text=Try it, with this run pinned")
    here.wait(before)
    assert here.page.input_value("#flow-list select") == "bbr"
    assert "reno" in here.page.inner_text("#pinned")


FIVE = "kernel=debian-6.12&rate=5mbit&rtt=10ms&duration=5s&flow=cubic&flow=reno"


def test_a_slider_that_moves_shows_pictures_on_the_way(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{FIVE}")
    before, window = here.settled(), here.picture()
    here.page.evaluate(
        """() => {
          const slider = document.querySelector("#rtt-slider");
          slider.value = Number(slider.value) + 3;
          slider.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    here.page.wait_for_selector('html[data-glances="1"]', timeout=60_000)
    assert here.picture() != window
    assert "rtt=20ms" not in here.page.url
    here.wait(before)
    assert "rtt=20ms" in here.page.url
    assert "5 s of virtual time" in here.page.inner_text("#state-line")


def test_the_end_of_the_rate_is_within_what_the_server_gives(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}&queue=fq_codel")
    here.page.fill("#duration", "8s")
    here.page.wait_for_url("**duration=8s**", timeout=60_000)
    here.page.focus("#rate-slider")
    here.page.keyboard.press("End")
    assert here.page.input_value("#rate") == "1gbit"
    assert here.page.input_value("#duration") == "4s"
    assert "come back" in here.page.inner_text("#duration-note")
    here.page.keyboard.press("Home")
    assert here.page.input_value("#duration") == "8s"
    here.page.wait_for_url("**rate=300kbit**", timeout=60_000)
    assert here.page.is_hidden("#alert")


def test_back_and_forward_lead_through_the_experiments(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    first = here.data("key")
    before = here.settled()
    here.page.select_option("#queue", "fq_codel")
    here.wait(before)
    second = here.data("key")
    here.page.go_back()
    here.page.wait_for_selector(f'html[data-key="{first}"]', timeout=60_000)
    assert here.page.input_value("#queue") == "fifo"
    here.page.go_forward()
    here.page.wait_for_selector(f'html[data-key="{second}"]', timeout=60_000)
    assert here.page.input_value("#queue") == "fq_codel"


def test_zoom_stays_and_heights_follow_what_is_in_sight(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    over = here.page.locator('[data-panel="cwnd"] .u-over')
    over.click(position={"x": 60, "y": 60})
    here.page.mouse.wheel(0, -600)
    [low, high] = here.page.evaluate("Plots.ranges()[0]")
    assert 0 <= low < high < 0.7
    before = here.settled()
    here.page.select_option("#queue", "fq_codel")
    here.wait(before)
    assert here.page.evaluate("Plots.ranges()") == [[low, high]] * len(here.page.evaluate("Plots.ranges()"))
    # In the first instants the window is small, and the axis with it.
    tight = here.page.evaluate("Plots.heights()")["cwnd"]
    over.dblclick(position={"x": 60, "y": 60})
    assert here.page.evaluate("Plots.heights()")["cwnd"] > tight


def test_a_name_in_a_legend_hides_its_flow(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}&flow=reno")
    name = here.page.locator('[data-panel="cwnd"] .legend button', has_text="reno").first
    name.click()
    pressed = here.page.locator(".legend button[data-group='flow:1']").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('aria-pressed'))"
    )
    assert len(pressed) > 2
    assert set(pressed) == {"false"}
    before = here.settled()
    here.page.select_option("#queue", "fq_codel")
    here.wait(before)
    assert (
        here.page.locator(".legend button[data-group='flow:1']").first.get_attribute("aria-pressed")
        == "false"
    )


def test_a_lost_connection_is_said_and_tried_again(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}")
    here.page.context.set_offline(True)
    before = here.settled()
    here.page.select_option("#queue", "fq_codel")
    here.page.wait_for_selector("body.lost")
    assert "cannot be reached; trying again" in here.page.inner_text("#state-line")
    here.page.context.set_offline(False)
    here.wait(before)
    assert "queue=fq_codel" in here.page.url


def test_two_fingers_zoom(browser: Browser, address: str) -> None:
    here = visit(browser, f"{address}play?{SMALL}", PHONE)
    over = here.page.locator('[data-panel="cwnd"] .u-over')
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    screen = here.page.context.new_cdp_session(here.page)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + 60, "id": one} for one, x in enumerate(places)]
        screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 120, 180)
    for step in range(8):
        touch("touchMove", 120 - 8 * step, 180 + 8 * step)
    touch("touchEnd")
    [low, high] = here.page.evaluate("Plots.ranges()[0]")
    assert 0 < low < high < 1
    # What lay in the middle of the fingers is still there.
    assert abs((low + high) / 2 - 150 / box["width"]) < 0.35
    assert here.faults == []
