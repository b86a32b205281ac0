"""Programs: what else runs on a node, and talks over the network as it likes.

[[program]]
node = "r1"
command = ["python3", "-m", "http.server", "8000"]
ready = 8000

[[program]]
node = "s1"
command = ["curl", "-s", "http://r1:8000/"]
after = "python3"
until = "exit"
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from rushhour.quantities.units import Duration
from rushhour.spec.model import NAME, Model, Name

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PROGRAMS = 1000
LARGEST_FILES = 2**20  # bytes of all files of a scenario: they become part of it
_PORTS = 65535
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _words(value: object) -> object:
    """A command as its words; a text is split as a shell would, and nothing in it is replaced."""
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError as error:
        raise PydanticCustomError("command", "{why}", {"why": f"{error} in it"}) from error


def _names(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _text(value: object) -> object:
    """Numbers and truth values of an environment as programs read them."""
    if isinstance(value, dict):
        return {key: str(one) if isinstance(one, int | float) else one for key, one in value.items()}
    return value


Word = Annotated[str, StringConstraints(max_length=100_000, pattern=r"^[^\x00]*$")]
Command = Annotated[
    tuple[Word, ...],
    BeforeValidator(_words, json_schema_input_type=str | list[str]),
    Field(min_length=1, max_length=1000),
]
Names = Annotated[tuple[Word, ...], BeforeValidator(_names, json_schema_input_type=str | list[str])]
Port = Annotated[int, Field(strict=True, ge=1, le=_PORTS)]
Variable = Annotated[str, StringConstraints(pattern=_VARIABLE)]
Environment = Annotated[
    dict[Variable, Word], BeforeValidator(_text, json_schema_input_type=dict[str, str | int | float])
]


class Program(Model):
    """A program on a node, with its network; computing takes it no virtual time."""

    name: Name | None = Field(None, description="name for `after`, tables and figures; default the program's")
    node: Name = Field(description="where it runs")
    command: Command = Field(
        description="the program and its words, as a list or as one text; no shell reads it. The program is "
        "a name (found on this machine), a whole path, or `./FILE` of `files`"
    )
    start: Duration = Field(Duration(0), description="when it begins, from the start of the experiment")
    after: Names = Field(
        (), description="programs that must be ready first; it begins then, and not before `start`"
    )
    ready: Port | Word | None = Field(
        None,
        description="when others may begin `after` it: the port on which it listens (TCP or UDP), or a text "
        "that it prints; default as soon as it runs",
    )
    stop: Duration | None = Field(
        None, description="when it is asked to end (SIGTERM); default the end of the experiment"
    )
    until: Literal["exit"] | None = Field(
        None, description='"exit": the experiment ends when all such programs have ended, if not before'
    )
    exit: Annotated[int, Field(strict=True, ge=0, le=255)] = Field(
        0, description="status with which it must end, where it ends by itself"
    )
    input: Word | None = Field(None, description="text of its standard input; default none")
    environment: Environment = Field(
        default_factory=dict, description="variables; it has besides only PATH, HOME, LANG and TERM"
    )
    files: Names = Field(
        (),
        description="texts beside the scenario that it finds in its working directory: names or patterns "
        "(`site/**`)",
    )
    root: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = Field(
        None,
        description="what it sees as its `/` instead of this machine's programs: a folder, an archive (tar) "
        "or a saved image, beside the scenario or by its whole path",
    )
    needs: Names = Field(
        (), description="what it starts or loads itself: names of programs, whole paths of files and folders"
    )

    @property
    def label(self) -> str:
        """The program's name; a loaded scenario has named all its programs."""
        return self.name or usual_name(self.command[0])


def usual_name(program: str) -> str:
    """What a program is called by its file: letters that a name may have."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", program.rpartition("/")[2]).lstrip("-._")[:60]
    return name if re.match(NAME, name) else "program"


def name_programs(document: Any) -> Any:
    """Give the document with programs that have no name called by their file: curl, curl2."""
    programs = document.get("program") if isinstance(document, dict) else None
    if not isinstance(programs, list | tuple) or not all(isinstance(one, dict) for one in programs):
        return document
    taken = {str(one["name"]) for one in programs if "name" in one}
    named = []
    for one in programs:
        if "name" in one:
            named.append(one)
            continue
        words = _first_word(one.get("command"))
        stem, number = usual_name(words), 1
        while (name := stem if number == 1 else f"{stem}{number}") in taken:
            number += 1
        taken.add(name)
        named.append({"name": name} | one)
    return document | {"program": named}


def with_program(document: dict[str, Any], program: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document with one more program, which begins when all others are ready."""
    known = document.get("program", [])
    if not isinstance(known, list | tuple):
        return document
    others = [str(one["name"]) for one in known if isinstance(one, dict) and "name" in one]
    after = {"after": others} if others else {}
    return cast("dict[str, Any]", name_programs(document | {"program": [*known, dict(program) | after]}))


def _first_word(command: object) -> str:
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:
        return "program"
    return words[0] if isinstance(words, list | tuple) and words and isinstance(words[0], str) else "program"
