"""Carries out a diagnosis: reads both hosts, measures the path, reads them again, applies the rules."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from rushhour.causes.ranking import folded
from rushhour.diagnosis import measure, processors
from rushhour.diagnosis.case import DIRECTIONS, ENDS, Case, other
from rushhour.diagnosis.case import Path as Way
from rushhour.diagnosis.connections import moving
from rushhour.diagnosis.diagnosis import Diagnosis
from rushhour.diagnosis.gather import counters, gather, recount
from rushhour.diagnosis.possible import possible_bps
from rushhour.diagnosis.procedure import Procedure
from rushhour.diagnosis.rules import judge
from rushhour.diagnosis.rules.measured_broken import no_way
from rushhour.diagnosis.table import table
from rushhour.errors import HostError, UsageError
from rushhour.files import rooms
from rushhour.lab import clock
from rushhour.lab.host import answers, reach
from rushhour.lab.host.inventory import Inventory
from rushhour.lab.host.place import Place
from rushhour.lab.host.session import Session
from rushhour.lab.host.transport import give_up
from rushhour.lab.hosts import HostsLab
from rushhour.record.record import Record
from rushhour.record.seal import write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rushhour.diagnosis.case import End
    from rushhour.diagnosis.connections import Connection
    from rushhour.diagnosis.facts import Facts
    from rushhour.diagnosis.measure import Phase
    from rushhour.diagnosis.measured import Cpu, Measured

T = TypeVar("T")

RESULTS = rooms.RESULTS / "diagnose"
LOOK_S = 0.6
"""How long the connections of programs are watched at least; twice that without --quick."""
NO_ECHO = (
    "needs CAP_NET_RAW (root, or --sudo): round trips are those of TCP, the largest packet is not looked for"
)
RECORDS, DOCUMENT, PAGE = "records", "diagnosis.json", "report.html"


@dataclass(frozen=True)
class Asked:
    """What a diagnosis is asked for; see `rushhour diagnose --help`."""

    a: str
    b: str
    quick: bool = False
    rate_bps: float | None = None
    ssh_config: str | Path | None = None
    sudo: bool = False
    address_a: str | None = None
    address_b: str | None = None
    out: Path | None = None

    def inventory(self) -> Inventory:
        """The two ends as an inventory of the hosts lab.

        Raises:
            UsageError: a place or an address is none, or both places are one.
        """
        places = {"a": Place.parse(self.a), "b": Place.parse(self.b)}
        if places["a"] == places["b"]:
            raise UsageError(
                f"both ends are {self.a!r}: a path has two different ends",
                hint="for example: local user@host",
            )
        given = {"a": self.address_a, "b": self.address_b}
        hosts = {
            end: {"at": places[end].text, "sudo": self.sudo} | ({"address": given[end]} if given[end] else {})
            for end in ENDS
        }
        return Inventory.model_validate({"host": hosts})


def carry_out(asked: Asked, tell: Callable[[str], None] = lambda _: None) -> Diagnosis:
    """Carry out a diagnosis; `tell` hears what is going on.

    Raises:
        UsageError: the words make no sense, or the folder holds another diagnosis.
        HostError: an end cannot be reached by its place, or went away.
    """
    inventory = asked.inventory()
    _refuse_used(asked.out)
    with ExitStack() as stack:
        tell(f"reaching {asked.a} and {asked.b}")
        sessions = _open(asked, stack)
        lab = stack.enter_context(HostsLab(inventory, sessions=sessions))
        folder = asked.out or _folder(asked)
        rooms.open_results(folder)
        try:
            seats = lab.company.seats([("a", "b")])
        except HostError as error:
            return _kept(_no_way(sessions, asked, error), folder)
        tell("reading both ends")
        addresses: dict[str, str] = {end: seats[end].address for end in ENDS}
        begun, before = clock.monotonic(), _sockets(sessions, addresses)
        facts = _both(lambda end: gather(sessions[end], addresses[other(end)]))
        clock.sleep(max(0.0, (LOOK_S if asked.quick else 2 * LOOK_S) - (clock.monotonic() - begun)))
        there = moving(before, _sockets(sessions, addresses), clock.monotonic() - begun)
        bench = Bench(lab, sessions, folder / RECORDS, tell)
        procedure = Procedure(bench, _known(asked, seats, sessions), rate_bps=asked.rate_bps)
        measured = procedure.carry_out()
        tell("reading both ends again")
        risen = _both(lambda end: counters.rise(facts[end].counters, recount(sessions[end], facts[end])))
    failed = {name: str(error) for name, error in procedure.failed.items()}
    failed |= {f"{end}: echo requests": NO_ECHO for end in ENDS if end not in procedure.known.echo}
    return _kept(_judged(facts, bench.completed(measured, risen), failed, there), folder)


def _sockets(
    sessions: Mapping[str, Session], addresses: Mapping[str, str]
) -> dict[str, tuple[answers.Socket, ...]]:
    """The connections that each end has with the other's address."""
    asked = _both(lambda end: sessions[end].call("sockets", peer=addresses[other(end)]))
    return {end: answers.typed(answers.Sockets, asked[end]).tcp.with_peer for end in ENDS}


def _open(asked: Asked, stack: ExitStack) -> dict[str, Session]:
    def one(end: str) -> Session:
        place = asked.a if end == "a" else asked.b
        return Session.open(place, ssh_config=asked.ssh_config, sudo=asked.sudo)

    with ThreadPoolExecutor(2, thread_name_prefix="end") as pool:
        futures = {end: pool.submit(one, end) for end in ENDS}
        try:
            wait(futures.values())
        except BaseException:  # an interrupt: an end that does not answer is not waited for
            give_up(futures.values())
            raise
    failure = None
    for future in futures.values():
        error = future.exception()
        if error is None:
            stack.enter_context(future.result())
        failure = failure or error
    if failure is not None:
        raise failure
    return {end: future.result() for end, future in futures.items()}


