"""One conductor: whoever wants runs, they are carried out, known, told, failed and stopped alike."""

import ast
import asyncio
import errno
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import fakes
import pytest

import rushhour
from rushhour import spec
from rushhour.bisect.measure import Bench
from rushhour.errors import LabError, RecordError, RushHourError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab import realtime
from rushhour.lab.base import CancelledError, Job
from rushhour.plan import expand
from rushhour.plan.probe import probe
from rushhour.running import runner
from rushhour.running.batch import Outcome, of_one
from rushhour.running.conductor import Conductor
from rushhour.running.executor import Pool, Threads, execute
from rushhour.verdict import compare
from rushhour.verdict.boots import boots
from rushhour.web.answers import RefusedError
from rushhour.web.play.desk import Desk
from rushhour.web.play.offers import Offers
from rushhour.web.play.setup import Setup
from rushhour.web.settings import Bounds

SOURCE = Path(rushhour.__file__).parent
KERNEL = realtime.described("6.18.44", "#1 SMP", "x86_64", None)
COMMIT = "c" * 40


class Lab(fakes.FakeLab):
    """Knows who called it, and on which CPUs."""

    def __init__(self, behaviour: Callable[..., float] = lambda *_: 50.0, name: str = "uml") -> None:
        super().__init__(behaviour)
        self.name = name
        self.callers: set[tuple[str, str]] = set()
        self.cpus: list[int | None] = []

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        caller = sys._getframe(1)
        self.callers.add((caller.f_globals["__name__"], caller.f_code.co_name))
        self.cpus.append(cpu)
        return super().run(job, destination, cpu)


class Machine(Lab):
    """The same in real time."""

    def __init__(self, behaviour: Callable[..., float] = lambda *_: 50.0) -> None:
        super().__init__(behaviour, "netns")

    def tested(self) -> realtime.RunningKernel:
        return KERNEL

    def key(self, job: Job) -> str:
        return realtime.key(self.name, job, fakes.AGENT)

    def refusal(self, job: Job) -> RushHourError | None:
        return None

    def warm_up(self, job: Job) -> None:
        pass


@dataclass
class Watch:
    """What was told; `then` is called with each outcome."""

    then: Callable[[Any], None] = lambda _: None
    expected: int = 0
    shown: list[Any] = field(default_factory=list)

    def more(self, count: int) -> None:
        self.expected += count

    def show(self, outcome: Outcome) -> None:
        self.shown.append(outcome)
        self.then(outcome)


def sweep(lab: Lab, watch: Watch, executor: Any = None) -> None:
    batches = runner.prepare(["fake.toml"], kernels=["k"], out=Path("sweep"))
    with closing(runner.carry_out(batches, lab, executor=executor, watch=watch)) as outcomes:
        assert [*outcomes] == watch.shown


def real_time(lab: Lab, watch: Watch, executor: Any = None) -> None:
    batches = runner.prepare(["fake.toml"], lab="netns", tested=KERNEL, out=Path("real"))
    with closing(runner.carry_out(batches, lab, executor=executor, watch=watch)) as outcomes:
        assert [*outcomes] == watch.shown


def comparison(lab: Lab, watch: Watch, executor: Any = None) -> None:
    compare("k", "other", scenarios=["fake.toml"], lab=lab, watch=watch, executor=executor)


def bisection(lab: Lab, watch: Watch, executor: Any = None) -> None:
    scenario = spec.load_scenario(spec.find_scenarios("fake.toml")[0])
    # It says its progress in lines.
    tell = partial(Watch.show, watch)
    bench = Bench(Path(), Path("records"), "fake", scenario, lab, tell=tell, executor=executor)
    bench.built[COMMIT] = kernels.find("k")
    bench.run(COMMIT, expand(scenario), 1)


def desk(lab: Lab, watch: Watch, executor: Any = None) -> None:
    assert executor is None
    one = Desk(Bounds.parse(["runs=2"]), lambda: lab, watch)
    try:
        asyncio.run(one.made(Setup(), lambda record: record.key))
    finally:
        one.close()


def offers(lab: Lab, watch: Watch, executor: Any = None) -> None:
    assert executor is None
    with closing(Pool(1)) as pool:
        Offers(lambda: lab, pool, watch).of("k")


USERS = {
    "sweep": (sweep, Lab), "real time": (real_time, Machine), "compare": (comparison, Lab),
    "bisect": (bisection, Lab), "playground": (desk, Lab), "offers": (offers, Lab),
}  # fmt: skip
SINGLE = ("playground", "offers")
everybody = pytest.mark.parametrize("user", USERS)
many = pytest.mark.parametrize("user", [user for user in USERS if user not in SINGLE])


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "config").write_text('CONFIG_DEFAULT_TCP_CONG="cubic"\n')
    monkeypatch.setattr(kernels, "find", lambda name: fakes.kernel(name, tmp_path))
    monkeypatch.setattr(kernels, "default", lambda: fakes.kernel("k", tmp_path))
    monkeypatch.setattr(
        kernels, "installed", lambda: [fakes.kernel(name, tmp_path) for name in ("k", "other")]
    )
    (tmp_path / "fake.toml").write_text(fakes.SCENARIO)
    return tmp_path


