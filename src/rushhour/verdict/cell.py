"""The verdict of one cell: its runs held against each other, its quantities and expectations judged.

    examine   two sides of a cell → Examined: what runs and tables say, quantities estimated
    conclude  Examined, with adjusted p → CellVerdict

Between the two the p values of all cells are corrected together (`rushhour.verdict.judging`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.record.document import write
from rushhour.record.verdict_file import ComparedCell, ComparedRun, DivergenceFile, JudgedExpectation
from rushhour.verdict import words
from rushhour.verdict.compared import compared, expectations, questions
from rushhour.verdict.judged import Judged, estimate
from rushhour.verdict.packed import Packed
from rushhour.verdict.rule import Rule, worst
from rushhour.verdict.side import placed
from rushhour.verdict.vocabulary import ORDER, Decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rushhour.verdict.compared import Expected
    from rushhour.verdict.side import SideCell
    from rushhour.verdict.trial import Trial

# Errors that are the kernel's doing, not the machine's: it died, stood still, or refused what it should do.
LOST = "UnsupportedError"
KERNELS_FAULT = ("GuestError", "AgentError", LOST)


TELLING = 3
"""Quantities of a cell that is not told whole."""


@dataclass(frozen=True)
class CellVerdict:
    """What became of a cell; `divergence` is filled in where the traces of both sides are at hand."""

    cell: SideCell
    base: Mapping[int, Trial]
    candidate: Mapping[int, Trial]
    verdict: Decision
    reason: str
    identical: bool = False
    metrics: Sequence[Judged] = ()
    expected: Sequence[Expected] = ()
    warnings: Sequence[str] = ()
    divergence: DivergenceFile | None = None

    @property
    def seeds(self) -> list[int]:
        """The seeds that ran on both sides, in order of repetition."""
        return [seed for seed in self.base if seed in self.candidate]

    @property
    def failed(self) -> Trial | None:
        """The first run in which the candidate's kernel failed, in a cell that the base ran."""
        if not any(trial.ran for trial in self.base.values()):
            return None
        tried = self.candidate.values()
        return next((one for one in tried if not one.ran and one.kind in KERNELS_FAULT), None)

    def document(
        self, folder: Path | None = None, *, whole: bool = True, quick: bool = False, sets: Sequence[str] = ()
    ) -> ComparedCell:
        """As it stands in a `verdict.json` that lies in `folder`; `quick`: of a quick look, `sets`: asked so.

        Unless it is wanted whole, it has only the `TELLING` quantities that decided most.
        """
        cell = self.cell
        metrics = self.metrics if whole else _telling(self.metrics)
        return write(
            ComparedCell,
            scenario=cell.scenario,
            title=cell.resolved.get("title") or "",
            cell=cell.index,
            factors=dict(cell.factors),
            label=cell.label,
            quick=quick,
            sets=list(sets),
            guards=cell.resolved.get("guards"),
            verdict=self.verdict,
            reason=self.reason,
            identical=self.identical,
            seeds=self.seeds,
            runs={"base": _runs(self.base, folder), "candidate": _runs(self.candidate, folder)},
            metrics=[entry.document() for entry in metrics],
            expectations=[_kept(entry) for entry in self.expected],
            warnings=list(self.warnings),
            divergence=self.divergence,
        )


@dataclass(frozen=True)
class Examined:
    """A cell before its quantities are decided.

    `settled` is its verdict where nothing is left to decide, `p` has the p values of its quantities; `last`:
    no more seeds follow.
    """

    cell: SideCell
    base: Mapping[int, Trial]
    candidate: Mapping[int, Trial]
    settled: CellVerdict | None = None
    judged: Sequence[Judged] = ()
    expected: Sequence[Expected] = ()
    faults: Sequence[tuple[Decision, str]] = ()
    p: Sequence[float] = ()
    last: bool = True


