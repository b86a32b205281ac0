"""What the suite's scenarios are judged by is measured: a metric without a value judges nothing.

The baseline has the values of the quick suite's cells. Where none of these can tell (a value that only the
whole suite's cells have, a scenario that is newer), cells are run until one does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import cpus
from known_runs import record_of

from rushhour.baseline.read import Baseline
from rushhour.errors import UnsupportedError
from rushhour.lab.uml import UmlLab
from rushhour.metrics.catalog import measure
from rushhour.quantities.factors import matches
from rushhour.running.prepare import prepare
from rushhour.verdict.compared import Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.running.batch import Batch, Run
    from rushhour.spec.judge import Judge

KEPT = Path(__file__).parents[2] / "baselines/suite-quick"


@dataclass(frozen=True)
class Asked:
    """A judge, and one of the values that its `where` names: there it must be able to tell."""

    judge: Judge
    level: Mapping[str, object] = field(default_factory=dict)

    def holds(self, factors: Mapping[str, object]) -> bool:
        return matches(self.judge.where, factors) and matches(self.level, factors)

    def told(self, values: Sequence[MetricValue]) -> bool:
        question = Question(self.judge.metric, self.judge.flow, self.judge.scope)
        told = [one for one in values if one.metric == question.metric and one.value is not None]
        return bool(question.of(told))


def asked(batch: Batch) -> Iterator[Asked]:
    for judge in batch.scenario.judge:
        levels = [
            {key: level}
            for key, named in judge.where.items()
            for level in (named if isinstance(named, list | tuple) else [named])
        ]
        yield from (Asked(judge, level) for level in levels or [{}])


class Silent:
    """What of a scenario nothing has told yet."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.left = list(asked(batch))

    def hear(self, factors: Mapping[str, object], values: Sequence[MetricValue]) -> None:
        self.left = [one for one in self.left if not (one.holds(factors) and one.told(values))]

    def run(self, lab: UmlLab, folder: Path) -> None:
        """Run cells until all is told, or none is left that could, nor any that the kernel can carry out."""
        for run in self.batch.runs():
            holding = [one for one in self.left if one.holds(run.cell.factors)]
            try:
                values = self._values(run, lab, folder) if holding else ()
            except UnsupportedError:
                self.left = [one for one in self.left if one not in holding]
            else:
                self.hear(run.cell.factors, values)

    def _values(self, run: Run, lab: UmlLab, folder: Path) -> Sequence[MetricValue]:
        place = folder / f"{self.batch.name.replace('/', '-')}-{run.number}"
        return measure(record_of(lab, self.batch.job(run), place, cpus.own()))


@cache
def kept() -> Mapping[str, Sequence[tuple[Mapping[str, object], Sequence[MetricValue]]]]:
    """Factors and values of the baseline's runs, by scenario."""
    baseline = Baseline.open(KEPT)
    values = baseline.values()
    found: dict[str, list[tuple[Mapping[str, object], Sequence[MetricValue]]]] = {}
    for run in baseline.runs:
        found.setdefault(run.scenario, []).append((run.factors, values[run.folder]))
    return found


def test_every_judge_has_a_value_wherever_it_is_said_to_decide(tmp_path: Path) -> None:
    lab = UmlLab()
    silent = [Silent(batch) for batch in prepare(["suite"], kernels=["debian-6.12"], out=tmp_path / "none")]
    assert sum(len(one.left) for one in silent) > 700
    for one in silent:
        for factors, values in kept().get(one.batch.name, ()):
            one.hear(factors, values)
        one.run(lab, tmp_path)
    dead = [(one.batch.name, left.judge.metric, left.level) for one in silent for left in one.left]
    assert not dead


def test_a_judge_that_nothing_tells_is_named() -> None:
    """The test of the test: a queue that marks nothing, and a flow that is not there."""
    aqm = next(batch for batch in prepare(["suite/aqm-tcp"], kernels=["debian-6.12"], out=Path("none")))
    judge = aqm.scenario.judge[0]
    marks = judge.model_copy(update={"metric": "marks", "flow": None})
    nobody = judge.model_copy(update={"flow": "nobody"})
    for one, queue, tells in (
        (marks, "fifo", False), (marks, "fq_codel", True), (nobody, "fifo", False), (judge, "fifo", True),
    ):  # fmt: skip
        asking = Asked(one, {"topology.queue": queue})
        found = [values for factors, values in kept()["suite/aqm-tcp"] if asking.holds(factors)]
        assert found
        assert any(asking.told(values) for values in found) is tells
