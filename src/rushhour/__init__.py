"""Rush Hour: a congestion laboratory for the Linux network stack.

    results = rushhour.run("tomasov/window-scaling")
    for record in results:
        record.series("snd_cwnd", flow="long")
        record.metrics()

`open` reads a result set or a run that is already there, `diagnose` finds out why a transfer between two
machines is slow. docs/api.md has the whole of it.
"""

from __future__ import annotations

from rushhour.version import __version__

# Nothing else is loaded here, not even `typing`: every command begins with this module, before it can say
# anything of an interruption.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from rushhour.diagnosis import run as diagnose
    from rushhour.errors import RushHourError
    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet
    from rushhour.verdict import Verdict

__all__ = ["Record", "ResultSet", "RushHourError", "__version__", "compare", "diagnose", "open", "run"]


_HOMES = {
    "Record": ("rushhour.record.record", "Record"),
    "ResultSet": ("rushhour.record.result_set", "ResultSet"),
    "RushHourError": ("rushhour.errors", "RushHourError"),
    "diagnose": ("rushhour.diagnosis", "run"),
}


# The imports wait until they are needed: `import rushhour` and `rushhour --help` load no scientific package.
def run(
    scenario: str | Path,
    *,
    kernels: Sequence[str] = (),
    sets: Sequence[str] = (),
    repeat: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    fresh: bool = False,
    quick: bool = False,
    lab: str = "uml",
    hosts: Path | str | None = None,
    keep: str | None = None,
    store: str | None = None,
) -> ResultSet:
    """Run a scenario and give its result set; iterate it for the records.

    Args:
        scenario: A file, or a name of the catalogue.
        kernels: Kernels under test by name; by default the one of the latest version.
        sets: `KEY=VALUE` words over the scenario's keys.
        repeat: Runs of each cell; by default the scenario's.
        seed: What losses and jitter start from; by default the scenario's.
        jobs: Runs at once; by default one per CPU.
        out: Folder of the results; by default `results/NAME/DATE-TIME`.
        fresh: Run also what is known.
        quick: No repetitions, at most three values of a factor.
        lab: Where: `uml` (virtual time), `netns` (this machine's kernel in real time; needs root), `hosts`.
        hosts: For `hosts`: the file that says which machine takes which node's part.
        keep: `metrics`: what runs measured, without their tables (docs/fleet.md).
        store: URL of a folder or bucket that whole records are put into; here the metrics are kept.

    Raises:
        RushHourError: of the first run that failed, after all others have been carried out.
    """
    from rushhour.running import runner  # noqa: PLC0415

    return runner.run(
        scenario,
        kernels=kernels,
        sets=sets,
        repeat=repeat,
        seed=seed,
        jobs=jobs,
        out=out,
        fresh=fresh,
        quick=quick,
        lab=lab,
        hosts=hosts,
        keep=keep,
        store=store,
    )


def compare(base: str | Path, candidate: str | Path, **options: Any) -> Verdict:
    """Judge a candidate against a base: folders of results, baselines or kernels, by name.

    The options are those of `rushhour.verdict.compare`; the verdict's `document()` is as in `verdict.json`.

    Raises:
        RushHourError: a word means nothing, the sides are not comparable, or nothing could be run.
    """
    from rushhour import verdict  # noqa: PLC0415

    return verdict.compare(base, candidate, **options)


def open(path: str | Path) -> ResultSet:  # noqa: A001 - as in `rushhour.open`
    """Open a result set, or the folder of one run.

    Raises:
        RecordError: there are no runs in it.
    """
    from rushhour.record.result_set import ResultSet  # noqa: PLC0415

    return ResultSet.open(path)


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415
    from importlib.util import find_spec  # noqa: PLC0415

    if name in _HOMES:
        module, inner = _HOMES[name]
        return getattr(import_module(module), inner)
    # Packages that the documents name (`rushhour.bisect.bisect`) are there without an import of their own.
    module = f"{__name__}.{name}"
    if name.startswith("_") or find_spec(module) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(module)
