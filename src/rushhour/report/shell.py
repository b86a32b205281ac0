"""What every page is made with: templates, scripts and styles of the package, the hashes that allow them."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup, escape

from rushhour.quantities.words import plural
from rushhour.spec.quick import QUICK_LOOK

if TYPE_CHECKING:
    from collections.abc import Iterable

_CODE = re.compile("`([^`]+)`")

DRAWING = ("uplot/uPlot.iife.min.js", "series.js", "ink.js", "looks.js", "axes.js", "told.js", "draw.js")
"""The scripts that draw a figure, in their order."""
PLOTS = (*DRAWING, "plots.js", "parts.js")
"""The scripts of a run's panels."""
FIGURES = (*DRAWING, "figures.js")
"""The scripts of figures that compare cells."""


def template(name: str) -> jinja2.Template:
    """A template of the package; what is put into it is text unless the template says otherwise."""
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    """One for all pages of a process: each template is compiled once."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("rushhour.report", "assets"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters["prose"] = prose
    made.filters["plural"] = plural
    made.globals["quick_look"] = QUICK_LOOK
    return made


def prose(text: str) -> Markup:
    """A text whose words between backticks are commands, names and the like; all of it is text."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - it is escaped


def joined(names: Iterable[str]) -> str:
    """Scripts or styles as one text."""
    return "\n".join(
        files("rushhour.report").joinpath(f"assets/{name}").read_text(encoding="utf-8").strip()
        for name in names
    )


def digest(text: str) -> str:
    """The hash by which a Content-Security-Policy allows a script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
