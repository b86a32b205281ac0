"""What will run: words on a command line become batches; nothing has run then, nothing is written."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rushhour import spec
from rushhour.errors import UsageError
from rushhour.files import rooms
from rushhour.lab import clock, kernel
from rushhour.lab.realtime import running_kernel
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.plan import expand
from rushhour.record.json_file import read_set
from rushhour.record.manifest import REAL_TIME
from rushhour.record.seal import SET_FILE
from rushhour.running.batch import Batch
from rushhour.spec.published import settled
from rushhour.spec.vary import quick_look

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from rushhour.lab.base import Tested
    from rushhour.spec import Scenario, ScenarioFile

RESULTS = rooms.RESULTS
# Keys that `--set` may change without making another experiment of a scenario.
_SAME_EXPERIMENT = ("seed", "repeat", "title", "question", "description")


def prepare(
    scenarios: Iterable[str | Path],
    *,
    kernels: Sequence[str] = (),
    sets: Sequence[str] = (),
    repeat: int | None = None,
    seed: int | None = None,
    out: Path | None = None,
    quick: bool = False,
    lab: str = "uml",
    tested: Tested | None = None,
) -> list[Batch]:
    """Load, expand and check everything before anything runs; a word may name several scenarios.

    Args:
        scenarios: Files, names of the catalogue, folders of it.
        kernels: Names of built kernels, for virtual labs; by default the one of the latest version.
        sets: `KEY=VALUE` words that override keys.
        repeat: Runs of each cell.
        seed: What losses and jitter start from.
        out: Folder of the results.
        quick: A quick look.
        lab: Name of the lab in which they will run.
        tested: What a lab in real time runs on; by default this machine's kernel.

    Raises:
        ScenarioError, UsageError, KernelError: nothing has been written then.
    """
    files = [file for word in scenarios for file in spec.find_scenarios(word)]
    if not files:
        raise UsageError("no scenario was named", hint="`rushhour list` names those of the catalogue")
    chosen = _under_test(lab, kernels, tested)
    words = list(sets)
    words += [f"repeat={repeat}"] if repeat is not None else []
    words += [f"seed={seed}"] if seed is not None else []
    asked: dict[str, Any] = {
        "kernels": [*kernels],
        "sets": [*sets],
        "repeat": repeat,
        "seed": seed,
        "quick": quick,
    }
    asked |= {"lab": lab} if lab in REAL_TIME else {}
    stamp = clock.folder_stamp()
    batches: list[Batch] = []
    for file in files:
        taken = {batch.folder for batch in batches}
        folder = _folder(file, out, stamp, taken, alone=len(files) == 1)
        asked_for = spec.load_scenario(file, words, VOCABULARY)
        batch = _batch(file, asked_for, chosen, folder, quick=quick)
        batch = replace(batch, lab=lab)
        same_results(batch)
        tables = _published(file, batch.scenario, sets, None if words else asked_for)
        text = None if file.text is None else {"name": file.study} | _chapters(file.text)
        batches.append(replace(batch, asked=_named(file) | asked, published=tables, study=text))
    return batches


_NEW_FOLDER = "name a new folder: results are never mixed, and never overwritten"


def _under_test(lab: str, names: Sequence[str], tested: Tested | None) -> Sequence[Tested]:
    if lab not in REAL_TIME:
        return [kernel.find(name) for name in names] or [kernel.default()]
    if names:
        raise UsageError(
            f"--kernel {names[0]} cannot be used in the lab {lab}: it uses the kernel that is running there",
            hint="leave --kernel out; or --lab uml, where the kernel is what you choose",
        )
    return [tested or running_kernel()]


def _batch(
    file: ScenarioFile, scenario: Scenario, kernels: Sequence[Tested], folder: Path, *, quick: bool
) -> Batch:
    if quick:
        looked = quick_look(scenario)
        # What was short and small already is the experiment itself.
        scenario, quick = looked, looked.canonical() != scenario.canonical()
    repeat = 1 if quick else scenario.repeat
    return Batch(file.name, scenario, expand(scenario), kernels, repeat, scenario.seed, quick, folder)


def _chapters(text: Traversable) -> dict[str, object]:
    return spec.load_study(text).model_dump(mode="json", exclude_none=True)


def _published(
    file: ScenarioFile, scenario: Scenario, sets: Sequence[str], whole: Scenario | None
) -> Sequence[spec.Published]:
    """What was published of the cells that will run; nothing where `--set` makes another experiment of it.

    `whole` is the scenario as the file has it, where it was read already.
    """
    if file.published is None:
        return ()
    from rushhour.summary.comparison import UNITS  # noqa: PLC0415 - numpy

    whole = whole or spec.load_scenario(file, words=VOCABULARY)
    tables = spec.load_published(file.published, whole, UNITS)
    words = [word.partition("=") for word in sets]
    given = {key.strip(): value.strip() for key, _, value in words if key.strip() not in _SAME_EXPERIMENT}
    if not given.keys() <= set(whole.sweep.values):
        return ()
    return settled(tables, given, scenario.sweep.values) if given else tables


def _named(file: ScenarioFile) -> dict[str, Any]:
    """What was asked for: a name of the catalogue, or a file; and which contents it had."""
    known = spec.shipped().get(file.name) == file
    word = file.name if known else file.file.name
    return {"scenario": word, "file_sha256": hashlib.sha256(file.file.read_bytes()).hexdigest()}


def same_results(batch: Batch) -> None:
    """Refuse a folder that holds the results of another experiment; those of this one are completed.

    Raises:
        UsageError: there are such results.
    """
    path = batch.folder / SET_FILE
    about = read_set(path) if path.is_file() else None
    if about is None:
        if any((batch.folder / "runs").glob("[!.]*")):
            raise UsageError(
                f"{batch.folder} has runs but no set.json, so nothing says what they are", hint=_NEW_FOLDER
            )
        return
    if about.scenario.sha256 != batch.scenario.sha256():
        raise UsageError(
            f"{batch.folder} holds results of another scenario, or of this one with other settings",
            hint=_NEW_FOLDER,
        )
    # Runs are numbered by cell, kernel and repetition: with other kernels their numbers are others.
    images = [(one.name, one.image_sha256) for one in about.kernels]
    wanted = [(one.identity.get("name", ""), one.identity.get("image_sha256", "")) for one in batch.kernels]
    if (about.lab or "uml") != batch.lab or images != wanted:
        raise UsageError(f"{batch.folder} holds results of other kernels", hint=_NEW_FOLDER)


def _folder(
    file: ScenarioFile, out: Path | None, stamp: str, taken: Collection[Path], *, alone: bool
) -> Path:
    """A folder of its own for a scenario; those of one name are numbered."""
    if out is not None and alone:
        return out
    first = out / plain(file.name) if out is not None else RESULTS / plain(file.stem) / stamp
    return rooms.unused(first, lambda folder: folder in taken or (out is None and folder.exists()))


def plain(name: str) -> str:
    """A name as that of a folder, or of folders in each other: none leads out, hides or is unreadable."""
    parts = ["".join(sign if sign.isprintable() else "-" for sign in part) for part in name.split("/")]
    parts = [part.lstrip(".") or "scenario" for part in parts if part]
    return "/".join(parts) or "scenario"
