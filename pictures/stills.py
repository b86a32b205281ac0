"""Pages as a browser shows them: a report, a verdict, a history, the playground, stored results."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pictures.made import IMAGES
from pictures.stage import BASE, mutant, page, rush, served

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playwright.sync_api import Page

REPORT = "tomasov/window-scaling"
VERDICT, CELL = "suite/avoidance", "cc=cubic, topology.rtt=60ms"
RESULTS = ("suite/avoidance", "suite/recovery", "suite/cubic", "suite/slow-start")
HISTORY = "cwnd_decrease_ratio"
_NONE: Mapping[str, str] = {}


def report() -> Mapping[str, str]:
    """The page of a run."""
    with tempfile.TemporaryDirectory() as room, page(1280, 2400) as shown:
        rush("run", REPORT, "--kernel", BASE, "--out", "set", cwd=Path(room))
        shown.goto(Path(room, "set/report.html").as_uri())
        shown.wait_for_selector("#panels canvas")
        shown.wait_for_timeout(500)
        shown.screenshot(path=IMAGES / "report.png")
    return _NONE


def playground() -> Mapping[str, str]:
    """A deep buffer, pinned, and the same link under fq_codel over it."""
    with served() as url, page(1400, 1010) as shown:
        shown.goto(f"{url}/play")
        shown.locator(".presets a", has_text="Bufferbloat").click()
        _settled(shown, 1)
        shown.locator("#pin").click()
        shown.locator("#queue").select_option("fq_codel")
        _settled(shown, 2)
        shown.wait_for_timeout(500)
        shown.screenshot(path=IMAGES / "playground.png")
    return _NONE


def _settled(shown: Page, at_least: int) -> None:
    for _ in range(600):
        if int(shown.locator("html").get_attribute("data-settled") or 0) >= at_least:
            return
        shown.wait_for_timeout(100)
    raise SystemExit("the playground came to no result")


def verdict() -> Mapping[str, str]:
    """What a comparison says of a kernel whose CUBIC halves its window, and where both runs part."""
    name = mutant().folder.name
    with tempfile.TemporaryDirectory() as room, page(1120, 1700) as shown:
        words = ["compare", BASE, name, "--scenario", VERDICT, "--out", "out", "--json"]
        document = json.loads(rush(*words, cwd=Path(room), codes=(1,)))
        told = next(cell for cell in document["cells"] if cell["label"] == CELL)
        shown.goto(Path(room, "out/report.html").as_uri())
        cell = shown.locator("section.cell", has_text=CELL.replace("topology.", "")).first
        cell.scroll_into_view_if_needed()
        cell.locator("canvas").first.wait_for()
        cell.evaluate("cell => { cell.style.padding = '24px'; }")
        # Plots are drawn again, as wide as they may be now.
        shown.set_viewport_size({"width": 1121, "height": 1700})
        shown.wait_for_timeout(800)
        cell.screenshot(path=IMAGES / "verdict.png")
    return {"divergence": told["divergence"]["sentence"]}


def history() -> Mapping[str, str]:
    """A metric over three kernels, the last of which is the mutant."""
    names = ("debian-6.1", BASE, mutant().folder.name)
    with tempfile.TemporaryDirectory() as room, page(1100, 900) as shown:
        kernels = [word for name in names for word in ("--kernel", name)]
        words = ("run", VERDICT, "--set", "cc=cubic", *_stored(kernels))
        rush(*words, cwd=Path(room), codes=(0, 1))
        where = ("--by", "kernel", "--db", "lab.db", "--out", "page.html")
        rush("history", HISTORY, VERDICT, *where, cwd=Path(room))
        shown.goto(Path(room, "page.html").as_uri())
        shown.wait_for_timeout(500)
        shown.screenshot(path=IMAGES / "history.png")
    return _NONE


def _stored(kernels: Sequence[str]) -> tuple[str, ...]:
    """The words that run every cell thrice and store it; a law that breaks is what is looked for."""
    return ("--repeat", "3", *kernels, "--no-report", "--db", "lab.db")


def results() -> Mapping[str, str]:
    """Two kernels compared from what is stored."""
    candidate = mutant()
    with tempfile.TemporaryDirectory() as room:
        kernels = ("--kernel", BASE, "--kernel", candidate.folder.name)
        rush("run", *RESULTS, *_stored(kernels), cwd=Path(room), codes=(0, 1))
        with served("--db", f"{room}/lab.db") as url, page(1400, 1000) as shown:
            shown.goto(f"{url}/compare?base={BASE}&candidate={candidate.name}")
            shown.wait_for_timeout(500)
            shown.screenshot(path=IMAGES / "results.png")
    return _NONE