def go(user: str, behaviour: Callable[..., float] = lambda *_: 50.0, **options: Any) -> tuple[Lab, Watch]:
    act, kind = USERS[user]
    watch = Watch(**options)
    lab = kind(behaviour)
    act(lab, watch)
    return lab, watch


def refuse(error: BaseException) -> Callable[..., float]:
    def behaviour(*_: object) -> float:
        raise error

    return behaviour


def full() -> LabError:
    error = LabError("the run cannot be written: No space left on device")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    return error


def calls_of_run(tree: ast.AST) -> list[str]:
    """Whatever is asked to run with a job and a place: two words or more, none of them by name."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call.func)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "run"
        and ("lab" in ast.unparse(call.func.value).lower() or len(call.args) > 1)
    ]  # fmt: skip


def test_a_lab_is_asked_to_run_in_one_place() -> None:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        calls = calls_of_run(ast.parse(path.read_text("utf-8")))
        # A bisection's bench is no lab, and a lab that runs by itself has no caller.
        calls = [call for call in calls if call not in {"bench.run", "self.bench.run", "self.run"}]
        if calls:
            found[str(path.relative_to(SOURCE))] = calls
    assert found == {"running/executor.py": ["lab.run"]}


def test_another_place_would_be_found() -> None:
    for line in ("self._lab.run(job, place)", "where.run(job, place, cpu)", "flight.lab.run(job)"):
        assert calls_of_run(ast.parse(line)), line
    assert not calls_of_run(ast.parse("process.run(['ls'], what='list'); store.lists.run(row)"))


@everybody
def test_every_run_comes_from_the_executor(user: str) -> None:
    lab, _ = go(user)
    assert lab.callers == {("rushhour.running.executor", "execute")}
    assert all((cpu is None) == (user == "real time") for cpu in lab.cpus)


@everybody
def test_who_watches_is_told_of_every_run(user: str) -> None:
    lab, watch = go(user)
    assert len(watch.shown) == len(lab.ran) == {"compare": 8, "playground": 1, "offers": 1}.get(user, 4)
    if user != "bisect":
        assert watch.expected == len(watch.shown)


@everybody
def test_a_run_that_fails_is_told_and_stops_no_other(user: str) -> None:
    if user in SINGLE:
        with pytest.raises(LabError, match="no such luck"):
            go(user, refuse(LabError("no such luck")))
        return
    lab, watch = go(user, lambda _, cc, __: 50.0 if cc != "reno" else refuse(LabError("no such luck"))())
    assert len(watch.shown) == len(lab.ran)
    assert {cc for _, cc, _ in lab.ran} >= {"cubic", "reno", "vegas", "bbr"}
    if user != "bisect":
        failed = [outcome for outcome in watch.shown if outcome.error]
        assert {outcome.run.cell.factors["cc"] for outcome in failed} == {"reno"}
        assert {entry["message"] for entry in failed[0].batch.failures} == {"no such luck"}


@everybody
def test_a_full_disk_stops_everything_with_the_same_words(user: str) -> None:
    with pytest.raises(LabError, match="the disk is full; what has finished is kept"):
        go(user, refuse(full()))


@everybody
def test_a_run_that_was_stopped_is_no_failure(user: str) -> None:
    watch = Watch()
    act, kind = USERS[user]
    with pytest.raises((CancelledError, RefusedError), match=r"stopped|ended before"):
        act(kind(refuse(CancelledError("stopped"))), watch)
    assert watch.shown == []


@many
def test_an_interrupt_stops_what_runs_and_keeps_what_finished(user: str) -> None:
    def interrupt(_: Outcome) -> None:
        raise KeyboardInterrupt

    act, kind = USERS[user]
    lab = kind()
    with pytest.raises(KeyboardInterrupt):
        act(lab, Watch(interrupt))
    assert lab.cancelled.is_set()
    before = len(lab.ran)
    assert before >= 1
    again, watch = go(user)
    assert len(again.ran) + before == len(watch.shown), "what finished is known, the rest is run"


@everybody
def test_what_is_known_is_not_run_again(user: str) -> None:
    if user == "playground":  # which keeps nothing itself, but knows what others kept
        from rushhour.web.play.desk import NAME  # noqa: PLC0415
        from rushhour.web.play.scenario import scenario  # noqa: PLC0415

        alone = of_one(NAME, scenario(Setup(), Bounds()), kernels.default(), Path("mine"))
        with Conductor(Lab()) as conductor:
            assert conductor.one(*alone).error is None
    else:
        go(user)
    lab, watch = go(user)
    assert lab.ran == []
    assert watch.shown
    if user != "bisect":
        assert all(outcome.cached for outcome in watch.shown)


class Elsewhere:
    """An executor of a test: one thread for each run, and nothing pinned."""

    measures = False

    def __init__(self, lab: Lab, capacity: int) -> None:
        self.lab, self.capacity = lab, capacity
        self.jobs: list[Job] = []

    def submit(self, job: Job, destination: Path) -> Future[Path]:
        self.jobs.append(job)
        future: Future[Path] = Future()

        def run() -> None:
            try:
                future.set_result(execute(self.lab, job, destination, None))
            except LabError as error:
                future.set_exception(error)

        threading.Thread(target=run).start()
        return future

    def cancel(self) -> None:
        self.lab.cancel()


@many
def test_another_executor_carries_the_runs_elsewhere(user: str) -> None:
    act, kind = USERS[user]
    lab = kind()
    there = Elsewhere(lab, 1 if user == "real time" else 3)
    act(lab, Watch(), there)
    assert len(there.jobs) == len(lab.ran) > 0


@many
def test_a_fault_of_an_executor_is_raised_and_nobody_waits_for_ever(user: str) -> None:
    class Broken(Elsewhere):
        def submit(self, job: Job, destination: Path) -> Future[Path]:
            raise FileNotFoundError(job.kernel.name)

    act, kind = USERS[user]
    lab = kind()
    with pytest.raises(FileNotFoundError):
        act(lab, Watch(), Broken(lab, 1 if user == "real time" else 3))
    assert lab.ran == []


def test_in_real_time_an_executor_makes_one_run_at_a_time() -> None:
    lab = Machine()
    with pytest.raises(UsageError, match="one run at a time, and the executor makes 2"):
        real_time(lab, Watch(), Elsewhere(lab, 2))
    assert lab.ran == []


class Patient(Lab):
    """Ends a run only when the next one is asked for; knows how many went on at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()
        self.further = threading.Condition()
        self.going, self.most = 0, 0

    def key(self, job: Job) -> str:
        key = super().key(job)
        with self.further:
            self.asked.add(key)
            self.further.notify_all()
        return key

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        with self.further:
            self.going += 1
            self.most = max(self.most, self.going)
            wanted = min(4, len(self.ran) + 2)
            assert self.further.wait_for(lambda: len(self.asked) >= wanted, timeout=20), (
                "nothing was made ready"
            )
        try:
            return super().run(job, destination, cpu)
        finally:
            with self.further:
                self.going -= 1


