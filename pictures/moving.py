"""The moving picture of README: `rushhour demo` in a terminal, and the page that opens."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from pictures.made import IMAGES
from pictures.stage import BASE, page
from rushhour.cli import demo
from rushhour.lab.kernel.store import cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from playwright.sync_api import Page

WIDTH, HEIGHT = 960, 600
COLUMNS, ROWS = 80, 24
COLOURS = 96
"""Colours of a frame; a page of text and lines has few."""
SCENARIO = demo.SCENARIO
COMMAND = "rushhour demo"
_TERMINAL = """\
<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #191919; }}
pre {{ margin: 0; padding: 34px 40px; color: #d8d8d8; }}
pre {{ font: 16.5px/1.42 "DejaVu Sans Mono", "Liberation Mono", monospace; }}
</style><pre><span style="color: #8fbf6f">~/lab $</span> {}</pre>"""

Frame = tuple[Image.Image, int]
"""A picture, and for how many milliseconds it is shown."""


def moving() -> Mapping[str, str]:
    """Make the picture; the sentence that it shows."""
    with tempfile.TemporaryDirectory() as room, page(WIDTH, HEIGHT) as shown:
        said, told = _recorded(Path(room))
        frames = [*_result(shown, said), *_page(shown, Path(room) / told["report"]), *_typed(shown, said)]
    _write(frames, IMAGES / "demo.gif")
    return {"demo": told["answer"], "kernel": told["kernel"]}


def _recorded(room: Path) -> tuple[str, dict[str, Any]]:
    """What the command prints on a terminal at its first run, with its colours; and for programs."""
    (room / "cache/rushhour").mkdir(parents=True)
    (room / "cache/rushhour/kernels").symlink_to(cache("kernels"))
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "DISPLAY")}
    env |= {"XDG_CACHE_HOME": str(room / "cache"), "PATH": f"{Path(sys.executable).parent}:{env['PATH']}"}
    env |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    words = ["rushhour", "demo", "--kernel", BASE, "--no-open"]
    child, terminal = pty.fork()
    if not child:
        os.chdir(room)
        os.execvpe("rushhour", words, env)
    said = b""
    while select.select([terminal], [], [], 300)[0]:
        try:
            said += os.read(terminal, 65536)
        except OSError:  # it has ended
            break
    if os.waitpid(child, 0)[1]:
        sys.exit(said.decode())
    # The same again as a document: its runs are known by now.
    again = subprocess.run(
        [*words, "--json"], cwd=room, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    return said.decode().replace("\r\n", "\n"), json.loads(again.stdout)


def _parts(said: str) -> tuple[str, list[str], str]:
    """The line before the bar, the states of the bar, and what stays when it is gone."""
    head, _, rest = said.partition("\x1b[?25l")
    bar, _, result = rest.rpartition("\x1b[1A\x1b[2K")
    states = [state.strip("\r\n") for state in re.split(r"\r\x1b\[2K|\x1b\[\?25h", bar)]
    counted = {found[0]: state for state in states if (found := re.search(r"\d+/\d+", state))}
    return head.rstrip("\n"), list(counted.values()), result.strip("\n")


def _result(shown: Page, said: str) -> Iterator[Frame]:
    head, _, result = _parts(said)
    yield _terminal(shown, f"{COMMAND}\n{head}\n\n{result}"), 4200


def _page(shown: Page, report: Path) -> Iterator[Frame]:
    """The page: its head, who got what, and one cell after the other over time."""
    shown.goto(report.as_uri())
    shown.wait_for_selector("#panels canvas")
    shown.wait_for_timeout(600)
    yield _taken(shown), 3000
    yield from _scrolled(shown, "#figures")
    yield _taken(shown), 2600
    yield from _scrolled(shown, "#sweep")
    yield _taken(shown), 2600
    yield from _scrolled(shown, "#run")
    yield _taken(shown), 1800
    for _ in range(2):
        shown.locator('button[data-step="1"]').click()
        shown.wait_for_timeout(500)
        yield _taken(shown), 1900


def _scrolled(shown: Page, place: str, steps: int = 5) -> Iterator[Frame]:
    begin = shown.evaluate("scrollY")
    end = shown.evaluate(f"scrollY + document.querySelector('{place}').getBoundingClientRect().top - 16")
    for step in range(1, steps + 1):
        part = step / steps
        shown.evaluate(f"scrollTo(0, {begin + (end - begin) * part * part * (3 - 2 * part)})")
        if step < steps:
            yield _taken(shown), 60


def _typed(shown: Page, said: str) -> Iterator[Frame]:
    head, states, _ = _parts(said)
    for end in (0, 3, 6, 8, 10, 13):
        yield _terminal(shown, COMMAND[:end] + "▏"), 700 if end in (0, 13) else 130
    for state in states:
        yield _terminal(shown, f"{COMMAND}\n{head}\n{state}"), 700


def _terminal(shown: Page, text: str) -> Image.Image:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), end="")
    code = console.export_html(inline_styles=True, code_format="{code}", theme=DIMMED_MONOKAI)
    # Not over the report: its policy would forbid the terminal's style.
    shown.goto("about:blank")
    shown.set_content(_TERMINAL.format(code))
    return _taken(shown)


def _taken(shown: Page) -> Image.Image:
    return Image.open(io.BytesIO(shown.screenshot())).convert("RGB")


def _write(frames: list[Frame], path: Path) -> None:
    small = [
        frame.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        for frame, _ in frames
    ]
    times = [time for _, time in frames]
    small[0].save(path, save_all=True, append_images=small[1:], duration=times, loop=0, optimize=True)