def _both(work: Callable[[End], T]) -> dict[str, T]:
    """Both ends at once."""
    with ThreadPoolExecutor(2, thread_name_prefix="end") as pool:
        futures = {end: pool.submit(work, end) for end in ENDS}
    return {end: future.result() for end, future in futures.items()}


def _known(asked: Asked, seats: Mapping[str, Any], sessions: Mapping[str, Session]) -> measure.Known:
    mtus: dict[str, int] = {end: seats[end].mtu or 1500 for end in ENDS}
    family = "ipv6" if ":" in seats["a"].address else "ipv4"
    echo = tuple(end for end in ENDS if "net_raw" in sessions[end].hello.get("capabilities", ()))
    return measure.Known(asked.quick, echo=echo, mtu=min(mtus.values()), mtus=mtus, family=family)


class Bench:
    """Carries out phases on the two ends, keeps their records, and watches the processors meanwhile."""

    def __init__(
        self, lab: HostsLab, sessions: Mapping[str, Session], folder: Path, tell: Callable[[str], None]
    ) -> None:
        self.lab, self.folder, self.tell = lab, folder, tell
        boots = {end: session.hello.get("boot_id") for end, session in sessions.items()}
        self.watches = {
            end: processors.Watch(
                session, [int(s.hello["pid"]) for e, s in sessions.items() if boots[e] == boots[end]]
            )
            for end, session in sessions.items()
        }
        self.cpus: dict[str, dict[str, Cpu]] = {}
        self.count = 0

    def run(self, phase: Phase) -> Record:
        """Carry out a phase; see `procedure.Bench`."""
        self.tell(phase.says)
        self.folder.mkdir(exist_ok=True)
        self.count += 1
        before = {end: watch.look() for end, watch in self.watches.items()}
        begun = clock.monotonic()
        place = self.lab.measure(phase.lowered(), self.folder / f"{self.count:02}-{phase.name}", phase.name)
        lasted = clock.monotonic() - begun
        record = Record.open(place)
        for end, watch in self.watches.items():
            seen = processors.between(before[end], watch.look(), lasted)
            if seen is not None:
                self.cpus.setdefault(phase.name, {})[end] = seen
        return record

    def completed(
        self, measured: Mapping[str, Measured], risen: Mapping[str, Mapping[str, int]]
    ) -> dict[str, Measured]:
        """With the processors while one flow ran, and everything that rose at either end."""
        done = {}
        for way, one in measured.items():
            mine = self.cpus.get(f"{measure.SINGLE}-{way.replace('→', '-to-')}", {})
            every: dict[str, dict[str, float]] = {
                end: {**one.counters.get(end, {}), **risen.get(end, {})} for end in ENDS
            }
            done[way] = replace(one, cpu=mine, counters=every)
        return done


def _judged(
    facts: Mapping[str, Facts],
    measured: Mapping[str, Measured],
    failed: Mapping[str, str],
    there: Sequence[Connection],
) -> Diagnosis:
    trips = [one.idle_rtt_ns for one in measured.values() if one.idle_rtt_ns]
    rates = {way: rate for way, one in measured.items() if (rate := possible_bps(one))}
    sizes = [one.path_mtu for one in measured.values() if one.path_mtu]
    way = Way(min(trips, default=None), rates, min(sizes, default=None))
    case = Case(facts["a"], facts["b"], {way: measured[way] for way in DIRECTIONS}, way, there)
    missing = {f"{end}: {what}": why for end in ENDS for what, why in facts[end].unknown.items()}
    return Diagnosis(clock.stamped(), case, table(case.a, case.b), folded(judge(case)), {**failed, **missing})


def _no_way(sessions: Mapping[str, Session], asked: Asked, error: HostError) -> Diagnosis:
    """No packet can go from one to the other and back: both are read, nothing is measured."""

    def peer(end: str) -> str:
        given = asked.address_b if end == "a" else asked.address_a
        files = answers.files(sessions[other(end)], [reach.FIB, reach.IPV6])
        return given or next(iter(reach.local_addresses(files)), "127.0.0.1")

    facts = _both(lambda end: gather(sessions[end], peer(end)))
    case = Case(facts["a"], facts["b"])
    findings = folded([no_way(error, {end: peer(end) for end in ENDS}), *judge(case)])
    return Diagnosis(clock.stamped(), case, table(case.a, case.b), findings, {"measurements": error.message})


def _kept(diagnosis: Diagnosis, folder: Path) -> Diagnosis:
    kept = replace(diagnosis, folder=folder)
    write_json(folder / DOCUMENT, kept.document())
    return kept


def _refuse_used(out: Path | None) -> None:
    """Records are written once: a second diagnosis in their folder would find the first one's there."""
    if out is not None and (out / RECORDS).exists():
        raise UsageError(
            f"{out} holds another diagnosis ({RECORDS}/)",
            hint="name another folder; without --out each diagnosis has one of its own",
        )


def _folder(asked: Asked) -> Path:
    names = [
        place.replace("netns:", "").replace("ssh://", "").strip("/").replace("/", "-")
        for place in (asked.a, asked.b)
    ]
    return rooms.unused(RESULTS / "..".join(names) / clock.folder_stamp())
