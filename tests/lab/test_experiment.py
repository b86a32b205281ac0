"""One experiment on several machines, without machines: what is said when, and what a failure leads to."""

from __future__ import annotations

import time
from concurrent.futures import Future
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING, Any

import builders as make
import pytest

from rushhour.errors import HostError, UnsupportedError
from rushhour.lab.base import CancelledError
from rushhour.lab.host import company
from rushhour.lab.host.clocks import Clock, Offset
from rushhour.lab.host.company import Company
from rushhour.lab.host.experiment import Experiments, aligned
from rushhour.lab.host.inventory import between
from rushhour.lab.host.session import Timed
from rushhour.record.plan_file import PlanFile, planned
from rushhour.record.tables import write_table

if TYPE_CHECKING:
    from pathlib import Path

AHEAD_NS = {"a": 5_000_000_000, "b": -3_000_000_000}


class Machine:
    """What a session is to an experiment; `faults` says which verb fails how."""

    def __init__(self, name: str, said: list[tuple[str, str]], faults: dict[str, HostError]) -> None:
        self.name, self.said, self.faults = name, said, faults
        self.hello = {"boot_id": name, "kernel": {"release": "6.1", "version": "#1", "machine": "x86_64"}}
        self.lost: HostError | None = None
        self.warnings: list[str] = []
        self.start_ns: int | None = None
        self.stopped = Event()
        self.endless = False

    def timed(self, verb: str) -> Timed:
        now = time.monotonic_ns()
        return Timed({"monotonic_ns": now + AHEAD_NS[self.name]}, now, time.monotonic_ns())

    def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        self.said.append((self.name, verb))
        if verb in self.faults:
            raise self.faults[verb]
        return {"tables": [{"name": "raw/tcp_info.rh", "bytes": 1}]} if verb == "tables" else {}

    def begin(self, verb: str, **arguments: Any) -> Future[dict[str, Any]]:
        answer: Future[dict[str, Any]] = Future()
        self.said.append((self.name, verb))
        if verb == "stop":
            self.stopped.set()
        if verb == "run":
            self.start_ns = arguments["start_clock_ns"]
            Thread(target=self._run, args=(answer,), daemon=True).start()
        else:
            answer.set_result({})
        return answer

    def _run(self, answer: Future[dict[str, Any]]) -> None:
        if "run" in self.faults:
            answer.set_exception(self.faults["run"])
        elif self.endless and self.stopped.wait(5):
            answer.set_exception(HostError("stopped", kind="stopped"))
        else:
            answer.set_result({"ok": True, "flows": []})

    def close(self) -> None:
        self.lost = HostError("closed")

    def download(self, name: str, path: Path) -> None:
        write_table(path, "tcp_info", make.tcp_info([0, 1]))


@pytest.fixture
def said() -> list[tuple[str, str]]:
    return []


def made(
    said: list[tuple[str, str]], **faults: dict[str, HostError]
) -> tuple[Experiments, dict[str, Machine]]:
    machines = {name: Machine(name, said, faults.get(name, {})) for name in "ab"}
    both = Company(between(a="local", b="local"), sessions=machines)  # type: ignore[arg-type]
    return Experiments(both), machines


def plan(**more: Any) -> PlanFile:
    return planned({"nodes": [{"name": "a"}, {"name": "b"}], "duration_ns": 1_000_000, **more})


def test_all_prepare_before_any_begins_and_all_begin_at_one_instant(
    tmp_path: Path, said: list[tuple[str, str]]
) -> None:
    experiments, machines = made(said)
    halves, kept = experiments.carry_out(plan(), tmp_path)
    verbs = [verb for _, verb in said]
    assert max(i for i, verb in enumerate(verbs) if verb == "prepare") < verbs.index("run")
    assert verbs.count("forget") == 2
    assert "stop" not in verbs
    starts = {name: machine.start_ns for name, machine in machines.items()}
    assert starts["a"] is not None
    assert starts["b"] is not None
    # By clocks that are 8 s apart; each exchange takes well below 10 ms even here.
    assert starts["a"] - starts["b"] == pytest.approx(8_000_000_000, abs=10_000_000)
    assert all((half.folder / "tcp_info.rh").is_file() for half in halves)
    assert all(abs(half.alignment.shift_ns) <= kept[half.name].error_ns for half in halves)


def test_who_emulates_is_ready_before_the_others_measure_the_path(
    tmp_path: Path, said: list[tuple[str, str]]
) -> None:
    experiments, _ = made(said)
    experiments.carry_out(plan(egress=[{"node": "b"}]), tmp_path)
    assert [name for name, verb in said if verb == "prepare"] == ["b", "a"]