def examine(base: SideCell, candidate: SideCell, rule: Rule, *, virtual: bool) -> Examined:
    """Hold the runs of a cell against each other, as far as one cell goes."""
    cell, before, after = candidate if candidate.resolved else base, base.trials, candidate.trials
    shared = [seed for seed in before if seed in after] if virtual else []
    if shared:
        before, after = ({seed: trials[seed] for seed in shared} for trials in (before, after))
    faults = [*_base_faults(before), *_candidate_faults(before, after, virtual=virtual)]
    usable = [trials for trials in (before, after) if any(trial.usable for trial in trials.values())]
    if virtual and not shared:
        faults.append(("invalid", f"no seed ran on both sides: {_seeds(base)} and {_seeds(candidate)}"))
    if len(usable) < 2 or (virtual and not shared):
        return Examined(cell, before, after, _settle(cell, before, after, faults))
    if virtual and not faults and all(_equal(before[seed], after[seed]) for seed in shared):
        same = CellVerdict(cell, before, after, "same", "equal to the byte", identical=True)
        return Examined(cell, before, after, same)
    runs = before, after
    if virtual:
        both = [seed for seed in shared if before[seed].usable and after[seed].usable]
        before, after = ({seed: trials[seed] for seed in both} for trials in (before, after))
    judged = [
        estimate(value, rule, virtual=virtual) for value in compared(questions(cell), before, after, rule)
    ]
    expected, p = expectations(cell, before, after), [entry.p for entry in judged]
    return Examined(cell, *runs, None, Packed(judged), expected, faults, p)


def conclude(found: Examined, adjusted: Sequence[float], level: float) -> CellVerdict:
    """The verdict of a cell whose p values were adjusted, at this level."""
    if found.settled is not None:
        return found.settled
    metrics = [
        entry.decided(p, level, last=found.last) for entry, p in zip(found.judged, adjusted, strict=True)
    ]
    # What one of the kernels does not tell decides nothing, unless there is nothing else.
    told = [entry for entry in metrics if not entry.what.unread] or metrics
    parts = [*found.faults, *map(_expectation, found.expected), *((m.verdict, m.reason) for m in told)]
    verdict = worst([part[0] for part in parts])
    reason = _reason(verdict, parts, told, found)
    metrics.sort(key=lambda entry: _rank(entry.verdict))
    warnings = _warnings(found, metrics)
    return CellVerdict(
        found.cell, found.base, found.candidate, verdict, reason,
        metrics=Packed(metrics), expected=found.expected, warnings=warnings,
    )  # fmt: skip


def _base_faults(before: Mapping[int, Trial]) -> Iterable[tuple[Decision, str]]:
    failed = next((trial for trial in before.values() if not trial.ran), None)
    if failed is not None:
        yield "invalid", f"the base failed with seed {failed.seed}: {words.of_failure(failed.error)}"
    untrue = next((trial for trial in before.values() if trial.ran and not trial.valid), None)
    if untrue is not None:
        yield "invalid", f"the base's run with seed {untrue.seed} is invalid: {_why(untrue)}"


def _candidate_faults(
    before: Mapping[int, Trial], after: Mapping[int, Trial], *, virtual: bool
) -> Iterable[tuple[Decision, str]]:
    """What went wrong on the candidate's side in runs that the base made."""
    lost = {seed for seed, trial in before.items() if virtual and not trial.usable}
    sound = {seed: trial for seed, trial in after.items() if seed not in lost}
    failed = [trial for trial in sound.values() if not trial.ran]
    for trial in failed[:1]:
        blame: Decision = "worse" if trial.kind in KERNELS_FAULT else "invalid"
        times = "" if len(sound) == 1 else f" in {len(failed)} of {len(sound)} runs"
        yield blame, f"the candidate failed{times}: {words.of_failure(trial.error)}"
    untrue = [trial for trial in sound.values() if trial.ran and not trial.valid]
    if untrue:
        # In virtual time nothing but what was varied can make a link untrue that was true before.
        often = virtual and 2 * len(untrue) > len(sound)
        which, why = f"(seed {untrue[0].seed})", _why(untrue[0])
        if often:
            yield "worse", f"the candidate's links are not what was asked, and the base's are {which}: {why}"
        else:
            yield (
                "invalid",
                f"the candidate's run is invalid: its links are not what was asked {which}: {why}",
            )


def _settle(
    cell: SideCell,
    before: Mapping[int, Trial],
    after: Mapping[int, Trial],
    faults: Sequence[tuple[Decision, str]],
) -> CellVerdict:
    verdict = worst([fault[0] for fault in faults]) if faults else "invalid"
    said = next((text for decision, text in faults if decision == verdict), "nothing ran")
    return CellVerdict(cell, before, after, verdict, said)


