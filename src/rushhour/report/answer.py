"""A sentence that answers the title's question, made of what was measured and of nothing else.

Where several flows share a link it says who got how much in which cell. Where the scenario's first figure is
about another metric, it says what that metric was. Of flows that are verified it says whether what arrived is
what was sent. Everywhere else there is no sentence: a number that answers another question is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from pydantic import ValidationError

from rushhour.metrics.catalog import METRICS
from rushhour.quantities.words import capital, every, joined, quantity
from rushhour.report.figure.collect import values_of
from rushhour.report.figure.titles import spoken, title_of
from rushhour.report.shares import METRIC as SHARE
from rushhour.report.shares import share, sharers
from rushhour.report.verified import is_asked, verified
from rushhour.spec.figure import Figure
from rushhour.spec.levels import worth
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rushhour.record.set_file import SetFile
    from rushhour.report.model import RunView
    from rushhour.report.shares import Sharer

MAX_LEVELS = 5
"""Levels of one factor that are each named; of more, or of several factors, the extremes are."""
EVEN = 0.1
"""Shares of two flows that differ by at most this are about half each."""


@dataclass(frozen=True)
class Cell:
    """One cell: its levels by the factors that vary, and its valid runs."""

    levels: Mapping[str, str]
    runs: Sequence[RunView]

    @property
    def said(self) -> str:
        """The cell in words: `buffer 2 BDP · cc bbr`."""
        return " · ".join(f"{name} {spoken(level)}" for name, level in self.levels.items())


Shared = tuple[Cell, list[tuple[str, float]]]
"""A cell, and who shared in it with which share, the greatest first."""


def answer(about: SetFile, runs: Sequence[RunView]) -> str:
    """The sentence; empty where nothing can be said in general, or no run is valid.

    Args:
        about: The `set.json` of the runs; empty of a run without a set.
        runs: The runs with their metrics; curves are not needed.
    """
    valid = [run for run in runs if run.valid]
    cells = _cells(valid)
    if not cells:
        return ""
    checked, whole = verified(valid)
    if not whole or (checked and is_asked(about, valid)):
        return checked
    return " ".join(part for part in (_said(about, cells), checked) if part)


def _said(about: SetFile, cells: Sequence[Cell]) -> str:
    """What the cells answer, whatever was verified."""
    figure = _first(about)
    if figure is not None and figure.quantity not in (SHARE, "jain_index"):
        return _measured(figure, cells) or _shared(cells)
    return _shared(cells)


def _first(about: SetFile) -> Figure | None:
    """The first figure of the scenario that is of a metric: what its author wants to be looked at."""
    try:
        figures = [Figure.model_validate(figure) for figure in about.scenario.resolved.figure]
    except ValidationError:  # of another version
        return None
    return next((one for one in figures if one.kind != "cdf" and not one.over_time and not one.where), None)


def _cells(runs: Sequence[RunView]) -> list[Cell]:
    names = list(dict.fromkeys(name for run in runs for name in run.factors if name != "repetition"))
    varied = [name for name in names if len({run.factors.get(name) for run in runs}) > 1]
    groups: dict[tuple[str, ...], list[RunView]] = {}
    for run in runs:
        groups.setdefault(tuple(run.factors.get(name, "") for name in varied), []).append(run)
    return [Cell(dict(zip(varied, levels, strict=True)), found) for levels, found in groups.items()]


def _shared(cells: Sequence[Cell]) -> str:
    """Who got how much of the goodput."""
    runs = [run for cell in cells for run in cell.runs]
    found = sharers(runs)
    told = [(cell, _shares(cell, found)) for cell in cells]
    known = [(cell, each) for cell, each in told if each]
    if not found or not known:
        return ""
    of = _of(runs, found[0].kind)
    if len(cells) == 1:
        said = _one(known[0][1], of)
    elif len(known) > 1 and all(_even(each) for _, each in known):
        said = f"{_all(len(found))} got about the same share of {of} in {every(len(known), 'cell')}"
    elif _few(cells):
        said = _each(list(_winners(known, of)))
    else:
        said = _tally(known, of)
    when = _while(runs, found)
    # A flow's name keeps its letters.
    named = not when and any(said.startswith(f"{one.name} got") for one in found)
    return _sentence(said if named else capital(when + said), cells, len(cells) - len(known))


def _few(cells: Sequence[Cell]) -> bool:
    """Whether each cell can be named: one factor with few levels."""
    return len(cells) <= MAX_LEVELS and len(cells[0].levels) == 1


def _shares(cell: Cell, found: Sequence[Sharer]) -> list[tuple[str, float]]:
    """Sharers with their mean shares, the greatest first; empty where one is not defined."""
    means = [(one.said, _mean([share(run, one) for run in cell.runs])) for one in found]
    known = [(name, mean) for name, mean in means if mean is not None]
    return sorted(known, key=lambda pair: -pair[1]) if len(known) == len(found) else []


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _of(runs: Sequence[RunView], kind: str) -> str:
    """Whose goodput the shares are of: where flows of other kinds carry payload, only this kind's."""
    others = {flow.kind for run in runs for flow in run.flows if flow.kind in kinds.STREAMS} - {kind}
    return f"{kind.upper()}'s goodput" if others else "the goodput"


