"""Any two of runs, result sets and kernels → a verdict, from what is stored; nothing runs for it.

The values are those of the database and the tables' checksums say what is equal to the byte. Records that are
on this machine add the scenario's own judges, and in the report the curves and where the two part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError, RushHourError
from rushhour.report.verdict import html
from rushhour.report.verdict.overlay import picture
from rushhour.report.verdict.story import story
from rushhour.verdict import judge
from rushhour.verdict.follow import divergences
from rushhour.verdict.refusal import NOTHING, VARIABLES, Change, changed_keys
from rushhour.verdict.side import Side, SideCell, key_of
from rushhour.verdict.trial import Trial
from rushhour.web.answers import RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rushhour.report.verdict.overlay import Picture
    from rushhour.report.verdict.story import Story
    from rushhour.store import KernelRow, RunRow
    from rushhour.verdict import Verdict
    from rushhour.web.browse.asked import Asked
    from rushhour.web.browse.shelf import Shelf

NAMES = ("base", "candidate", "scenario")
# Runs of one side; of more it takes longer than a page may.
MOST = 5000
_SHORTEST = 6
# Cells that the page itself draws.
_DRAWN = 4


@dataclass(frozen=True)
class _Chosen:
    """What a word means: its name, its runs, and whether it is one run."""

    name: str
    runs: Sequence[RunRow]
    single: bool = False


def values(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """The verdict as a document, or the choices where a side is missing."""
    about = {
        "document": None,
        "whole": None,
        "fault": None,
        "hint": None,
        "choices": shelf.choices(),
        "pictures": {},
    }
    if not (asked.word("base") and asked.word("candidate")):
        return about
    try:
        made = compared(shelf, asked)
        document = (divergences(made) if made.changed else made).document()
    except RefusedError as error:
        return about | {"fault": error.message, "hint": error.hint}
    except RushHourError as error:
        return about | {"fault": error.message, "hint": error.hint}
    whole = story(document)
    return about | {"document": document, "whole": whole, "pictures": _pictures(whole)}


def _pictures(whole: Story) -> dict[int, Picture]:
    """Both runs over each other, of the cells that are shown first; those of verdicts are in their report."""
    found = {}
    for cell in whole.cells[:_DRAWN] if whole.beside else ():
        try:
            drawn = picture(cell.source, Path("/"))
        except RecordError:
            continue
        if drawn is not None:
            found[cell.number] = drawn
    return found


def document(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """The verdict's document (docs/verdict.md).

    Raises:
        RefusedError: a side is missing or means nothing.
    """
    for side in NAMES[:2]:
        if not asked.word(side):
            raise RefusedError(400, f"{side} is missing", hint="name a kernel, a set's digest or a run's key")
    return _without_folders(compared(shelf, asked).document())


def report(shelf: Shelf, asked: Asked) -> str:
    """The whole report, with curves and divergences where records are on this machine."""
    for side in NAMES[:2]:
        if not asked.word(side):
            raise RefusedError(400, f"{side} is missing", hint="name a kernel, a set's digest or a run's key")
    return html(divergences(compared(shelf, asked)).document(), Path("/"))


def compared(shelf: Shelf, asked: Asked) -> Verdict:
    """Judge what is stored of two words.

    Raises:
        RefusedError: a word means nothing here, or too much.
        UsageError: the two have no cell in common, or differ in more than the kernel.
    """
    base, candidate = (_chosen(shelf, asked.word(side), asked.word("scenario")) for side in NAMES[:2])
    kernels = {one.id: one for one in shelf.store().kernels()}
    if base.single and candidate.single:
        return _two_runs(shelf, base, candidate, kernels)
    one, two = _alike(base.runs, candidate.runs)
    sides = _side(shelf, base.name, one, kernels), _side(shelf, candidate.name, two, kernels)
    unknown = _resolve(*sides)
    verdict = judge(*sides)
    return replace(verdict, notes=[*unknown, *verdict.notes])


def _two_runs(shelf: Shelf, base: _Chosen, candidate: _Chosen, kernels: Mapping[int, KernelRow]) -> Verdict:
    """Two runs are held against each other whatever they are of: what differs is said."""
    one, two = base.runs[0], candidate.runs[0]
    sides = _side(shelf, base.name, [one], kernels), _side(shelf, candidate.name, [two], kernels)
    changed = _changed(one, two, *sides) if one.kernel_id == two.kernel_id else []
    unknown = _resolve(*sides)
    cell = next(iter(sides[1].cells.values()))
    target = next(iter(sides[0].cells.values()))
    trial = replace(next(iter(cell.trials.values())), seed=one.seed)
    sides[1].cells = {target.key: replace(target, trials={one.seed: trial})}
    verdict = judge(*sides, variables=VARIABLES)
    told = {"cell", "revision of the scenario", "seed"} if changed else set()
    notes = [*_differences(one, two, told), *unknown]
    # That the kernel is one is what makes keys the answer.
    kept = [note for note in verdict.notes if not (changed and note.endswith("nothing was varied"))]
    return replace(verdict, notes=[*notes, *kept], changed=changed)


def _changed(one: RunRow, two: RunRow, base: Side, candidate: Side) -> list[Change]:
    """The keys in which two runs of a kernel differ: of their records, else of their cells; and the seed."""
    scenarios = [_resolved(next(iter(side.cells.values()))) for side in (base, candidate)]
    found = [] if one.scenario == two.scenario else [("scenario", one.scenario, two.scenario)]
    if not found and scenarios[0] and scenarios[1]:
        found = list(changed_keys(scenarios[0], scenarios[1]))
    before, after = dict(one.factors), dict(two.factors)
    # What a label or a pattern of flows stands for is said by the keys themselves.
    said = {name for name, *_ in found}
    found += [
        (name, str(before.get(name, NOTHING)), str(after.get(name, NOTHING)))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
        and name not in said
        and not (said and ("*" in name or name.startswith("label.")))
    ]
    if one.seed != two.seed:
        found.append(("seed", str(one.seed), str(two.seed)))
    return [Change(two.scenario, *entry) for entry in found]


def _differences(one: RunRow, two: RunRow, told: Collection[str] = ()) -> Iterable[str]:
    """What else is not the same between two runs, without what is told already."""
    pairs = {
        "scenario": (one.scenario, two.scenario),
        "cell": (one.label, two.label),
        "revision of the scenario": (one.scenario_sha256[:12], two.scenario_sha256[:12]),
        "seed": (one.seed, two.seed),
        "lab": (one.lab, two.lab),
        "agent": (one.agent[:12], two.agent[:12]),
    }
    for name, (before, after) in pairs.items():
        if before != after and name not in told:
            yield f"the runs differ in the {name}: {before} → {after}"


def _chosen(shelf: Shelf, word: str, scenario: str) -> _Chosen:
    """A set by its digest, a kernel by name, release or image, a run by its key or the beginning of it."""
    store = shelf.store()
    filters = {"scenario": scenario or None, "limit": MOST + 1}
    found = shelf.set_of(word)
    if found is not None:
        runs = store.runs(set_id=found.id, **filters)
        name = f"{found.scenario} {found.made[:16].replace('T', ' ')}"
    else:
        runs, name = store.runs(kernel=word, **filters), word
    if len(runs) > MOST:
        raise RefusedError(
            422, f"{name} has more than {MOST} runs", hint="name a scenario or a study beside it"
        )
    if runs:
        return _Chosen(name, runs)
    runs = store.runs(key=word, limit=2) if len(word) >= _SHORTEST else []
    if len({row.key for row in runs}) == 1:
        return _Chosen(f"run {runs[0].key[:12]} ({runs[0].kernel})", runs[:1], single=True)
    if runs:
        raise RefusedError(422, f"several runs have a key that begins with {word!r}", hint="write more of it")
    of = f" of {scenario}" if scenario else ""
    raise RefusedError(
        404, f"nothing stored is called {word[:64]!r}{of}",
        hint="name a kernel (its name, release, or image), a set's digest, or a run's key",
    )  # fmt: skip


def _alike(base: Sequence[RunRow], candidate: Sequence[RunRow]) -> tuple[list[RunRow], list[RunRow]]:
    """The runs of both sides that can be held against each other: same lab and agent, one kernel each.

    Where there are several, those of the newest run that the other side has, too.
    """
    one, two = list(base), list(candidate)
    for name in ("lab", "agent"):
        shared = {getattr(row, name) for row in one} & {getattr(row, name) for row in two}
        best = next((getattr(row, name) for row in two if getattr(row, name) in shared), None)
        if best is not None:
            one, two = ([row for row in rows if getattr(row, name) == best] for rows in (one, two))
    revisions = {(row.scenario, row.scenario_sha256) for row in one}
    shared_too = [row for row in two if (row.scenario, row.scenario_sha256) in revisions]
    if shared_too:
        mine = {(row.scenario, row.scenario_sha256) for row in shared_too}
        one, two = [row for row in one if (row.scenario, row.scenario_sha256) in mine], shared_too
    return _newest_kernel(one), _newest_kernel(two)


def _newest_kernel(rows: Sequence[RunRow]) -> list[RunRow]:
    return [row for row in rows if row.kernel_id == rows[0].kernel_id]


def _side(shelf: Shelf, name: str, rows: Iterable[RunRow], kernels: Mapping[int, KernelRow]) -> Side:
    side = Side(name, "records")
    # The newest come first and stay.
    for row in rows:
        factors = dict(row.factors)
        key = key_of(row.scenario, factors)
        cell = side.cells.get(key)
        if cell is None:
            title = {"title": row.title}
            cell = SideCell(row.scenario, row.cell, factors, row.label, title)
            side.cells[key] = cell
        side.quick.setdefault(row.scenario, row.quick)
        cell.trials.setdefault(row.seed, _trial(shelf, row, kernels[row.kernel_id]))
    side.cells = dict(sorted(side.cells.items(), key=lambda entry: (entry[1].scenario, entry[1].index)))
    return side


def _trial(shelf: Shelf, row: RunRow, kernel: KernelRow) -> Trial:
    folder = Path(row.folder) if row.folder else None
    there = folder is not None and (folder / "manifest.json").is_file()
    return Trial(
        row.seed, row.repetition, folder if there else None, row.key, {"raw": row.raw_sha256}, None,
        row.valid, tuple(map(str, row.invalid_reasons)),
        {"kernel": dict(kernel.identity), "agent": row.agent, "lab": row.lab},
        known=partial(shelf.store().metrics, row.id),
        # The database keeps one digest of all that can be read.
        kept_told=row.raw_sha256,
    )  # fmt: skip


def _resolve(base: Side, candidate: Side) -> list[str]:
    """Read the scenario of each cell that differs from a record of it: its judges, what it guards.

    Gives a sentence about those of which there is no record.
    """
    unknown = 0
    for key, cell in candidate.cells.items():
        other = base.cells.get(key)
        if other is None or _equal(other, cell):
            continue
        resolved = _resolved(cell) or _resolved(other)
        if resolved:
            cell.resolved = other.resolved = resolved
        unknown += not resolved
    if not unknown:
        return []
    cells = "1 cell that differs" if unknown == 1 else f"{unknown} cells that differ"
    said = (
        f"of {cells} no record is on this machine: not the scenario's own judges decide there, but every "
        "metric that has a better side, by the least change that matters of each"
    )
    return [said]


def _equal(one: SideCell, two: SideCell) -> bool:
    shared = [(one.trials[seed], two.trials[seed]) for seed in one.trials if seed in two.trials]
    return all(before.equals(after) for before, after in shared)


def _resolved(cell: SideCell) -> Mapping[str, object] | None:
    for trial in cell.trials.values():
        try:
            record = trial.record()
        except RecordError:
            continue
        if record is not None:
            return record.manifest.scenario.resolved or None
    return None


def _without_folders(found: dict[str, Any]) -> dict[str, Any]:
    """Where records lie on this machine is nobody's business elsewhere; their keys say which."""
    for cell in found["cells"]:
        for runs in cell["runs"].values():
            for run in runs:
                run.pop("folder", None)
    return found
