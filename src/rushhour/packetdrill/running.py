"""Scripts and a binary → outcomes: each in a virtual kernel of its own, as many at once as there are CPUs."""

from __future__ import annotations

import tempfile
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import AgentError, LabError, UsageError
from rushhour.lab import userland
from rushhour.lab.commands import Commands, Order
from rushhour.packetdrill.outcome import Outcome, judge
from rushhour.packetdrill.scripts import VARIANTS, Script, Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rushhour.lab.base import Tested
    from rushhour.lab.drill import Program

NAME = "packetdrill"
PROGRAMS = ("sh", "bash", "ip", "sysctl", "tc")
"""What nearly all scripts call, taken from this machine."""
WELCOME = (
    *("cat", "chmod", "cut", "dd", "env", "ethtool", "grep", "head", "ifconfig", "ls", "mkdir", "nstat"),
    *("rm", "sed", "seq", "sleep", "ss", "tail", "touch", "tr", "wc"),
)
"""What some call, or packetdrill itself (`ifconfig`, for an MTU other than 1500)."""
LIMIT_S = 300.0
"""When a script is ended, in seconds of virtual time; the longest of the known ones take two minutes."""


# What bash reads before a script.
_QUICK = Path(__file__).with_name("quick.bash")
_QUICK_PLACE = "usr/lib/rushhour/quick.bash"
# What is run before all scripts, and what it fails at.
_PROOF = Path(__file__).with_name("proof.pkt")
_PROOF_PLACE = f"usr/lib/rushhour/{_PROOF.name}"
_PROOF_LINE = 2
ENVIRONMENT: Mapping[str, str] = {**userland.ENVIRONMENT, "BASH_ENV": f"/{_QUICK_PLACE}"}
"""In what packetdrill is started."""


@dataclass(frozen=True)
class Drill:
    """How scripts are run: the program, its further words, the addresses; whether packets are kept."""

    program: Program
    words: Sequence[str] = ()
    variants: Sequence[str] = tuple(VARIANTS)
    jobs: int = 1
    packets: bool = False


def planned(tree: Tree, variants: Sequence[str]) -> list[tuple[Script, str]]:
    """Each script with each kind of addresses that it is written for."""
    return [(script, variant) for script in tree.scripts for variant in variants if script.takes(variant)]


def carry_out(
    drill: Drill, tree: Tree, kernel: Tested, tell: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Run all scripts; the outcomes come in the order of the scripts.

    Args:
        drill: how.
        tree: the scripts.
        kernel: the virtual kernel.
        tell: told of each outcome as it comes.

    Raises:
        UsageError: the program is no packetdrill.
        LabError: nothing can be run here, or a program that scripts call is not installed.
    """
    binary = drill.program.path
    extra = {f"usr/bin/{NAME}": binary, **userland.loads(binary.resolve()), **tree.laid_out()}
    extra |= {_QUICK_PLACE: _QUICK, _PROOF_PLACE: _PROOF}
    world = userland.gather(NAME, PROGRAMS, extra, welcome=WELCOME, python=True)
    commands = Commands(kernel, world)
    wanted = planned(tree, drill.variants)
    outcomes: dict[tuple[Script, str], Outcome] = {}
    with tempfile.TemporaryDirectory(prefix="rushhour-packetdrill-") as folder:
        _prove(commands, drill.program, Path(folder))
        pool = ThreadPoolExecutor(drill.jobs)
        try:
            begun = {pool.submit(_one, commands, drill, one, Path(folder)): one for one in wanted}
            for outcome in _as_they_come(begun):
                outcomes[outcome.script, outcome.variant] = outcome
                tell(outcome)
        except BaseException:
            commands.cancel()
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()
    return [outcomes[one] for one in wanted]


def _prove(commands: Commands, program: Program, folder: Path) -> None:
    """See the program fail where a packetdrill has to: what passes anything would pass all scripts.

    Only one that read the script and made its system call knows what that answered. Where the guest or the
    program cannot begin at all, or lacks something, the scripts' own outcomes say so.

    Raises:
        UsageError: it is no packetdrill.
    """
    script = Script(_PROOF.name)
    words = [f"/usr/bin/{NAME}", "--send_omit_free", *script.words("ipv4"), script.file]
    order = Order(words, f"/{Path(_PROOF_PLACE).parent}", ENVIRONMENT, LIMIT_S)
    try:
        (ended,) = commands.carry_out([order], script.path, folder)
    except LabError as fault:
        if commands.cancelled or isinstance(fault, AgentError):
            raise
        return
    came = judge(script, "ipv4", ended)
    if came.kind in ("setting", "crash") or (came.kind == "call" and came.line == _PROOF_LINE):
        return
    passed = "it passes a script that no kernel can keep"
    failed = f"it does not say at which line a wrong script fails, but: {came.reason}"
    raise UsageError(
        f"this program is no packetdrill: {passed if came.status == 'pass' else failed}",
        where=str(program.path),
        hint="name packetdrill's program with --binary, or a clone of its source with --source",
    )


def _as_they_come(begun: dict[Future[Outcome], tuple[Script, str]]) -> Iterator[Outcome]:
    for future in as_completed(begun):
        yield future.result()


def _one(commands: Commands, drill: Drill, what: tuple[Script, str], folder: Path) -> Outcome:
    script, variant = what
    # With its word for each packet the first one's time is known as scripts count it. It writes these words
    # in blocks, and errors at once: in one file they would tear each other.
    further = [*drill.words, "--verbose"] if drill.packets else drill.words
    words = [f"/usr/bin/{NAME}", "--send_omit_free", *script.words(variant), *further, script.file]
    order = Order(words, script.folder, ENVIRONMENT, LIMIT_S, drill.packets, apart=drill.packets)
    try:
        (ended,) = commands.carry_out([order], f"{script.path} ({variant})", folder)
    except LabError as fault:
        # What the agent reports is no script's fault: it would meet all others.
        if commands.cancelled or isinstance(fault, AgentError):
            raise
        return Outcome(script, variant, "error", "crash", reason=str(fault))
    return judge(script, variant, ended)
