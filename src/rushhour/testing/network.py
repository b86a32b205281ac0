"""A network for a test, from a few words or a scenario; programs and functions on its nodes; a run of it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rushhour import spec
from rushhour.errors import RushHourError, UsageError
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.running.executing import batch_with, execute
from rushhour.spec.document import parse_toml, read_text
from rushhour.spec.programs import name_programs, usual_name
from rushhour.testing import calls
from rushhour.testing.outages import patterns
from rushhour.testing.outcome import ProgramFailed, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rushhour.testing.outcome import Program

_Words = ParamSpec("_Words")
_Given = TypeVar("_Given")
_TOP = frozenset(
    ("duration", "warmup", "sample", "family", "ecn", "sysctl", "readings", "node", "link", "pattern", "flow")
)
_LONG = "60s"
_USUAL = {"preset": "dumbbell", "rate": "100mbit", "rtt": "20ms"}


@dataclass(frozen=True)
class Setting:
    """What all runs of a test share: where they go, which kernel and seed, where files are looked for."""

    folder: Path
    beside: Path
    kernel: str | None = None
    seed: int = 1
    fresh: bool = False
    runs: list[Run] = field(default_factory=list)


def _brief(function: Callable[_Words, _Given]) -> Callable[_Words, _Given]:
    """The function, whose errors that say what to do come without the way that they took."""

    @functools.wraps(function)
    def called(*words: _Words.args, **named: _Words.kwargs) -> _Given:
        __tracebackhide__ = True
        try:
            return function(*words, **named)
        except RushHourError as error:
            error.__traceback__ = None
            raise

    return called


class Network:
    """A network with programs on its nodes; `run` starts the last of them and all that were named before."""

    @_brief
    def __init__(
        self,
        setting: Setting,
        scenario: str | Path | None = None,
        *,
        sets: Sequence[str] = (),
        outage: str | Sequence[str] = (),
        **keys: Any,
    ) -> None:
        """A network.

        Args:
            setting: Of the test.
            scenario: A file (from the test's own folder), or a name of the catalogue.
            sets: `KEY=VALUE` over the scenario's keys.
            outage: When nothing arrives in either direction: `"2s..7s"`, or several of them.
            keys: Of `[topology]` (`preset`, by default a dumbbell; `rate`, `rtt`, `loss`, `buffer`, …)
                and of the top level (`duration`, by default 60 s; `flow`, `pattern`, `ecn`, `sysctl` …).

        Raises:
            RushHourError: the scenario cannot be read, an outage makes no sense.
        """
        self._setting, self._sets = setting, list(sets)
        self._functions: list[str] = []
        if scenario is not None:
            self._begin_with(scenario, keys)
        else:
            self._file, self._folder = "the network", setting.beside
            top = {key: value for key, value in keys.items() if key in _TOP}
            self._document = {"duration": _LONG} | top
            if "link" not in top:
                rest = {key: value for key, value in keys.items() if key not in _TOP}
                self._document["topology"] = _USUAL | rest
            elif keys.keys() - _TOP:
                odd = ", ".join(sorted(keys.keys() - _TOP))
                raise UsageError(f"{odd}: a network of links has no common link", hint="say it of each link")
        if outage:
            known = self._document.setdefault("pattern", [])
            self._document["pattern"] = [*known, *patterns(outage, self._document.get("topology", {}))]

    @_brief
    def start(self, node: str, what: Any, *words: Any, **keys: Any) -> str:
        """Have a program, or a function, on a node, which begins with the experiment; gives its name.

        Args:
            node: Where.
            what: A command, as a text or its words, or a function at the top level of a module.
            words: Arguments of the function.
            keys: Of `[[program]]`: `name`, `ready` (a port, or a text), `after`, `start`, `stop`, `exit`,
                `input`, `environment`, `files`, `needs`. `texts`: files by name, besides those that lie
                beside the test. For a function also `kwargs`, and `modules` that it imports when called.

        Raises:
            RushHourError: the function or an argument cannot be carried.
        """
        __tracebackhide__ = True
        return self._add(node, what, words, keys)

    @_brief
    def run(self, node: str, what: Any, *words: Any, check: bool = True, **keys: Any) -> Run:
        """Run a program or function on a node, when all others are ready; the experiment ends with it.

        Args:
            node: Where.
            what: As of `start`.
            words: Arguments of the function.
            check: Raise when it, or another, did not come out as it had to.
            keys: As of `start`.

        Raises:
            Exception: what a function raised.
            ProgramFailed: a program failed, or did not end before the experiment's duration.
            RushHourError: the network makes no sense, or could not be run.
        """
        __tracebackhide__ = True
        programs = self._document.get("program", [])
        others = [one["name"] for one in name_programs({"program": programs})["program"]]
        last = self._add(node, what, words, {"after": others, "until": "exit"} | keys)
        scenario = spec.scenario_of(
            self._document | {"seed": self._setting.seed}, self._file, self._sets, self._folder, VOCABULARY
        )
        self._document["program"] = programs
        folder = self._setting.folder / f"run-{len(self._setting.runs) + 1}"
        batch = batch_with(scenario, folder, kernel_name=self._setting.kernel)
        executed = execute(batch, fresh=self._setting.fresh)
        run = Run(executed.record, batch, self._functions)
        self._setting.runs.append(run)
        self._functions = [name for name in self._functions if name != last]
        if check:
            _check(run)
        return run

    def _begin_with(self, scenario: str | Path, keys: Mapping[str, Any]) -> None:
        if keys:
            odd = next(iter(keys))
            raise UsageError(
                f"{odd} stands beside a scenario, which has its own keys",
                hint=f'sets=["topology.{odd}=…"] overrides one',
            )
        beside = self._setting.beside / scenario
        found = spec.find_scenario(beside if beside.is_file() else scenario)
        self._file = str(found.file)
        self._folder = found.file.parent if isinstance(found.file, Path) else self._setting.beside
        self._document = dict(parse_toml(read_text(found.file), self._file))

    def _add(self, node: str, what: Any, words: Sequence[Any], keys: Mapping[str, Any]) -> str:
        __tracebackhide__ = True
        entry = {"node": node} | {key: value for key, value in keys.items() if key not in _OURS}
        name = entry.setdefault("name", self._free(_usual(what)))
        texts = dict(keys.get("texts", {}))
        if callable(what):
            named = keys.get("kwargs", {})
            packed = calls.pack(name, what, words, named, keys.get("modules", ()))
            entry |= {"command": list(packed.command), "needs": [*_list(entry.get("needs")), *packed.needs]}
            texts |= packed.files
            self._functions.append(name)
        else:
            odd = [*map(repr, words), *(key for key in ("kwargs", "modules") if key in keys)]
            if odd:
                raise UsageError(
                    f"{odd[0]}: only a function takes arguments", hint="they belong to the command"
                )
            entry["command"] = what if isinstance(what, str) else [str(word) for word in what]
        if texts:
            entry["files"] = [*_list(entry.get("files")), *texts]
            self._document["file"] = self._document.get("file", {}) | texts
        self._document["program"] = [*self._document.get("program", []), entry]
        return str(name)

    def _free(self, stem: str) -> str:
        taken = {one.get("name") for one in self._document.get("program", [])}
        number = 1
        while (name := stem if number == 1 else f"{stem}{number}") in taken:
            number += 1
        return name


_OURS = frozenset(("kwargs", "modules", "texts"))


def _usual(what: Any) -> str:
    if callable(what):
        inner = getattr(what, "func", what)
        return usual_name(str(getattr(inner, "__name__", type(inner).__name__)))
    first = what.split()[0] if isinstance(what, str) and what.split() else what[0] if what else "program"
    return usual_name(str(first))


def _list(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


def _check(run: Run) -> None:
    __tracebackhide__ = True
    programs = [run.program, *(one for one in run.programs.values() if one is not run.program)]
    for one in programs:
        if one.error is not None:
            raise one.error
    span = run.record.context.duration_ns / 1e9
    if run.program.stopped:
        message = f"{run.program.name} on {run.program.node} had not ended after {span:g} s of virtual time"
        raise ProgramFailed(f"{message}: give the network a longer duration, or see what it waits for")
    wrong = [one for one in programs if one.failure is not None]
    if wrong:
        raise ProgramFailed("\n".join(_wrong(one) for one in wrong))


def _wrong(one: Program) -> str:
    when = "" if one.ended_s is None else f", at {one.ended_s:g} s of virtual time"
    said = one.output[-1].text if one.output else "nothing"
    return f"{one.name} on {one.node} {one.failure}{when}; its last words: {said}"
