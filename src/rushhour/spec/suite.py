"""The page of the standard suite, rendered from the catalogue: areas, and what guards what.

Takes nothing, gives Markdown; `docs/generate.py` writes it to `docs/suite.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.catalog import studies
from rushhour.spec.judge import placeholders
from rushhour.spec.load import load_scenario
from rushhour.spec.vary import quick_look

if TYPE_CHECKING:
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.study import Chapter

SUITE = "suite"

_HEAD = """\
# The standard suite

*Rendered from the catalogue by `docs/generate.py`; do not edit.*

The suite is a study (`rushhour run suite`) made to be compared: `rushhour compare BASE CANDIDATE` runs it
on two kernels and [judges every cell](verdict.md). A cell shows one behaviour in a few seconds of virtual
time (0.16 s of CPU time). Losses are chosen packets, or seeded: what differs is the kernel. What a kernel
lacks is skipped.

* **What a change would mean** to a user, with the functions or RFCs that a scenario guards. *Italics*
  stand for the cell's value.
* **Judges**, the metrics that decide, are those of `rushhour show suite/SCENARIO`. Most are neutral on
  purpose: any departure from the base is `worse`.
* **Laws** (`[[expect]]`) come from RFCs and the kernel's constants; one that the candidate alone breaks is
  `worse`.

"""

_ADD = """\
## To add a scenario

1. Think of a constant or a branch in the kernel, and of what a user would notice if it were wrong.
2. Write `src/rushhour/catalog/suite/NAME.toml`: a short sweep, `guards`, at least one `[[judge]]` that
   would move, laws. Name it in a chapter of `study.toml`; `python docs/generate.py` writes this page.
3. Break the kernel by a one-line patch ([mutants](mutants.md)) and see that `rushhour compare` says
   `worse`, and why. Tune no minimum to reach that: if nothing moves, the experiment is wrong.
"""


def page() -> str:
    """The page as Markdown."""
    study = studies()[SUITE].load()
    assert study is not None
    loaded = {name: load_scenario(f"{SUITE}/{name}") for name in study.scenarios}
    sections = [_areas(study.chapter, loaded)]
    sections += [_area(chapter, loaded) for chapter in study.chapter]
    return "\n".join([_HEAD + sections[0], *sections[1:], _ADD])


def _areas(chapters: tuple[Chapter, ...], loaded: dict[str, Scenario]) -> str:
    rows = ["| area | scenarios | cells | of a quick look |", "|---|---|---|---|"]
    sums = [0, 0, 0]
    for chapter in chapters:
        mine = [loaded[name] for name in chapter.scenarios]
        counts = [len(mine), sum(map(_cells, mine)), sum(_cells(quick_look(one)) for one in mine)]
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
        rows.append(f"| {chapter.title} | {' | '.join(map(str, counts))} |")
    rows.append(f"| **all** | {' | '.join(f'**{count}**' for count in sums)} |")
    return "\n".join(rows) + "\n"


def _cells(scenario: Scenario) -> int:
    return sum(1 for _ in scenario.sweep.combinations())


def _area(chapter: Chapter, loaded: dict[str, Scenario]) -> str:
    rows = ["| scenario | cells | what a change would mean |", "|---|---|---|"]
    for name in chapter.scenarios:
        one = loaded[name]
        rows.append(f"| `{name}` | {_cells(one)} | {_guards(one)} |")
    return f"## {chapter.title}\n\n{chapter.text.strip()}\n\n" + "\n".join(rows) + "\n"


def _guards(scenario: Scenario) -> str:
    """What the scenario guards, its placeholders in words."""
    text = " ".join((scenario.guards or "").split())
    for name in placeholders(text):
        text = text.replace(f"{{{name}}}", f"*{name.rpartition('.')[2]}*")
    return text.replace("|", "\\|")
