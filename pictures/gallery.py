"""The gallery: `docs/gallery.md` and its pictures, from real runs (`make gallery`).

What is known comes from the cache, so after a change only what changed is run again.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pictures.made import IMAGES, ROOT
from rushhour import spec
from rushhour.report.figure import figures_of
from rushhour.report.figure.paper import draw
from rushhour.running import runner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.report.figure.description import Drawing

PAGE = ROOT / "docs" / "gallery.md"
PICTURES = IMAGES / "gallery"
LARGEST_SVG = 100_000
"""Bytes up to which a picture is a vector graphic; a larger one is PNG."""

FIGURES = (
    ("tomasov/udp-bursts-over-subscription", "Loss in bursts"),
    ("tomasov/window-scaling", "Round-trip time"),
    ("giannoulatos/divided-link", "Goodput of both"),
    ("giannoulatos/shaper-at-the-sender", "Congestion window"),
    ("mendicino/matrix", "Goodput against loss"),
    ("mendicino/two-second-queue", "Round-trip time"),
    ("aqm/buffer-and-utilization", "Utilization against buffer"),
    ("aqm/delay-under-load", "What an echo waits for"),
    ("fairness/bbr-and-cubic", "Share of the BBR flow"),
    ("fairness/latecomers", "Goodput over time, one fifo"),
    ("workloads/mice-and-elephants", "Slowdown of mice: 99th percentile"),
    ("workloads/incast", "Query goodput against the number of servers"),
)
"""Scenarios of the catalogue and the titles of the figures that are shown of them."""

HEAD = """\
# Gallery

Made by `make gallery` from real runs. Each figure is one of a scenario that ships; the command under it makes
it again, interactive and with the numbers. `rushhour report RECORDS --format svg` gives it for a paper.
"""


def gallery() -> Mapping[str, str]:
    """Run what is shown, write the pictures and the page; no words of it are repeated elsewhere."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    lines, kept = [HEAD], set()
    for study, about in spec.studies().items():
        mine = [(name, title) for name, title in FIGURES if name.startswith(f"{study}/")]
        text = about.load()
        lines += [f"## {text.title if text else study}", ""] if mine else []
        for name, title in mine:
            picture = put(drawing(name, title), stem(name))
            kept.add(picture.name)
            lines += show(name, title, picture)
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    for old in PICTURES.iterdir():
        if old.name not in kept:
            old.unlink()
    return {}


def stem(name: str) -> str:
    """How the picture of a scenario is called, without its suffix."""
    return name.replace("/", "-")


def drawing(name: str, title: str) -> Drawing:
    """Run a scenario and give the figure of this title."""
    sys.stderr.write(f"{name}: {title}\n")
    with tempfile.TemporaryDirectory() as folder:
        results = runner.run(name, out=Path(folder) / "set")
        return next(one for one in figures_of(results) if one.title == title)


def put(figure: Drawing, name: str) -> Path:
    """Write a picture, as small as its kind allows."""
    content, form = draw(figure, "svg"), "svg"
    if len(content) > LARGEST_SVG:
        content, form = draw(figure, "png"), "png"
    path = PICTURES / f"{name}.{form}"
    path.write_bytes(content)
    return path


def show(name: str, title: str, picture: Path) -> list[str]:
    """What stands on the page about one figure."""
    question = spec.load_scenario(name).question
    path = picture.relative_to(PAGE.parent).as_posix()
    return [f"### {title}", "", f"*{question}*", "", f"![{title}]({path})", "", f"`rushhour run {name}`", ""]