def test_one_that_cannot_prepare_keeps_the_others_from_beginning(
    tmp_path: Path, said: list[tuple[str, str]]
) -> None:
    experiments, _ = made(said, b={"prepare": HostError("port 5001 is in use", where="local", hint="look")})
    with pytest.raises(HostError) as caught:
        experiments.carry_out(plan(), tmp_path)
    assert caught.value.where == "b (local)"
    assert "port 5001" in caught.value.message
    verbs = [verb for _, verb in said]
    assert "run" not in verbs
    assert verbs.count("forget") == 2


def test_what_a_kernel_lacks_makes_the_cell_unsupported(tmp_path: Path, said: list[tuple[str, str]]) -> None:
    experiments, _ = made(said, a={"prepare": HostError("no fq here", kind="unsupported")})
    with pytest.raises(UnsupportedError, match="no fq here"):
        experiments.carry_out(plan(), tmp_path)


def test_one_that_dies_stops_the_others_before_they_forget(
    tmp_path: Path, said: list[tuple[str, str]]
) -> None:
    experiments, machines = made(said, b={"run": HostError("the connection ended", where="local")})
    machines["a"].endless = True
    with pytest.raises(HostError, match="connection ended"):
        experiments.carry_out(plan(), tmp_path)
    mine = [verb for name, verb in said if name == "a"]
    assert mine[-2:] == ["stop", "forget"]


def test_a_start_that_came_too_late_is_tried_again_with_more_time(
    tmp_path: Path, said: list[tuple[str, str]]
) -> None:
    experiments, machines = made(said, b={"run": HostError("the start was 3 ms ago", kind="late")})
    forget = machines["b"].begin

    def begin(verb: str, **arguments: Any) -> Future[dict[str, Any]]:
        if verb == "forget":
            machines["b"].faults.clear()
        return forget(verb, **arguments)

    machines["b"].begin = begin  # type: ignore[method-assign]
    experiments.carry_out(plan(), tmp_path)
    assert [verb for name, verb in said if name == "b"].count("prepare") == 2


def test_a_stop_from_outside_ends_it(tmp_path: Path, said: list[tuple[str, str]]) -> None:
    experiments, machines = made(said)
    for machine in machines.values():
        machine.endless = True
    Timer(0.1, experiments.stopped.set).start()
    with pytest.raises(CancelledError):
        experiments.carry_out(plan(), tmp_path)
    assert {name for name, verb in said if verb == "stop"} == {"a", "b"}


def test_a_clock_that_runs_fast_is_straightened() -> None:
    second = 10**9
    # 100 ppm fast: after 10 s of ours the offset has grown by 1 ms.
    clock = Clock(Offset(7 * second, 0, 0), Offset(7 * second + 1_000_000, 0, 10 * second))
    start = 2 * second
    alignment = aligned(clock, 9 * second, start, 5 * second)
    assert alignment.shift_ns == pytest.approx(-200_000, abs=100)
    theirs = round(5 * second * (1 + 100e-6))
    assert alignment.stamp(theirs) == pytest.approx(5 * second - 200_000, abs=1000)


class Doors:
    """What opens sessions: machines that may be started anew, or not come back."""

    def __init__(self, said: list[tuple[str, str]]) -> None:
        self.said = said
        self.opened: list[Machine] = []
        self.shut: HostError | None = None
        self.boot = "one"

    def open(self, at: str, **options: Any) -> Machine:
        if self.shut is not None:
            self.said.append(("door", "tried"))
            raise self.shut
        machine = Machine("a", self.said, {})
        machine.hello |= {"boot_id": self.boot}
        self.opened.append(machine)
        return machine


@pytest.fixture
def doors(said: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> Doors:
    made = Doors(said)
    monkeypatch.setattr(company, "Session", made)
    return made


def test_a_machine_whose_session_was_lost_may_come_back(doors: Doors) -> None:
    one = Company(between(a="local", b="local"))
    one.sessions()
    doors.opened[0].lost = HostError("gone")
    one.sessions()
    assert len(doors.opened) == 3


def test_one_that_was_started_anew_is_not_used_again(doors: Doors) -> None:
    one = Company(between(a="local", b="local"))
    one.sessions()
    doors.boot = "two"
    doors.opened[0].lost = HostError("gone")
    with pytest.raises(HostError, match="restarted after"):
        one.sessions()


def test_one_that_does_not_come_back_is_not_waited_for_again_and_again(doors: Doors) -> None:
    one = Company(between(a="local", b="local"))
    one.sessions()
    doors.opened[0].lost = HostError("gone")
    doors.shut = HostError("it does not answer")
    for _ in range(3):
        with pytest.raises(HostError, match="does not answer"):
            one.sessions(["a", "b"])
    assert len(doors.said) <= 2