@pytest.mark.usefixtures("place")
def test_the_next_run_is_made_ready_while_this_one_goes_on() -> None:
    lab = Patient()
    batches = runner.prepare(["fake.toml"], kernels=["k"], out=Path("sweep"))
    with closing(runner.carry_out(batches, lab, jobs=1)) as outcomes:
        assert [outcome.error for outcome in outcomes] == [None] * 4
    assert len(lab.ran) == 4
    assert lab.most == 1


def test_labs_that_share_a_pool_have_no_more_runs_than_it_has_threads() -> None:
    going, most, lock = 0, 0, threading.Lock()

    def count(*_: object) -> float:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
        threading.Event().wait(0.02)
        with lock:
            going -= 1
        return 50.0

    with closing(Pool(2)) as pool:
        labs = [Lab(count) for _ in range(6)]
        runs = []
        for number, lab in enumerate(labs):
            batch, run = of_one("x", probe(), kernels.default(), Path(str(number)))
            runs.append(Threads(lab, pool).submit(batch.job(run), Path(str(number), "run")))
        assert all(run.result().is_dir() for run in runs)
    assert most == 2


def test_a_run_whose_turn_has_not_come_is_stopped_at_once() -> None:
    begun, end = threading.Event(), threading.Event()

    def block(*_: object) -> float:
        begun.set()
        end.wait()
        return 50.0

    batch, run = of_one("x", probe(), kernels.default(), Path("x"))
    with closing(Pool(1)) as pool:
        first = Threads(Lab(block), pool).submit(batch.job(run), Path("first"))
        begun.wait()
        later = Conductor(Lab(), executor=Threads(lab := Lab(), pool))
        threading.Timer(0.05, later.cancel).start()
        with pytest.raises(CancelledError, match="before it began"):
            later.one(batch, run)
        end.set()
        assert first.result().is_dir()
    assert lab.ran == []
    with pytest.raises(CancelledError):
        pool.submit(lambda _: Path())


