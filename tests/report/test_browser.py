"""The page in a browser, driven by a script: on a phone, by keyboard, by the picker, by a large set."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from report_records import make_set

from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import gather, model
from rushhour.report.html import render
from rushhour.report.programs import ProgramLine

pytestmark = pytest.mark.browser

# The page in a frame of a phone's width: windows of a headless browser are at least 500 pixels wide.
FRAME = """<!DOCTYPE html><body><iframe src="page.html#run-0" style="width:{width}px;height:800px"></iframe>
<script>addEventListener("message", (event) => {{ document.body.textContent = event.data; }});</script>"""
DRIVER = """<script>
const $ = (selector) => document.querySelector(selector);
const settle = () => new Promise((done) => setTimeout(done, 200));
const all = (selector) => [...document.querySelectorAll(selector)];
const press = (key, shiftKey) =>
  document.dispatchEvent(new KeyboardEvent("keydown", {{ key, shiftKey, bubbles: true }}));
(async () => {{
  while (!document.documentElement.dataset.drawn) await settle();
  const said = {{}};
  {steps}
  parent.postMessage(JSON.stringify(said), "*");
}})();
</script></body>"""


def drive(page: str, folder: Path, steps: str, width: int) -> dict[str, Any]:
    """What the script says after its steps, on a page whose policy is lifted so that it may run."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    (folder / "page.html").write_text(page.replace("</body>", DRIVER.format(steps=steps)))
    (folder / "frame.html").write_text(FRAME.format(width=width))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [*command, f"--user-data-dir={folder / 'profile'}", "--dump-dom", f"file://{folder}/frame.html"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r"<body>(\{.*\})", done.stdout, re.DOTALL)
    assert found is not None, done.stdout[:500]
    said: dict[str, Any] = json.loads(html.unescape(found[1].partition("</body>")[0]))
    return said


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> str:
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("cubic", "reno") for loss in ("0%", "0.1%", "1%")]
    return render(ResultSet.open(make_set(tmp_path_factory.mktemp("sweep"), cells, seconds=6)))


@pytest.mark.parametrize("width", [360, 390])
def test_a_phone_scrolls_in_one_direction(sweep: str, tmp_path: Path, width: int) -> None:
    steps = """
    for (const part of all("details")) part.open = true;
    await settle();
    said.width = innerWidth;
    said.page = document.documentElement.scrollWidth;
    said.plot = $("#panels canvas").clientWidth;
    said.swept = $(".swept .facet canvas").clientWidth;
    """
    said = drive(sweep, tmp_path, steps, width)
    assert said["width"] == width
    assert said["page"] <= width
    assert 0.7 * width < said["plot"] <= width
    assert 0.7 * width < said["swept"] <= width


def test_a_long_level_is_no_wider_than_a_phone(tmp_path: Path) -> None:
    cells = [
        {"queue": f"cake bandwidth 4mbit besteffort triple-isolate autorate-{way}"} for way in ("a", "b")
    ]
    page = render(ResultSet.open(make_set(tmp_path / "set", cells, seconds=6)))
    said = drive(page, tmp_path, "said.page = document.documentElement.scrollWidth;", 360)
    assert said["page"] <= 360


def test_keys_move_the_cursor_zoom_and_change_the_run(sweep: str, tmp_path: Path) -> None:
    steps = """
    $("#run").focus();
    const end = () => {
      for (let i = 0; i < 60; i += 1) press("ArrowRight", true);
      return $("#instant").textContent;
    };
    press("+"); await settle();
    said.zoomed = end();
    press("0"); await settle();
    said.whole = end();
    press("]"); await settle(); await settle();
    said.next = [$("#position").textContent, $("#run-label").textContent, $("#run-command").textContent];
    press("["); press("["); await settle(); await settle();
    said.last = $("#position").textContent;
    """
    said = drive(sweep, tmp_path, steps, 900)
    assert float(re.findall(r"[\d.]+", said["zoomed"])[0]) == pytest.approx(4.5, abs=0.1)
    assert float(re.findall(r"[\d.]+", said["whole"])[0]) == pytest.approx(6, abs=0.1)
    assert said["next"][:2] == ["2 of 6", "cc cubic · loss 0.1%"]
    assert "--set topology.loss=0.1%" in said["next"][2]
    assert said["last"] == "6 of 6"


def test_picker_points_and_metrics_are_followed(sweep: str, tmp_path: Path) -> None:
    steps = """
    const cc = $("#picker select[name=cc]");
    cc.value = "reno"; cc.dispatchEvent(new Event("change")); await settle(); await settle();
    said.picked = [$("#run-label").textContent, location.hash];
    $(".map a[data-run='2']").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    await settle(); await settle();
    said.field = $("#run-label").textContent;
    // The first line's points: the pointer comes near one, which leads to its run.
    const over = $(".swept .u-over");
    const box = over.getBoundingClientRect();
    for (let y = box.top + 1; y < box.bottom && !over.style.cursor; y += 8) {
      const at = { clientX: box.left + (0.15 / 1.1) * box.width, clientY: y, bubbles: true };
      over.dispatchEvent(new MouseEvent("mousemove", at));
      await new Promise((done) => setTimeout(done, 100));
      if (over.style.cursor) over.dispatchEvent(new MouseEvent("click", at));
    }
    await settle(); await settle();
    said.point = $("#run-label").textContent;
    said.drawn = all(".swept canvas.swatch").length > 0 && all(".heat[hidden] canvas").length;
    const radios = all("[name=heat]");
    radios.at(-1).click(); await settle(); await settle();
    said.later = all(".heat:not([hidden]) .facet canvas").length;
    said.shown = all(".heat").filter((part) => !part.hidden).map((part) => part.dataset.metric);
    said.wanted = [radios.at(-1).value];
    $("#flows button").click();
    said.pressed = $("#flows button").getAttribute("aria-pressed");
    $(".result th:nth-child(3) button").click();
    said.sorted = $(".result th:nth-child(3)").getAttribute("aria-sort");
    """
    said = drive(sweep, tmp_path, steps, 900)
    assert said["picked"] == ["cc reno · loss 0%", "#run-3"]
    assert said["field"] == "cc cubic · loss 1%"
    assert "loss 0.1%" in said["point"]
    # What is hidden is drawn when it is chosen.
    assert said["drawn"] == 0
    assert said["later"] >= 1
    assert said["shown"] == said["wanted"]
    assert said["pressed"] == "false"
    assert said["sorted"] == "descending"


