"""A study: the experiments of one document, in chapters.

Takes `study.toml` of a folder of scenarios, gives its title, summary and chapters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from rushhour.spec.check.problem import Problem
from rushhour.spec.document import faults_in, parse_toml, read_text
from rushhour.spec.explain import explain
from rushhour.spec.keys import nearest
from rushhour.spec.model import Model, Name
from rushhour.spec.scenario import Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from importlib.resources.abc import Traversable

STUDY = "study.toml"
_BEGIN = "begin with a title, a document, a summary and a [[chapter]]"


class Chapter(Model):
    """A chapter: scenarios that answer one question of the document, and what came of them."""

    title: Text = Field(min_length=1, description="a few words")
    section: Text | None = Field(None, description="section of the document")
    text: Text = Field("", description="what was done there and what is shown here")
    scenarios: tuple[Name, ...] = Field(min_length=1, description="scenarios of the folder, in order")
    conclusion: Text = Field("", description="where published and measured agree, where not, and why")


class Study(Model):
    """The experiments of one document."""

    title: Text = Field(min_length=1, description="title of the study")
    author: Text | None = Field(None, description="who wrote the document")
    document: Text | None = Field(None, description="full citation")
    summary: Text = Field("", description="what was asked, on what equipment, what is done here instead")
    chapter: tuple[Chapter, ...] = Field(min_length=1, description="the chapters")

    @property
    def scenarios(self) -> list[str]:
        """The scenarios of all chapters, in order."""
        return [name for chapter in self.chapter for name in chapter.scenarios]


_MODELS: dict[tuple[str, ...], type[Model]] = {(): Study, ("chapter",): Chapter}


def load_study(file: Traversable, known: Collection[str] | None = None) -> Study:
    """Load a study.

    Args:
        file: A `study.toml`.
        known: The scenarios of its folder; with them it is checked that each is in exactly one chapter.

    Raises:
        ScenarioError: with every fault, its line, and what is allowed.
    """
    text, name = read_text(file), str(file)
    document = parse_toml(text, name, _BEGIN)
    found: list[Problem] = []
    study: Study | None = None
    try:
        study = Study.model_validate(document)
    except ValidationError as error:
        found = explain(error, _MODELS)
    if study is not None and known is not None:
        found += _check(study, known)
    if study is None or found:
        raise faults_in(text, name, found)
    return study


def _check(study: Study, known: Collection[str]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for number, chapter in enumerate(study.chapter):
        for place, name in enumerate(chapter.scenarios):
            path = ("chapter", number, "scenarios", place)
            if name not in known:
                yield Problem(path, f'there is no scenario "{name}" in this folder', nearest(name, known))
            elif name in seen:
                yield Problem(path, f'"{name}" is in chapter {seen[name] + 1} already', "name it once")
            seen.setdefault(name, number)
    for name in known:
        if name not in seen:
            yield Problem(("chapter",), f'no chapter has the scenario "{name}"', "add it to one")