def test_whether_a_kernel_boots_is_never_taken_from_the_cache(place: Path) -> None:
    kernel = kernels.default()
    assert boots(kernel, first := Lab(), place)
    assert boots(kernel, second := Lab(), place)
    assert len(first.ran) == len(second.ran) == 1
    assert not boots(kernel, Lab(refuse(LabError("panic"))), place)
    with pytest.raises(LabError, match="disk is full"):
        boots(kernel, Lab(refuse(full())), place)
    with pytest.raises(CancelledError):
        boots(kernel, Lab(refuse(CancelledError("stopped"))), place)
    with pytest.raises(RecordError):
        boots(kernel, Lab(refuse(RecordError("nothing works here"))), place)


@dataclass
class Distant:
    """An executor with room for very many runs, none of which ends before it is told so."""

    lab: Lab
    capacity: int = 1000
    measures = True
    begun: list[tuple[Job, Path, Future[Path]]] = field(default_factory=list)
    stopped: bool = False

    def submit(self, job: Job, destination: Path) -> Future[Path]:
        if self.stopped:
            raise CancelledError("stopped before it began")
        future: Future[Path] = Future()
        self.begun.append((job, destination, future))
        return future

    def cancel(self) -> None:
        self.stopped = True
        for _, _, future in self.begun:
            future.cancel()

    def land(self, job: Job, destination: Path, future: Future[Path]) -> None:
        future.set_result(execute(self.lab, job, destination, None))

    def land_all(self, first: int, last: int | None = None) -> None:
        self.wait_for(last or 0)
        for one in self.begun[first:last]:
            self.land(*one)

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.begun) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def repeated(times: int) -> Any:
    (batch,) = runner.prepare(["fake.toml"], kernels=["k"], repeat=times, out=Path("many"))
    return batch


def in_the_background(lab: Lab, executor: Distant, batch: Any) -> tuple[threading.Thread, list[Outcome]]:
    found: list[Outcome] = []

    def go() -> None:
        with Conductor(lab, executor=executor) as conductor:
            found.extend(conductor.outcomes((batch, run) for run in batch.runs()))

    thread = threading.Thread(target=go)
    thread.start()
    return thread, found


def test_runs_under_way_need_no_threads() -> None:
    lab = Lab()
    executor, batch = Distant(lab), repeated(100)
    before = threading.active_count()
    thread, found = in_the_background(lab, executor, batch)
    executor.wait_for(400)
    assert threading.active_count() - before <= 1 + 4, "one that asks, and the hands"
    for one in executor.begun:
        executor.land(*one)
    thread.join(120)
    assert len(found) == 400
    assert all(outcome.error is None for outcome in found)


def test_no_more_runs_are_under_way_than_the_executor_takes_now() -> None:
    lab = Lab()
    executor, batch = Distant(lab, 3), repeated(5)
    thread, found = in_the_background(lab, executor, batch)
    executor.wait_for(3)
    assert len(executor.begun) == 3
    executor.capacity = 8  # a fleet that got more workers
    executor.land(*executor.begun[0])
    executor.wait_for(9)
    assert len(executor.begun) == 9, "eight, and the one that landed"
    for place in range(20):
        executor.wait_for(place + 1)
        if place:
            executor.land(*executor.begun[place])
    thread.join(120)
    assert len(found) == 20


def test_leaving_waits_for_what_is_under_way_and_keeps_it() -> None:
    lab = Lab()
    executor, batch = Distant(lab, 2), repeated(5)
    with Conductor(lab, executor=executor) as conductor:
        outcomes = conductor.outcomes((batch, run) for run in batch.runs())
        threading.Timer(0.1, lambda: executor.land_all(0, 1)).start()
        next(outcomes)
        executor.wait_for(3)
        late = threading.Timer(0.2, lambda: executor.land_all(1))
        late.start()
    assert len(executor.begun) == 3, "what waited for its turn does not begin any more"
    assert all(place.is_dir() for _, place, _ in executor.begun)
    again, watch = Lab(), Watch()
    with Conductor(again, watch=watch) as conductor:
        assert len([*conductor.outcomes((batch, run) for run in batch.runs())]) == 20
    assert len(again.ran) == 17


def test_an_interrupt_while_a_run_begins_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, batch = Lab(), repeated(5)

    def go() -> None:
        with suppress(KeyboardInterrupt), Conductor(lab, executor=Distant(lab, 2)) as conductor:
            asking, submit = threading.current_thread(), conductor._hands.submit

            def struck(*words: Any) -> Future[Any]:
                if threading.current_thread() is asking:
                    raise KeyboardInterrupt
                return submit(*words)

            monkeypatch.setattr(conductor._hands, "submit", struck)
            next(conductor.outcomes((batch, run) for run in batch.runs()))

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
