"""The catalogue's table of contents: what is said of every study and scenario, made ready.

To check all scenarios takes seconds, and pydantic; `rushhour list` reads this instead, if it is of the files
that are there. `docs/generate.py` writes it.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

    from rushhour.spec import ScenarioFile, Study

TABLE = "contents.json"


def contents() -> dict[str, Any]:
    """Every study (`name`, what `study.toml` says, `scenarios`), from the table or, if that is old, made now.

    Of a scenario: `name`, `study`, `chapter`, `title`, `question`, `runs`, `duration_s`, `published`, and
    `needs` where it runs programs of this machine.
    """
    try:
        found: dict[str, Any] = json.loads(files("rushhour").joinpath("cli", TABLE).read_text("utf-8"))
        if found["of"] == _checksum():
            return found
    except (OSError, ValueError, KeyError, TypeError):
        pass  # made while the table itself is made
    return made()


def render() -> str:
    """The table as a file."""
    return json.dumps(made(), indent=1, ensure_ascii=False) + "\n"


def made() -> dict[str, Any]:
    """The table, from the scenarios themselves."""
    from rushhour import spec

    studies = []
    for study in spec.studies().values():
        # Whether each scenario has its chapter matters to whom runs the study, not to whom looks around.
        about = None if study.file is None else spec.load_study(study.file)
        rows = [_row(file, study.name, about) for file in study.scenarios]
        said = (
            {}
            if about is None
            else about.model_dump(mode="json", exclude={"chapter": {"__all__": {"conclusion"}}})
        )
        studies.append({"name": study.name, "about": said, "scenarios": rows})
    return {"of": _checksum(), "studies": studies}


def _row(file: ScenarioFile, study: str, about: Study | None) -> dict[str, Any]:
    from rushhour.plan.programs import programs_needed
    from rushhour.spec import load_scenario

    scenario = load_scenario(file)
    needs = programs_needed(scenario)
    chapter = next((c.title for c in about.chapter if file.stem in c.scenarios), None) if about else None
    return {
        "name": file.name,
        "study": study,
        "chapter": chapter,
        "title": scenario.title,
        "question": scenario.question,
        "runs": scenario.sweep.size * scenario.repeat,
        "duration_s": scenario.span.ns / 1e9,
        "published": file.published is not None,
        **({"needs": needs} if needs else {}),
    }


def _checksum() -> str:
    """Of all files of the catalogue: their names and contents."""
    whole = hashlib.sha256()
    for name, item in _walk(files("rushhour").joinpath("catalog"), ""):
        content = item.read_bytes()
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _walk(item, f"{prefix}{item.name}/")
        elif item.name.endswith((".toml", ".csv")):
            yield f"{prefix}{item.name}", item
