"""found.csv: what came of each hunk, kept in the repository so that the page can be written anew anywhere."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mutants.results import Judgement

FOUND = Path(__file__).parent / "found.csv"


@dataclass(frozen=True)
class Found:
    """A judgement of one hunk. `together` is how many hunks the kernel was without; `cells` judged it."""

    hunk: str
    verdict: str
    scenario: str = ""
    cell: str = ""
    metric: str = ""
    change: str = ""
    cells: int = 0
    together: int = 1

    @property
    def noticed(self) -> bool:
        """Whether the suite says that something is worse."""
        return self.verdict == "worse"

    @property
    def by(self) -> str:
        """By which cell and metric."""
        return f"{self.scenario} {self.cell}: {self.metric} {self.change}".strip()


def of(judgement: Judgement, together: int) -> Found:
    """A judgement as it is kept."""
    change = "" if judgement.change is None else f"{judgement.change:+.2%}"
    told = judgement.metric or judgement.reason.partition("\n")[0][:100]
    where = (judgement.scenario, judgement.cell, told, change)
    return Found(judgement.mutant, judgement.verdict, *where, judgement.cells, together)


def read(path: Path = FOUND) -> dict[str, Found]:
    """What was found, by hunk."""
    if not path.is_file():
        return {}
    with path.open(newline="") as file:
        rows = [
            Found(
                row["hunk"], row["verdict"], row["scenario"], row["cell"], row["metric"], row["change"],
                int(row["cells"]), int(row["together"]),
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip
    return {row.hunk: row for row in rows}


def keep(more: Iterable[Found], path: Path = FOUND) -> None:
    """Add judgements; a later one of the same hunk takes the earlier one's place."""
    known: Mapping[str, Found] = {**read(path), **{one.hunk: one for one in more}}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Found)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(known[name]) for name in sorted(known))