def test_keys_reach_every_point_of_an_overview_and_its_run(sweep: str, tmp_path: Path) -> None:
    steps = """
    const plot = $(".heat:not([hidden]) .facet .plot");
    const down = (key) => plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    said.focusable = all(".heat:not([hidden]) .facet .plot").map((one) => one.tabIndex);
    said.label = plot.getAttribute("aria-label");
    plot.focus();
    said.points = [];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft"]) {
      down(key); await settle();
      said.points.push($(".said-aloud").textContent);
    }
    said.tip = $(".tip").hidden ? "" : $(".tip b").textContent;
    said.reached = all(".tip .reached").map((one) => one.textContent);
    said.cursor = $("#instant").textContent;
    down("Enter"); await settle(); await settle();
    said.run = $("#run-label").textContent;
    down("Escape"); await settle();
    said.left = $(".tip").hidden;
    """
    said = drive(sweep, tmp_path, steps, 900)
    assert set(said["focusable"]) == {0}
    assert "Left and right move along the axis" in said["label"]
    places, lines = zip(*(point.split("; ") for point in said["points"]), strict=True)
    assert places == ("loss 0%", "loss 0.1%", "loss 1%", "loss 1%", "loss 1%", "loss 0.1%")
    assert [line.split()[0] for line in lines] == ["cubic"] * 3 + ["reno"] * 3
    assert all(line.endswith("%") for line in lines)
    assert said["tip"] == "loss 0.1%"
    assert [one[:4] for one in said["reached"]] == ["reno"]
    assert said["cursor"] == ""
    assert said["run"] == "cc reno · loss 0.1%"
    assert said["left"] is True


def test_keys_move_through_a_panel_that_has_the_focus_and_its_values_are_said(
    sweep: str, tmp_path: Path
) -> None:
    steps = """
    const plot = $("[data-panel=cwnd] .plot");
    plot.focus();
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", shiftKey: true, bubbles: true }));
    await settle();
    said.aloud = $(".said-aloud").textContent;
    said.instant = $("#instant").textContent;
    said.label = plot.getAttribute("aria-label");
    said.reading = $("[data-panel=cwnd] .legend output").textContent;
    """
    said = drive(sweep, tmp_path, steps, 900)
    assert said["label"].startswith("Congestion window over time. long ")
    at, long, *_ = said["aloud"].split("; ")
    assert float(at.removesuffix(" s")) == pytest.approx(3.1, abs=0.2)
    assert said["instant"].startswith(f"t = {at.removesuffix(' s')[:4]}")
    assert long == f"long {said['reading']}"


def test_what_programs_said_is_that_of_the_run_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines(record: Record) -> tuple[ProgramLine, ...]:
        cc = str(record.manifest.cell["factors"]["cc"])
        said = tuple(("1 s", "out", f"<b>{cc}</b> {number}") for number in range(9))
        return (ProgramLine("says", "s1", "sh", "0 s to 1 s", "exit 1", f"no {cc}", said, 0),)

    monkeypatch.setattr(model, "program_lines", lines)
    cells = [{"cc": "cubic"}, {"cc": "reno"}]
    page = render(ResultSet.open(make_set(tmp_path / "set", cells, seconds=2)))
    steps = """
    const tell = () => $("#run-programs").innerText;
    said.first = tell();
    press("]");
    await settle();
    said.second = tell();
    """
    said = drive(page, tmp_path, steps, 1280)
    for cc, other, shown in (("cubic", "reno", said["first"]), ("reno", "cubic", said["second"])):
        head, fault, before, *rest = filter(None, shown.splitlines())
        assert (head, fault) == ("says on s1, 0 s to 1 s: exit 1", f"no {cc}")
        assert before == "The record has 1 line before these."
        assert rest == [f"1 s  <b>{cc}</b> {number}" for number in range(1, 9)]
        assert other not in shown


def test_a_run_whose_curves_are_left_out_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "MAX_DRAWN", 2)
    cells = [{"cc": cc} for cc in ("cubic", "reno", "bbr", "vegas")]
    page = render(ResultSet.open(make_set(tmp_path / "set", cells, seconds=6)))
    assert "Curves of 2 of 4 runs, evenly chosen, are in this page" in page
    steps = """
    press("]"); await settle(); await settle();
    said.without = [$("#run-label").textContent, $("#empty").hidden, all("#panels .plot canvas").length];
    press("]"); await settle(); await settle();
    said.with = [$("#run-label").textContent, $("#empty").hidden, all("#panels .plot canvas").length];
    """
    said = drive(page, tmp_path, steps, 900)
    assert said["without"] == ["cc reno", False, 0]
    assert said["with"] == ["cc bbr", True, 6]
