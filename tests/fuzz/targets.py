"""What is fuzzed: for each target where to begin, how to change it, and what is done with it."""

from __future__ import annotations

import atexit
import io
import json
import shutil
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz import folders, mutate
from rushhour import baseline, plan, verdict
from rushhour.errors import PlanError, RushHourError, ScenarioError
from rushhour.export.formats import FORMATS
from rushhour.export.gather import gather as cases
from rushhour.metrics.calibration import calibrate
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import export, html, markdown, terminal
from rushhour.series.series import SERIES
from rushhour.spec.catalog import catalogue
from rushhour.spec.load import parse_scenario
from rushhour.spec.scenario import Scenario
from rushhour.spec.trace import TraceError, read_trace
from rushhour.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

FOUND = Path(__file__).parent / "found"


@dataclass(frozen=True)
class Target:
    """`run` takes any bytes: it ends, or what it raises is a fault of the program."""

    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, Random], bytes]
    run: Callable[[bytes], None]


@contextmanager
def told() -> Iterator[None]:
    """An error for people is an answer, if it says something."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # sums of absurd stamps may overflow
            yield
    except RushHourError as error:
        _says(error)


def _says(error: RushHourError) -> None:
    assert error.message.strip(), repr(error)
    str(error).encode()  # what is told can be written


def _refuses(error: PlanError) -> None:
    _says(error)
    assert error.where, error
    assert error.hint, error


@cache
def room() -> Path:
    """Where what the fuzzers begin with is made, once."""
    place = Path(tempfile.mkdtemp(prefix="rushhour-fuzz-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


# Scenarios and traces


@cache
def _keys() -> list[str]:
    schema = Scenario.model_json_schema(by_alias=True)
    models = [schema, *schema.get("$defs", {}).values()]
    return sorted({key for model in models for key in model.get("properties", {})})


def _scenarios() -> list[bytes]:
    return [item.file.read_bytes() for item in catalogue().values()]


def _scenario(data: bytes) -> None:
    try:
        scenario = parse_scenario(data.decode("utf-8", "replace"))
    except ScenarioError as error:
        for fault in error.faults:
            assert fault.message.strip(), fault
            str(fault).encode()
        return
    # What `rushhour show` does: once a scenario is taken it has a plan.
    cells = plan.expand(scenario) if scenario.sweep.size <= 50 else []
    for cell in cells[:2]:
        try:
            lowered = plan.lower(cell.scenario, scenario.seed)
        except PlanError as error:
            # As documented: a valid scenario that no plan can carry out. It names the place and a way out.
            _refuses(error)
            continue
        json.dumps(lowered.plan, allow_nan=False)
        plan.commands(lowered.plan)
        plan.drawing(cell.scenario)
    again = json.dumps(scenario.canonical(), allow_nan=False)
    assert again


def _traces() -> list[bytes]:
    return [
        b"time_s,rate_mbit\n0,10\n1,20\n2.5,0\n",
        b"# a drive\ntime_ms, delay_ms\n0, 20\n100, 30\n",
        b"time_s\tloss_%\n0\t2.5\n1\t0\n",
        b"1\n1\n10\n25\n250\n",
    ]


def _names_a_line(error: TraceError, text: str) -> None:
    assert 1 <= error.line <= text.count("\n") + 1, error.line


def _trace(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for key in ("rate", "delay", "loss"):
        try:
            changes, length_ns = read_trace(text, key, 1_000_000)
        except TraceError as error:
            _names_a_line(error, text)
            continue
        assert all(t_ns >= 0 and 0 <= value < 1e19 for t_ns, value in changes), changes
        assert 0 <= length_ns < 1 << 63


# Records and results


@cache
def _record_whole() -> Path:
    from fuzz.made import record  # noqa: PLC0415 - it is made when it is needed

    return record(room() / "record")


@cache
def _set_whole() -> Path:
    from fuzz.made import results  # noqa: PLC0415

    return results(room() / "set")


@cache
def _baseline_whole() -> Path:
    _set_whole()
    baseline.save("fuzzed", _set_whole(), time="2026-11-21T09:00:00Z")
    return baseline.find("fuzzed").path.parent


@cache
def _database_whole() -> Path:
    from fuzz.made import comparison  # noqa: PLC0415

    place = room() / "database"
    place.mkdir()
    with Store.open(str(place / "results.db")) as store:
        store.import_folder(_set_whole(), tags=["nightly"])
        store.import_folder(comparison(room() / "compared"))
    return place


@cache
def _verdict_whole() -> Path:
    from fuzz.made import comparison  # noqa: PLC0415

    return comparison(room() / "verdict")


def _read_record(folder: Path) -> None:
    record = Record.open(folder)
    with told():
        record.verify()
    with told():
        for name in record.tables():
            record.table(name)
    with told():
        for name in SERIES:
            record.series(name, flow=0, end=2)
    with told():
        record.metrics()
    calibrate(record)


def _read_results(folder: Path) -> None:
    out = folder.parent / "out"
    results = ResultSet.open(folder)
    for write in (
        lambda: html.render(results),
        lambda: markdown.render(ResultSet.open(folder)),
        lambda: terminal.print_results(ResultSet.open(folder), _console()),
        lambda: export.write(ResultSet.open(folder), out / "csv", "csv"),
        lambda: [form.write(cases(folder)) for form in FORMATS.values()],
    ):
        with told():
            write()


def _exchange(folder: Path) -> None:
    out = folder.parent / "out"
    with told():
        verdict.compare(str(_set_whole()), str(folder)).document()
    with told(), Store.open(str(out / "results.db")) as store:
        store.import_folder(folder)
    with told():
        baseline.save(str(out / "kept"), folder, time="2026-11-21T09:00:00Z")


def _console() -> Any:
    from rich.console import Console  # noqa: PLC0415

    return Console(file=io.StringIO(), width=100)


def _read_baseline(folder: Path) -> None:
    for version in sorted(path for path in folder.iterdir() if path.is_dir()):
        with told():
            found = baseline.find(version)
            found.values()
            found.digests()
    with told():
        verdict.compare(str(folder / "1"), str(_set_whole())).document()
    with told(), Store.open(str(folder.parent / "results.db")) as store:
        store.import_folder(folder / "1")


def _read_verdict(folder: Path) -> None:
    with told():
        report = cases(folder)
        for form in FORMATS.values():
            form.write(report)
    with told(), Store.open(str(folder.parent / "results.db")) as store:
        store.import_folder(folder)
        store.comparisons()
        for cell in store.verdicts():
            store.verdict_metrics(cell.id)


def _read_database(folder: Path) -> None:
    with Store.open(str(folder / "results.db")) as store:
        for ask in (store.sets, store.comparisons, store.verdicts, store.scenarios, store.quantities,
                    store.kernels, store.baselines, store.choices, store.info):  # fmt: skip
            with told():
                ask()
        for run in store.runs()[:4]:
            with told():
                store.metrics(run.id)
                store.record_folder(run.key)


def _folder(whole: Callable[[], Path], read: Callable[[Path], None]) -> Target:
    """A target that damages a copy of a folder and reads it."""

    def run(data: bytes) -> None:
        with folders.edited(whole(), data) as folder:
            if folder is not None:
                with told():
                    read(folder)

    def change(data: bytes, rng: Random) -> bytes:
        return _editor(whole)(data, rng)

    return Target(lambda: [b"[]"], change, run)


@cache
def _editor(whole: Callable[[], Path]) -> Callable[[bytes, Random], bytes]:
    return mutate.of_edits(folders.documents(whole()), folders.others(whole()))


def _in_rows(data: bytes, rng: Random) -> bytes:
    """Changes of a database: of its values, most of the time."""
    if rng.random() < 0.2:
        return _editor(_database_whole)(data, rng)
    table, column = rng.choice(folders.columns(_database_whole() / "results.db"))
    value = rng.choice([odd for odd in mutate.ODD if isinstance(odd, int | float | str | None)])
    edits = [edit for edit in json.loads(data) if rng.random() < 0.8]
    return json.dumps([*edits[-6:], ["results.db", "sql", table, column, value]]).encode()


TARGETS = {
    "scenario": Target(_scenarios, mutate.of_toml(_keys()), _scenario),
    "trace": Target(_traces, mutate.of_lines, _trace),
    "record": _folder(_record_whole, _read_record),
    "results": _folder(_set_whole, _read_results),
    "exchange": _folder(_set_whole, _exchange),
    "baseline": _folder(_baseline_whole, _read_baseline),
    "verdict": _folder(_verdict_whole, _read_verdict),
    "database": replace(_folder(_database_whole, _read_database), mutate=_in_rows),
}
