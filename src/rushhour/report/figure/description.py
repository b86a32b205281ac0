"""A figure, free of how it is drawn: panels of traces over one axis, or a matrix of numbers.

What the page, the terminal and matplotlib draw is described here alone; none of them knows of anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rushhour.quantities.words import Scale
    from rushhour.series.series import Shape

Role = Literal["measured", "model", "doubtful", "published"]
"""What a trace is: our measurement, theory, theory outside its range, a document's numbers."""

THEORETICAL: tuple[Role, ...] = ("model", "doubtful")
SHADES = 9
"""Steps of a matrix's colour scale, from the least value to the greatest."""


@dataclass(frozen=True)
class Axis:
    """One axis: what it shows, the scale of its numbers, its ticks where they are not the drawer's choice.

    Places on an axis over a factor, or over a distribution's values, run from 0 to 1; `low` and `high` are a
    distribution's values there, in the quantity's unit. `ticks` say which level lies where. `numeric`: the
    levels are numbers, and points may be joined. `levels` are all levels with their places. `base` is the
    unit of the values before `divisor`, where a reader may have to know whether two axes are comparable.
    """

    title: str
    unit: str = ""
    divisor: float = 1.0
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    numeric: bool = True
    ticks: tuple[tuple[float, str], ...] = ()
    levels: tuple[tuple[float, str], ...] = ()
    base: str = ""

    @property
    def label(self) -> str:
        """Title with unit, as it stands along the axis."""
        said = f"{self.title}, {self.unit}" if self.unit else self.title
        return f"{said} (logarithmic)" if self.log and self.ticks else said


@dataclass(frozen=True)
class SecondAxis:
    """A second y axis: its values are those of the first times `factor`, as bytes in a queue are a delay."""

    title: str
    unit: str
    divisor: float
    factor: float


@dataclass(frozen=True)
class Style:
    """A line's colour, by number or by its place from 0 to 1 along a ramp; its dashes and marks by number.

    Queues and links have colours of their own, a total has none. What is `faint` accompanies another line.
    What is `pale` is broad and lies below the others, which are compared with it.
    """

    colour: int
    place: float | None
    dash: int
    mark: int
    family: Literal["line", "queue", "total"] = "line"
    faint: bool = False
    pale: bool = False


@dataclass(frozen=True)
class Trace:
    """Samples of one line in one panel, `y` in the quantity's own unit.

    `look` is the number of its style, None is neutral; `group` is the entry of the legend it belongs to.
    `low` and `high` are the least and greatest over repetitions; `said` is what a reader is told of each
    point, `runs` the run that each leads to, `links` an address instead (empty: of none).
    """

    label: str
    look: int | None
    group: str
    role: Role
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    shape: Shape = "line"
    said: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A horizontal line that traces are held against, as a buffer or a rate: its value, also in words."""

    label: str
    value: float
    quantity: str

    @property
    def said(self) -> str:
        """What stands beside the line."""
        return f"{self.label} {self.quantity}"


@dataclass(frozen=True)
class Instant:
    """A vertical line at a place of the x axis where something happened, in words if there are some.

    What is `small` is a tick at the axis.
    """

    x: float
    label: str = ""
    tone: Literal["good", "bad", "plain"] = "plain"
    small: bool = False


@dataclass(frozen=True)
class Facet:
    """One panel: the levels it is of, in words, its traces, the levels they are held against, and instants.

    `top` is the greatest value to be seen.
    """

    title: str
    traces: tuple[Trace, ...]
    low: float
    top: float
    references: tuple[Reference, ...] = ()
    instants: tuple[Instant, ...] = ()


@dataclass(frozen=True)
class LegendEntry:
    """One entry of the legend."""

    group: str
    label: str
    role: Role
    look: int | None


@dataclass(frozen=True)
class Plot:
    """Traces over time, a factor, or the values of a `distribution`, in panels that share their x axis.

    `legend` names the factors that tell the lines apart, `styles` are those of the lines. `same` panels share
    their y axis. `notes` say what a reader must know. Of `lanes` each trace is a row of events, its values
    how many happened at an instant. `id` names a panel of a run among its neighbours.
    """

    title: str
    source: str
    caption: str
    x: Axis
    y: Axis
    facets: tuple[Facet, ...]
    entries: tuple[LegendEntry, ...]
    legend: str
    styles: tuple[Style, ...]
    over_time: bool
    same: bool
    notes: tuple[str, ...] = ()
    distribution: bool = False
    lanes: bool = False
    second: SecondAxis | None = None
    id: str = ""


@dataclass(frozen=True)
class Field:
    """One field of a matrix: its value, its shade (0 the least; None: no valid run), the run it leads to."""

    value: float | None
    text: str
    shade: int | None
    run: int


@dataclass(frozen=True)
class MatrixPanel:
    """One panel of a matrix: rows of fields; None where no cell was run."""

    title: str
    rows: tuple[tuple[Field | None, ...], ...]


@dataclass(frozen=True)
class Matrix:
    """A metric as colour and number over two factors, a panel for each level of the others."""

    title: str
    source: str
    caption: str
    quantity: str
    scale: Scale
    across: str
    down: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    panels: tuple[MatrixPanel, ...]
    least: str
    greatest: str
    notes: tuple[str, ...] = field(default=())

    @property
    def label(self) -> str:
        """The metric with its unit."""
        return f"{self.quantity}, {self.scale.unit}" if self.scale.unit else self.quantity


Drawing = Plot | Matrix
