"""Figures for papers and slides: PNG, SVG and PDF by matplotlib, the same bytes for the same records."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rushhour.quantities.words import quantity, scale_for
from rushhour.report.figure.ticks import in_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from rushhour.report.curves import Curve
    from rushhour.report.model import RunView
    from rushhour.report.panels import Panel

COLOURS = ("#1f66ad", "#d1495b", "#228833", "#b58900", "#6f4aa8", "#0f8b9d", "#8c4a2f", "#555b66")
_QUEUES = ("#0f766e", "#a16207", "#86198f", "#3f3f46")
DASHES = ("-", (0, (6, 2.5)), (0, (1.5, 1.5)), (0, (7, 2, 1.5, 2)), (0, (10, 3)), (0, (4, 1.5, 1, 1.5)))
STEPS = {"hold": "steps-post", "interval": "steps-pre"}
# matplotlib types each key by name; a plain dict of them is Any to it.
STYLE: Any = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8f8a80",
    "axes.grid": True,
    "grid.color": "#e6e3dc",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # Element ids of an SVG come from this and the drawing alone.
    "svg.hashsalt": "rushhour",
    "svg.fonttype": "none",
    # Type 42: whole letters that an editor can still change, not outlines.
    "pdf.fonttype": 42,
}
# Nothing of the day or the program's version goes into the file.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def run_figure(run: RunView, form: str) -> bytes:
    """All panels of a run under one another with one time axis, as the bytes of a `png`, `svg` or `pdf`."""
    with mpl.rc_context(STYLE):
        heights = [0.5 + 0.25 * len(panel.curves) if panel.marks else 2.0 for panel in run.panels]
        figure = Figure(figsize=(7.2, 0.9 + sum(heights)), layout="constrained")
        grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
        for axes, panel in zip(grid[:, 0], run.panels, strict=True):
            _draw(axes, panel, [flow.look for flow in run.flows])
        grid[-1, 0].set_xlabel("time, s")
        grid[-1, 0].set_xlim(0, run.duration_s)
        title = run.title if run.label == run.title else f"{run.title}: {run.label}"
        conditions = " · ".join([*run.conditions, run.kernel, f"{run.lab} lab", f"seed {run.seed}"])
        figure.suptitle(plain(title), fontsize=11, fontweight="bold", x=0.01, ha="left")
        state = "" if run.valid else "  INVALID RUN"
        grid[0, 0].set_title(plain(conditions) + state, fontsize=7.5, loc="left", pad=14)
        return encoded(figure, form)


def categories(axes: Axes, ticks: Sequence[tuple[float, str]], letters: float) -> None:
    """Levels that are words along an axis of so many letters: all stay, broken into lines or slanted."""
    words = [word for _, word in ticks]
    lines = in_lines(words, letters / max(1, len(words)))
    said = words if lines is None else ["\n".join(parts) for parts in lines]
    axes.set_xticks([place for place, _ in ticks], [plain(word) for word in said])
    if lines is None:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")


def _draw(axes: Axes, panel: Panel, looks: Sequence[int | None]) -> None:
    if panel.marks:
        _marks(axes, panel, looks)
        return
    values = [np.nanmax(curve.values) for curve in panel.curves]
    scale = scale_for([float(max(values))], panel.unit)
    for place, curve in enumerate(panel.curves):
        colour, dash = _look(curve, place, looks)
        style: dict[str, Any] = {"color": colour, "linewidth": 0.8 if curve.faint else 1.2}
        style |= (
            {"linestyle": "", "marker": ".", "markersize": 1.5}
            if curve.shape == "points"
            else {"linestyle": dash}
        )
        style |= {"drawstyle": STEPS[curve.shape]} if curve.shape in STEPS else {}
        axes.plot(curve.t_s, curve.values / scale.divisor, label=plain(curve.label), **style)
    for limit in panel.limits:
        if limit.value <= 4 * max(values):
            axes.axhline(limit.value / scale.divisor, color="#8f8a80", linewidth=0.9, linestyle=(0, (5, 3)))
            words = f"{limit.label} {quantity(limit.value, panel.unit)} "
            where = (1, limit.value / scale.divisor)
            style = {"ha": "right", "va": "bottom", "fontsize": 7, "color": "#63656b"}
            axes.annotate(words, where, xycoords=("axes fraction", "data"), **style)
    axes.set_ylim(bottom=0)
    axes.margins(y=0.12)
    axes.set_ylabel(f"{panel.title},\n{scale.unit}" if scale.unit else panel.title, fontsize=8)
    if len(panel.curves) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 0.98), ncols=6, handlelength=2.6, borderaxespad=0)


def _marks(axes: Axes, panel: Panel, looks: Sequence[int | None]) -> None:
    for place, curve in enumerate(panel.curves):
        share = curve.values / np.max(curve.values) if len(curve.values) else curve.values
        floor = -place - 0.4
        colour, _ = _look(curve, place, looks)
        axes.vlines(curve.t_s, floor, floor + 0.2 + 0.6 * share, color=colour, linewidth=0.9)
    names = [f"{curve.label}: {quantity(float(np.sum(curve.values)), 'count')}" for curve in panel.curves]
    axes.set_yticks([-place for place in range(len(names))], [plain(name) for name in names], fontsize=7.5)
    axes.set_ylim(-len(names) + 0.5, 0.5)
    axes.grid(visible=False, axis="y")


def _look(curve: Curve, place: int, looks: Sequence[int | None]) -> tuple[str, Any]:
    if curve.flow is None:
        return ("#63656b" if curve.label == "total" else _QUEUES[place % 4]), ":" if curve.faint else "-"
    given = looks[curve.flow]
    look = curve.flow if given is None else given
    return COLOURS[look % len(COLOURS)], ":" if curve.faint else DASHES[look % len(DASHES)]


def plain(text: str) -> str:
    """The text as matplotlib takes it for text: a dollar sign would begin a formula."""
    return text.replace("$", r"\$")


def encoded(figure: Figure, form: str) -> bytes:
    """The figure as the bytes of a file, without the day or a version in them."""
    target = io.BytesIO()
    figure.savefig(target, format=form, dpi=160, metadata=_METADATA[form])
    return target.getvalue()
