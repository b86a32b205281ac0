"""A scenario to begin with: commented TOML, made of a few answers.

Takes a `Draft`, gives the text of a file that validates; nothing is written here.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import Fault, ScenarioError, UsageError
from rushhour.plan import drawing
from rushhour.quantities.units import Duration, UnitError
from rushhour.spec import parse_scenario
from rushhour.spec.load import value_of
from rushhour.spec.toml import inline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PRESETS = {
    "dumbbell": 'one link that all flows share; also "chain" (several in a row), "star" (many senders)',
    "chain": 'links in a row, one flow across all; also "dumbbell" (one link), "star" (many senders)',
    "star": 'many senders, one receiver; also "dumbbell" (one link), "chain" (several in a row)',
}
"""The topologies, and what stands beside each in the file."""
_ACRONYMS = frozenset({"bbr", "bic", "cdg", "cubic", "dctcp", "lp", "nv"})


@dataclass(frozen=True)
class Draft:
    """What a scenario is to be about; several values of a quantity are compared with one another.

    Every value is as a scenario writes it. `vary` holds further keys, each with its values.
    """

    flows: tuple[str, ...] = ("bbr", "cubic")
    preset: str = "dumbbell"
    rate: tuple[str, ...] = ("50mbit",)
    rtt: tuple[str, ...] = ("40ms",)
    buffer: tuple[str, ...] = ("0.5bdp", "2bdp", "8bdp")
    queue: tuple[str, ...] = ("fifo",)
    loss: tuple[str, ...] = ("0%",)
    duration: str = "30s"
    title: str | None = None
    question: str | None = None
    vary: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def sweep(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The keys that vary, with their values."""
        named = {name: getattr(self, name) for name in ("rate", "rtt", "buffer", "queue", "loss")}
        several = [(f"topology.{name}", values) for name, values in named.items() if len(values) > 1]
        return (*several, *self.vary)


def text(draft: Draft, file: str) -> str:
    """The scenario as the text of a file of this name.

    Raises:
        UsageError: a value is none; every fault is named by its key.
    """
    body = "\n".join(_body(draft)) + "\n"
    try:
        art = drawing(parse_scenario(body)).split("\n\n")[0]
    except ScenarioError as error:
        raise UsageError(
            "\n".join(_said(fault) for fault in error.faults), hint="nothing was written"
        ) from error
    # The drawing's own margin goes: the comment has one.
    lines = art.split("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    drawn = [f"#   {line[margin:]}".rstrip() for line in lines]
    name = _line(shlex.quote(file))
    head = [f"# {_line(_title(draft))}", "#", *drawn, "#", f"# To run it: rushhour run {name}"]
    head += [f"# What it would do, and the commands behind it: rushhour show {name} --commands"]
    head += ["# All that can be said in a scenario: rushhour help scenario"]
    return "\n".join(head) + "\n\n" + body


def _said(fault: Fault) -> str:
    hint = f" ({fault.hint})" if fault.hint else ""
    return f"{fault.key}: {fault.message}{hint}" if fault.key else f"{fault.message}{hint}"


def _title(draft: Draft) -> str:
    if draft.title is not None:
        return draft.title
    names = _names(draft)
    return " against ".join(names) if len(names) > 1 else f"{names[0]} on one link"


def _question(draft: Draft) -> str:
    if draft.question is not None:
        return draft.question
    names = _names(draft)
    if len(draft.flows) == 1:
        return f"What does {names[0]} make of this link?"
    if len(draft.flows) == len(names) == 2:
        return f"Who gets the link when {names[0]} meets {names[1]}?"
    return "Who gets how much of the link?"


def _names(draft: Draft) -> list[str]:
    """The algorithms as people write them, each once: `2 Reno`, `CUBIC`."""
    many = Counter(draft.flows)
    return [f"{count} {_called(cc)}" if count > 1 else _called(cc) for cc, count in many.items()]


def _called(cc: str) -> str:
    return cc.upper() if cc in _ACRONYMS else cc.capitalize()


def _line(words: str) -> str:
    """Words as they may stand in a comment: in one line, without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in words).split())


def _body(draft: Draft) -> Iterator[str]:
    yield f"title = {inline(_title(draft))}"
    yield f"question = {inline(_question(draft))}"
    yield f"duration = {inline(draft.duration)} # of virtual time"
    yield f'# warmup = "{_early(draft)}" # left out of shares, delays and steady rates'
    yield ""
    yield from _topology(draft)
    yield ""
    yield from _flows(draft)
    if draft.sweep:
        yield ""
        yield "# Every combination is a cell with runs of its own. Any key can vary, and --set fixes one."
        yield "[sweep]"
        yield from (
            f"{inline(key)} = {inline([value_of(one) for one in values])}" for key, values in draft.sweep
        )
    yield ""
    yield "# What must hold makes the scenario a test: `rushhour run` ends with 1 where it does not."
    yield "# [[expect]]"
    yield '# metric = "utilization"'
    yield "# min = 0.9"


def _topology(draft: Draft) -> Iterator[str]:
    yield "[topology]"
    yield f"preset = {inline(draft.preset)} # {PRESETS.get(draft.preset, '')}".rstrip(" #")
    yield f"rate = {_base(draft.rate)}"
    yield f"rtt = {_base(draft.rtt)} # of the idle path, there and back"
    yield f'buffer = {_base(draft.buffer)} # of the queue there; also "500kB", "100p" (packets), "20ms"'
    if draft.queue == ("fifo",):
        yield '# queue = "fq_codel" # by default "fifo"; also "red", "cake", "fq", in the words of tc'
    else:
        yield f"queue = {_base(draft.queue)} # in the words of tc"
    if draft.loss == ("0%",):
        yield '# loss = "0.1%" # by chance, the same packets in every run of a seed'
    else:
        yield f"loss = {_base(draft.loss)} # by chance, the same packets in every run of a seed"


def _early(draft: Draft) -> Duration:
    """A round part of the duration; zero for an invalid duration, which is refused later."""
    try:
        most = max(1, Duration.parse(draft.duration).ns // 6)
    except UnitError:
        return Duration(0)
    power = int(10 ** (len(str(most)) - 1))
    return Duration(max(step * power for step in (1, 2, 5) if step * power <= most))


def _base(values: Sequence[str]) -> str:
    """The value in the file of what may vary: the middle one."""
    return inline(values[len(values) // 2] if values else "")


def _flows(draft: Draft) -> Iterator[str]:
    """A table for each flow, named after its algorithm."""
    many, seen = Counter(draft.flows), Counter[str]()
    for place, cc in enumerate(draft.flows):
        seen[cc] += 1
        yield from ("",) if place else ()
        yield "[[flow]]"
        yield f"name = {inline(cc if many[cc] == 1 else f'{cc}-{seen[cc]}')}"
        own = (
            " # the kernel's own; also reno, vegas, dctcp, …"
            if cc == "cubic"
            else " # also cubic, reno, vegas, …"
        )
        yield f"cc = {inline(cc)}" + ("" if place else own)
        if not place:
            yield f'# start = "{_early(draft)}" # also duration, bytes, rate, rcvbuf; kind = "udp" or "ping"'