def _while(runs: Sequence[RunView], found: Sequence[Sharer]) -> str:
    """Which time it is about, where that is not the whole run."""
    when = {flow.when for run in runs for flow in run.flows if any(one.has(flow) for one in found)}
    if len(when) > 1:
        return f"while {_all(len(found))} were active, "
    return "after the warm-up, " if any(run.warmup_s for run in runs) else ""


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _one(each: Sequence[tuple[str, float]], of: str) -> str:
    """The only cell: everybody's share."""
    (name, first), *others = each
    rest = [f"{other} {_percent(part)}" for other, part in others]
    return f"{name} got {_percent(first)} of {of}, {joined(rest)}"


def _winners(known: Sequence[Shared], of: str) -> Iterator[tuple[Cell, str]]:
    """Who got most in each of several cells; named again only where it is another."""
    before, whole = "", f" of {of}"
    for cell, each in known:
        name, part = each[0]
        if _even(each):
            name, said = "", f"{_all(len(each))} got about {'half' if len(each) == 2 else 'the same part'}"
        else:
            said = _percent(part) if name == before else f"{name} got {_percent(part)}"
        yield cell, said + whole
        before, whole = name, ""


def _even(each: Sequence[tuple[str, float]]) -> bool:
    return each[0][1] - each[-1][1] <= EVEN * 2 / len(each)


def _tally(known: Sequence[Shared], of: str) -> str:
    """In how many cells who got most, and how much at most."""
    won: dict[str, list[tuple[float, Cell]]] = {}
    for cell, each in known:
        won.setdefault("" if _even(each) else each[0][0], []).append((each[0][1], cell))
    even = len(won.pop("", []))
    count = len(known[0][1])
    most = f"got the {'larger' if count == 2 else 'largest'} share of {of} in "
    said = []
    for place, (name, found) in enumerate(sorted(won.items(), key=lambda pair: -len(pair[1]))):
        top, cell = max(found, key=lambda pair: pair[0])
        many = f"{len(found)} of {len(known)} cells" if not place else str(len(found))
        said.append(f"{name} {most if not place else 'in '}{many}, at most {_percent(top)} ({cell.said})")
    said += [f"in {even} of {len(known)} {_all(count)} got about the same" if even else ""]
    return "; ".join(part for part in said if part)


def _measured(figure: Figure, cells: Sequence[Cell]) -> str:
    """What the metric of a figure was, where a run has one value of it."""
    told = [(cell, _mean(_value(figure, run) for run in cell.runs)) for cell in cells]
    known = [(cell, value) for cell, value in told if value is not None]
    if not known:
        return ""
    unit = METRICS[figure.quantity].unit
    whose = f" of {figure.flow}" if figure.flow else ""
    name = title_of(figure.quantity) + whose
    words = [(cell, quantity(value, unit)) for cell, value in known]
    if len({said for _, said in words}) == 1:
        said = f"{name} was {words[0][1]}" + (f" in {every(len(known), 'cell')}" if len(known) > 1 else "")
    elif _few(cells):
        said = f"{name} was " + _each(words, after=True)
    else:
        low, high = min(known, key=lambda pair: pair[1]), max(known, key=lambda pair: pair[1])
        ends = [f"{quantity(value, unit)} ({cell.said})" for cell, value in (low, high)]
        said = f"{name} lay between {ends[0]} and {ends[1]}"
    return _sentence(said, cells, len(cells) - len(known))


def _value(figure: Figure, run: RunView) -> float | None:
    found = [one.value for one in values_of(figure, run.metrics)]
    return found[0] if len(found) == 1 else None


def _each(told: Sequence[tuple[Cell, str]], *, after: bool = False) -> str:
    """Each level with what is said of it; the factor is named with the first."""
    ((name, _),) = told[0][0].levels.items()
    levels = [cell.levels[name] for cell, _ in told]
    at = "at" if worth(levels) is not None else "with"
    said = []
    for place, (level, (_, words)) in enumerate(zip(levels, told, strict=True)):
        where = f"{at} {'' if place else f'{name} '}{spoken(level)}"
        said.append(f"{words} {where}" if after else f"{where} {words}")
    return joined(said) if after else ", ".join(said)


def _sentence(said: str, cells: Sequence[Cell], undefined: int) -> str:
    counts = [len(cell.runs) for cell in cells]
    many = str(max(counts)) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    means = f" (means of {many} runs)" if max(counts) > 1 else ""
    have = "has" if undefined == 1 else "have"
    left = f"; {undefined} of {len(cells)} cells {have} no such number" if undefined else ""
    return f"{said}{means}{left}."


def _percent(part: float) -> str:
    """A share in whole percent, which is never 0 or 100 where it is not."""
    if 0 < part < 0.005:
        return "less than 1 %"
    if 0.995 < part < 1:
        return "more than 99 %"
    return f"{100 * part:.0f} %"
