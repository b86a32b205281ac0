"""Bisecting: from two commits and a scenario to the commit that changed what was measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rushhour import spec
from rushhour.bisect import mark as marks
from rushhour.bisect.answer import conclude
from rushhour.bisect.ends import Ends, judge_ends
from rushhour.bisect.history import History
from rushhour.bisect.measure import Bench, first_line
from rushhour.bisect.search import Position, search
from rushhour.bisect.state import Question, State, Step, fresh, resumed
from rushhour.errors import UsageError
from rushhour.lab import clock
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.plan import expand
from rushhour.quantities.words import plural
from rushhour.record.slim import WHOLE, Wanted
from rushhour.running.prepare import RESULTS
from rushhour.spec.vary import quick_look
from rushhour.verdict.comparing import share
from rushhour.verdict.rule import MAX_SEEDS, SEEDS, Rule
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rushhour.bisect.search import Ahead, Decision
    from rushhour.lab.base import Lab
    from rushhour.running.executor import Executor
    from rushhour.spec import Scenario

    Tell = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """How to bisect, beside what.

    Attributes:
        sets: `KEY=VALUE` words over the scenario's keys.
        quick: A quick look at the scenario.
        flow: Of this flow only.
        minimum: Least difference that matters: `5%`, or an amount: `1ms`.
        improved: Find what made it better, not worse.
        seeds: Runs of a cell that differs, first.
        max_seeds: Runs of a cell at most.
        out: Folder of the results; by default `results/bisect/SCENARIO/DATE-TIME`.
        resume: Go on with an earlier bisection.
        jobs: Runs at once; None for one per CPU.
        wanted: What is to be kept of runs (`rushhour.running.runner.keeping`).
    """

    sets: Sequence[str] = ()
    quick: bool = False
    flow: str | None = None
    minimum: str | None = None
    improved: bool = False
    seeds: int = SEEDS
    max_seeds: int = MAX_SEEDS
    out: Path | None = None
    resume: bool = False
    jobs: int | None = None
    wanted: Wanted = WHOLE


def bisect(
    tree: str | Path,
    good: str,
    bad: str,
    scenario: str | Path,
    metric: str = "-",
    *,
    options: Options | None = None,
    lab: Lab | None = None,
    executor: Executor | None = None,
    tell: Tell = lambda _: None,
    note: Tell = lambda _: None,
) -> dict[str, Any]:
    """Find the first commit of a history at which a metric is as in `bad` and no longer as in `good`.

    Args:
        tree: A git repository of the kernel.
        good: A revision before.
        bad: A revision after.
        scenario: A file, or a name of the catalogue; `sets` choose a cell of its sweep.
        metric: A metric's name, or `-` for whatever the scenario is judged by.
        options: How.
        lab: Where to run; by default the `uml` lab.
        executor: Carries the runs out, instead of threads on this machine.
        tell: Told what goes on at the moment.
        note: Told what is worth keeping: a line for each commit.

    Returns:
        The document that is also `bisect.json` in its folder (docs/bisect.md).

    Raises:
        RushHourError: bad words, ends that do not differ, or nothing can be built or run here.
    """
    options = options or Options()
    history = History(tree)
    ends = history.commit(good), history.commit(bad)
    history.check(*ends)
    name, asked, plain = _scenario(scenario, metric, options)
    question = Question(
        str(history.tree.resolve()), *ends, name, plain.sha256(), tuple(options.sets), metric, options.flow,
        options.minimum, options.improved, options.seeds, options.max_seeds,
    )  # fmt: skip
    state = _state(question, options, name)
    folder = state.folder / "records"
    lab, jobs, wanted = lab or _uml(), options.jobs, options.wanted
    bench = Bench(history.tree, folder, name, plain, lab, jobs, tell, executor, wanted)
    return _Going(history, bench, state, _rule(options), note).run(asked)


@dataclass
class _Going:
    """A bisection that goes on."""

    history: History
    bench: Bench
    state: State
    rule: Rule
    note: Tell

    def run(self, asked: Scenario) -> dict[str, Any]:
        begin = clock.monotonic() - float(self.state.document.get("elapsed_s", 0.0))
        question = self.state.question
        subjects = {end: self.history.about(end).subject for end in (question.good, question.bad)}
        self._keep({"subjects": self.state.document.get("subjects", {}) | subjects})
        position = Position(question.bad, (question.good,))
        for step in self.state.steps:
            position = position.after(step.commit, step.decision)
        if self.state.steps:
            self.note(f"going on after {plural(len(self.state.steps), 'step')}")
        ends = judge_ends(self.bench, question, expand(asked), self.rule, self.note)
        self._keep({"mark": ends.mark.document(), "cell": ends.cell.label, "others": ends.others})

        def judge(commit: str, now: Ahead) -> Decision:
            decision = self._step(commit, now, ends)
            self._keep({"elapsed_s": round(clock.monotonic() - begin, 1)})
            return decision

        last = search(self.history, position, judge)
        self._keep(conclude(self.history, self.bench, last, ends, self.state))
        self._keep({"elapsed_s": round(clock.monotonic() - begin, 1)})
        steps = [asdict(step) for step in self.state.steps]
        return {"folder": str(self.state.folder), **self.state.document, "steps": steps}

    def _keep(self, facts: dict[str, Any]) -> None:
        if not self.state.document:
            now = clock.stamped()
            self.state.document = {"rushhour": __version__, "made": now, "state": "going"}
        self.state.document |= facts
        self.state.save()

    def _step(self, commit: str, now: Ahead, ends: Ends) -> Decision:
        about = self.history.about(commit)
        self.note(f"{plural(len(now.candidates), 'commit')} left, {self._estimate(now)}: {about}")
        found, seeds = self._judged(commit, ends)
        decision: Decision = found.decision or "skip"
        seconds = round(self.bench.seconds.get(commit, 0.0), 1)
        step = Step(commit, about.subject, decision, found.reason, found.value, seeds, seconds)
        self.state.steps.append(step)
        self._keep({"subjects": self.state.document["subjects"] | {commit: about.subject}})
        self.note(f"  {decision}: {found.reason} ({seconds} s)")
        return decision

    def _estimate(self, now: Ahead) -> str:
        """How much is left to do: steps, and the time that as many took so far."""
        steps = f"about {now.steps} step{'s' if now.steps > 1 else ''}"
        past = [step.seconds for step in self.state.steps]
        return f"{steps}, {now.steps * sum(past) / len(past):.0f} s" if past else steps

    def _judged(self, commit: str, ends: Ends) -> tuple[marks.Found, int]:
        """Build and run a commit with more and more seeds, until it is known for what it is."""
        if self.bench.build(commit) is None:
            return marks.Found(None, f"it cannot be built: {_brief(self.bench.broken[commit])}"), 0
        found = marks.Found(None, "it was not run")
        for look in ends.looks:
            for end in (self.state.question.good, self.state.question.bad):
                self.bench.run(end, [ends.cell], look)
            middle = self.bench.run(commit, [ends.cell], look)[0]
            failed = middle.skipped or first_line(middle.trials)
            if failed and ends.mark.kind != "failure":
                return marks.Found(None, f"it does not run: {failed}"), len(middle.trials)
            found = marks.decide(ends.mark, ends.between, middle)
            if found.decision:
                break
        return found, len(middle.trials)


def _scenario(word: str | Path, metric: str, options: Options) -> tuple[str, Scenario, Scenario]:
    """Its name, the scenario with what decides as asked for, and as it is."""
    files = spec.find_scenarios(word)
    if len(files) != 1:
        names = ", ".join(file.name for file in files[:8])
        raise UsageError(f'"{word}" names {len(files)} scenarios', hint=f"bisect one of them: {names}, …")
    plain = spec.load_scenario(files[0], options.sets, VOCABULARY)
    plain = quick_look(plain) if options.quick else plain
    if metric == "-":
        if options.flow is not None:
            raise UsageError("--flow needs the name of a metric, not -")
        if options.minimum is not None and not options.minimum.strip().endswith("%"):
            raise UsageError(f'--minimum "{options.minimum}" needs the name of a metric, not -')
        return files[0].name, plain, plain
    judge = {"metric": metric, "flow": options.flow, "minimum": options.minimum}
    return (
        files[0].name,
        spec.judged_by(plain, {key: value for key, value in judge.items() if value}, VOCABULARY),
        plain,
    )


def _state(question: Question, options: Options, name: str) -> State:
    if options.resume:
        return resumed(question, options.out, name)
    stamp = clock.folder_stamp()
    return fresh(question, options.out or RESULTS / "bisect" / name / stamp)


def _rule(options: Options) -> Rule:
    rule = Rule(seeds=options.seeds, max_seeds=max(options.seeds, options.max_seeds))
    relative = options.minimum is not None and options.minimum.strip().endswith("%")
    return replace(rule, minimum=share(options.minimum)) if relative and options.minimum else rule


def _uml() -> Lab:
    from rushhour.running.runner import make_lab  # noqa: PLC0415 - looks for the agent

    return make_lab("uml")


def _brief(text: str) -> str:
    """The compiler's first complaint."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if "error" in line), lines[0])
