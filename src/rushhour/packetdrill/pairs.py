"""Scripts on two kernels: what `rushhour compare --packetdrill` and `rushhour check --packetdrill` share.

Scripts run once on each image, also where several pairs of kernels are compared one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.errors import UsageError
from rushhour.lab import clock, commands, drill
from rushhour.packetdrill import comparing, running, scripts, telling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rushhour.export.case import Report
    from rushhour.lab.base import Tested
    from rushhour.packetdrill.comparing import Change
    from rushhour.packetdrill.outcome import Outcome
    from rushhour.packetdrill.scripts import Tree


@dataclass(frozen=True)
class Compared:
    """Two kernels, compared: each script's change, the document, what other formats are made of."""

    changes: Sequence[Change]
    document: dict[str, Any]
    report: Report


@dataclass(frozen=True)
class Scripts:
    """Scripts that can run, and how; a packet's time counts from `least_ns` on."""

    tree: Tree
    how: running.Drill
    least_ns: int = comparing.LEAST_NS
    _known: dict[str, list[Outcome]] = field(default_factory=dict)

    def compare(
        self, base: Tested, candidate: Tested, tell: Callable[[Outcome], None] = lambda _: None
    ) -> Compared:
        """Run the scripts on both kernels, and compare outcomes, packets and times.

        Args:
            base: the trusted kernel.
            candidate: the judged one.
            tell: told of each outcome as it comes.

        Raises:
            LabError: nothing can be run here.
        """
        begun = clock.monotonic()
        outcomes = [self._outcomes(kernel, tell) for kernel in (base, candidate)]
        changes = [
            comparing.compare(one, other, self._text(one), self.least_ns)
            for one, other in zip(*outcomes, strict=True)
        ]
        pair, program = (base, candidate), self.how.program.identity()
        document = telling.compared(changes, pair, program, self.least_ns)
        report = telling.compared_report(changes, pair, program, clock.monotonic() - begun)
        return Compared(changes, document, report)

    def _outcomes(self, kernel: Tested, tell: Callable[[Outcome], None]) -> list[Outcome]:
        image = str(kernel.identity["image_sha256"])
        if image not in self._known:
            self._known[image] = running.carry_out(self.how, self.tree, kernel, tell)
        return self._known[image]

    def _text(self, outcome: Outcome) -> str:
        return self.tree.files[outcome.script.path].read_text(encoding="utf-8", errors="replace")


def find(
    paths: Sequence[Path],
    binary: Path | None = None,
    source: str | None = None,
    *,
    addresses: Sequence[str] = (),
    jobs: int | None = None,
    least_ns: int = comparing.LEAST_NS,
    tell: Callable[[str], None] = lambda _: None,
) -> Scripts:
    """The scripts at these paths, with the program to run them.

    Args:
        paths: scripts, and folders of them.
        binary: packetdrill's program.
        source: packetdrill's source.
        addresses: only these kinds of addresses; all by default.
        jobs: scripts at once; None for one per CPU.
        least_ns: as of `Scripts`.
        tell: told what is done before scripts run.

    Raises:
        UsageError: there are no scripts, or no program.
        KernelError: the program does not compile.
    """
    tree = scripts.find(paths)
    program = drill.find(binary, source, paths, tell)
    variants = chosen(addresses, tree)
    return Scripts(
        tree, running.Drill(program, (), variants, jobs or len(commands.cpus()), packets=True), least_ns
    )


def chosen(addresses: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """The kinds of addresses that were named, all where none were, in the usual order.

    Raises:
        UsageError: no script is written for them.
    """
    variants = tuple(one for one in scripts.VARIANTS if not addresses or one in addresses)
    if not running.planned(tree, variants):
        raise UsageError("no script is written for these addresses", hint="leave out --ip")
    return variants
