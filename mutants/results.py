"""What is known of mutants, and what of it still holds.

A fault that was caught stays caught while the scenario that caught it is as it was; that nothing was noticed
holds only while the whole suite is as it was. Both also need the same change, base and agent.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import rushhour
from rushhour.lab import agent
from rushhour.lab.kernel import store

if TYPE_CHECKING:
    from rushhour.lab.kernel import Kernel

    from .patches import Mutant

SUITE = "suite"


@dataclass(frozen=True)
class Judgement:
    """What came of a mutant.

    `verdict` is that of the comparison, `identical` where the change is not in the image, or `failed` where
    the kernel could not be built. `cell`, `metric` and `reason` are of the first cell that is not the same.
    `whole` says whether the whole suite judged, or the quick one only; `known` is what it rests on.
    """

    mutant: str
    verdict: str
    scenario: str = ""
    cell: str = ""
    metric: str = ""
    change: float | None = None
    reason: str = ""
    cells: int = 0
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


def basis(mutant: Mutant, base: Kernel, scenario: str) -> str:
    """Hash of what a judgement rests on: one scenario, or the whole suite if it names none."""
    suite = scenarios()
    watched = {scenario: suite.get(scenario)} if scenario else suite
    parts = [mutant.sha256, base.identity["image_sha256"], agent.find().sha256, watched]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def recall(mutant: Mutant) -> Judgement | None:
    """What was found last, whether it still holds or not."""
    path = _place(mutant)
    return Judgement(**json.loads(path.read_text())) if path.is_file() else None


def holds(found: Judgement, mutant: Mutant, base: Kernel, *, whole: bool = True) -> bool:
    """Whether it would be found again; by the whole suite, or by as much as judged it."""
    return (found.caught or found.whole or not whole) and found.known == basis(
        mutant, base, found.scenario if found.caught else ""
    )


def keep(mutant: Mutant, found: Judgement) -> None:
    """Keep it, whole or not at all."""
    place = _place(mutant)
    new = place.with_suffix(".new")
    new.write_text(json.dumps(asdict(found), indent=1) + "\n")
    new.replace(place)


def _place(mutant: Mutant) -> Path:
    return store.cache("mutants", "results", f"{mutant.name}.json")