def _expectation(entry: Expected) -> tuple[Decision, str]:
    """A law that the base keeps and the candidate breaks is worse; one that it breaks by chance is open."""
    if not entry.base or not entry.candidate or all(entry.candidate.values()):
        return "same", ""
    if not all(entry.base.values()):
        return "same", ""
    broken = sum(not ok for ok in entry.candidate.values())
    reason = words.of_broken(entry.text, entry.found, (broken, len(entry.candidate)))
    return ("worse" if entry.broken else "inconclusive"), reason


def _reason(
    verdict: Decision, parts: Sequence[tuple[Decision, str]], metrics: Sequence[Judged], found: Examined
) -> str:
    if verdict == "same":
        return _same(metrics, _differing(found))
    others = [part for part in parts if part[0] == verdict]
    # By what users lose or gain before what merely departs; then the greatest change: it tells most.
    deciding = (entry for entry in metrics if entry.verdict == verdict)
    best = max(deciding, key=lambda entry: (entry.what.better != "none", entry.size), default=None)
    spoken = [text for text in (part[1] for part in others) if best is None or text not in _texts(metrics)]
    first = spoken[0] if spoken else best.reason if best is not None else others[0][1]
    return words.and_more(first, len(others) - 1, "finding" if spoken else "metric")


def _differing(found: Examined) -> str:
    """What of two runs differs: their tables, or only what the agent counted beside them."""
    pairs = [(found.base[seed], found.candidate[seed]) for seed in found.base if seed in found.candidate]
    tables = not pairs or any(one.digests != other.digests for one, other in pairs)
    return "the tables differ" if tables else "the tables are equal and the counters differ"


def _same(metrics: Sequence[Judged], differing: str) -> str:
    if not metrics:
        return f"{differing}, but nothing that is judged was measured"
    if all(entry.equal for entry in metrics):
        return f"{differing}, but every judged value is equal"
    most = max((m for m in metrics if not m.equal), key=lambda entry: entry.size)
    return most.reason


def _texts(metrics: Sequence[Judged]) -> set[str]:
    return {entry.reason for entry in metrics}


def _warnings(found: Examined, metrics: Sequence[Judged]) -> list[str]:
    fewer = [
        f"{name} has {count} of {len(trials)} runs that count"
        for name, trials in (("the base", found.base), ("the candidate", found.candidate))
        if (count := sum(trial.usable for trial in trials.values())) < len(trials)
    ]
    already = [
        entry.text
        for entry in found.expected
        if entry.base and not all(entry.base.values()) and not entry.mended
    ]
    fewer += [entry.reason for entry in metrics if entry.what.unread]
    return fewer + ([f"the base itself does not keep {words.listed(already)}"] if already else [])


def _telling(metrics: Iterable[Judged]) -> list[Judged]:
    """The quantities that are not the same and decided most."""
    changed = [entry for entry in metrics if entry.verdict != "same"]
    return sorted(changed, key=lambda entry: (_rank(entry.verdict), -entry.size))[:TELLING]


def _rank(verdict: Decision) -> int:
    return ORDER.index(verdict)


def _equal(base: Trial, candidate: Trial) -> bool:
    return base.equals(candidate)


def _kept(entry: Expected) -> JudgedExpectation:
    return write(
        JudgedExpectation,
        text=entry.text,
        base=all(entry.base.values()) if entry.base else None,
        candidate=all(entry.candidate.values()) if entry.candidate else None,
    )


def _runs(trials: Mapping[int, Trial], folder: Path | None) -> list[ComparedRun]:
    return [
        write(
            ComparedRun,
            seed=trial.seed,
            folder=placed(trial.folder, folder),
            key=trial.key or None,
            valid=trial.valid,
            invalid_reasons=list(trial.reasons),
            error=trial.error,
        )
        for trial in trials.values()
    ]


def _seeds(cell: SideCell) -> str:
    return words.listed([str(seed) for seed in cell.trials]) or "none"


def _why(trial: Trial) -> str:
    return words.listed(trial.reasons) or "no reason was given"
