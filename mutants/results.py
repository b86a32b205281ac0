"""What is known of mutants, and what of it still holds.

A fault that was caught stays caught while the cell that caught it is as it was: its scenario's text, and the
bytes that the base writes in it. That nothing was noticed holds while all cells of the suite are. Both need
the same change and the same base. Another agent that leaves the bytes alone changes nothing.
"""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushhour
from rushhour.errors import UsageError
from rushhour.lab.kernel import store
from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.lab.kernel import Kernel
    from rushhour.verdict.side import Key

    from .patches import Mutant

SUITE = "suite"
FOUND = Path(__file__).parent / "found.csv"
"""Every judgement, in the repository; what was found on this machine since then is in the cache."""


@dataclass(frozen=True)
class Judgement:
    """What came of a mutant.

    `verdict` is that of the comparison, `identical` where the change is not in the image, or `failed` where
    the kernel could not be built. `scenario`, `cell`, `metric` and `reason` are of the worst cell, `quick`
    says that it is of a quick look. `cells` ran, of them `differ` wrote other bytes than on the base. `whole`
    says whether the whole suite judged, or less; `known` is what it rests on.
    """

    mutant: str
    verdict: str
    scenario: str = ""
    cell: str = ""
    quick: bool = False
    metric: str = ""
    change: float | None = None
    reason: str = ""
    cells: int = 0
    differ: int = 0
    build_s: float = 0.0
    judge_s: float = 0.0
    whole: bool = True
    known: str = ""

    @property
    def caught(self) -> bool:
        """Whether the suite says that something is worse."""
        return self.verdict == "worse"

    @property
    def quiet(self) -> bool:
        """Whether the suite says nothing at all."""
        return self.verdict in {"same", "identical"}

    @property
    def equal(self) -> bool:
        """Whether nothing that ran told it from the base: the same image, or the same bytes in all cells."""
        return self.verdict == "identical" or (self.verdict == "same" and not self.differ)


def worst(found: Iterable[Judgement]) -> Judgement:
    """The worst of what several stages said, with all that ran."""
    every = list(found)
    one = min(every, key=lambda entry: rank(entry.verdict))
    return replace(
        one, cells=sum(entry.cells for entry in every), differ=sum(entry.differ for entry in every)
    )


@cache
def texts() -> dict[str, str]:
    """The suite's scenarios as they are written, by name."""
    folder = Path(rushhour.__file__).parent / "catalog" / SUITE
    return {
        path.stem: path.read_text() for path in sorted(folder.glob("*.toml")) if path.name != "study.toml"
    }


def scenarios() -> dict[str, str]:
    """The suite's scenarios, with the hash of each."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts().items()}


def rank(verdict: str) -> int:
    """How bad a verdict is: the less, the worse."""
    return [*ORDER].index(verdict)  # type: ignore[arg-type]


def named(word: str, known: Iterable[str]) -> str:
    """The scenario of the suite that a word names, with or without `suite/` before it.

    Raises:
        UsageError: there is none.
    """
    name = word.removesuffix(".toml").removeprefix(f"{SUITE}/")
    if name not in known:
        raise UsageError(f"the suite has no scenario {word!r}", hint="`rushhour list suite` names them")
    return name


def basis(mutant: Mutant, base: Kernel, sums: Mapping[Key, str]) -> str:
    """Hash of what a judgement rests on: the change, the base, and of cells their scenarios and bytes."""
    suite = scenarios()
    names = sorted({scenario.rpartition("/")[2] for scenario, _ in sums})
    parts = [
        mutant.sha256, base.identity["image_sha256"], {name: suite.get(name) for name in names},
        sorted([*key, found] for key, found in sums.items()),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def recall(mutant: Mutant) -> Judgement | None:
    """What was found last, on this machine or where the table was written, whether it holds or not."""
    path = _place(mutant)
    if path.is_file():
        return Judgement(**json.loads(path.read_text()))
    return written().get(mutant.name)


@cache
def written(path: Path = FOUND) -> dict[str, Judgement]:
    """The judgements of the table in the repository, by mutant."""
    if not path.is_file():
        return {}
    rows = csv.DictReader(path.read_text("utf-8").splitlines())
    return {row["mutant"]: _read(row) for row in rows if row["verdict"]}


def _read(row: Mapping[str, str]) -> Judgement:
    kinds: dict[str, Any] = {
        "bool": lambda text: text == "yes",
        "int": int,
        "float": float,
        "float | None": lambda text: float(text) if text else None,
    }
    return Judgement(**{one.name: kinds.get(str(one.type), str)(row[one.name]) for one in fields(Judgement)})


def row_of(mutant: str, found: Judgement | None) -> dict[str, str]:
    """A judgement as a row of the table; without one all but the name is empty."""
    if found is None:
        return {one.name: "" for one in fields(Judgement)} | {"mutant": mutant}
    return {name: _spelled(value) for name, value in asdict(found).items()}


def _spelled(value: object) -> str:
    """One line, as `_read` takes it."""
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: ""}[value]
    return " ".join(str(value).split())


def keep(mutant: Mutant, found: Judgement) -> bool:
    """Keep it, whole or not at all; but none that says less than what is known, and none of a failed build.

    Returns:
        Whether it was kept.
    """
    before = recall(mutant)
    if found.verdict == "failed" or (
        not found.whole and before is not None and before.whole and before.known
    ):
        return False
    place = _place(mutant)
    new = place.with_suffix(".new")
    new.write_text(json.dumps(asdict(found), indent=1) + "\n")
    new.replace(place)
    return True


def _place(mutant: Mutant) -> Path:
    return store.cache("mutants", "results", f"{mutant.name}.json")
