"""The agent's modules: none needs another one that needs it.

A module may use what its ancestors declare (`use super::…`), as is usual: the ancestor is the door of a room,
and what is in the room may know it.
"""

from __future__ import annotations

import re
import shutil
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOURCE = Path(__file__).parents[1] / "agent/src"

# ("path", "links"): the words by which `crate::` leads to it.
Module = tuple[str, ...]

TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod tests \{.*", re.DOTALL)
COMMENT = re.compile(r"//.*")
USE = re.compile(r"\buse\s+([^;]+);")
NAMED = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
CHILD = re.compile(r"(?<![:\w])[a-z_]\w*(?=::\w)")


def spread(use: str) -> Iterator[str]:
    """`a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`."""
    head, brace, rest = use.strip().partition("{")
    if not brace:
        yield head.split(" as ")[0].strip()
        return
    depth, word = 0, ""
    for character in rest.rsplit("}", 1)[0] + ",":
        if character == "," and not depth:
            yield from (head + part for part in spread(word) if word.strip())
            word = ""
        else:
            depth += (character == "{") - (character == "}")
            word += character


def meant(modules: Mapping[Module, str], at: Module, path: str) -> Module | None:
    """The module that a path of names leads into, read in module `at`; `None`: it leads out of the agent."""
    here, words = at, path.split("::")
    if words[0] == "crate":
        here, words = (), words[1:]
    elif words[0] in {"super", "self"}:
        while words and words[0] in {"super", "self"}:
            here, words = (here[:-1] if words[0] == "super" else here), words[1:]
    elif (*at, words[0]) not in modules:
        return None
    for word in words:
        if (*here, word) not in modules:
            break
        here = (*here, word)
    return here


def needs(modules: Mapping[Module, str], at: Module) -> set[Module]:
    """The modules that module `at` names outside its tests, without its ancestors."""
    code = COMMENT.sub("", TESTS.sub("", modules[at]))
    paths = [path for use in USE.findall(code) for path in spread(use)]
    paths += NAMED.findall(USE.sub("", code)) + CHILD.findall(USE.sub("", code))
    found = {meant(modules, at, path) for path in paths}
    return {module for module in found if module is not None and module != at[: len(module)]}


def circle(source: Path) -> list[str]:
    """Modules of which each needs the next one, the first one again at the end; empty: there are none."""
    files = {path.relative_to(source).with_suffix("").parts: path for path in source.rglob("*.rs")}
    modules = {module: path.read_text("utf-8") for module, path in files.items()}
    try:
        TopologicalSorter({module: needs(modules, module) for module in modules}).prepare()
    except CycleError as error:
        return ["::".join(module) for module in reversed(error.args[1])]
    return []


def test_no_modules_need_each_other() -> None:
    assert circle(SOURCE) == []


def test_no_rooms_need_each_other() -> None:
    files = {path.relative_to(SOURCE).with_suffix("").parts: path for path in SOURCE.rglob("*.rs")}
    modules = {module: path.read_text("utf-8") for module, path in files.items()}
    rooms: dict[str, set[str]] = {}
    for module in modules:
        others = {other[0] for other in needs(modules, module)} - {module[0]}
        rooms.setdefault(module[0], set()).update(others)
    TopologicalSorter(rooms).prepare()
    assert "kernel" in rooms["path"], "what is used is found"


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("path/interface.rs", "use super::links::pair;"),
        ("path/interface.rs", "use crate::{kernel::{tool, sys}, path::{serial, addresses::{self, add}}};"),
        ("launch/keeper.rs", "fn start() { super::guest::spawn(); }"),
        ("kernel/netlink.rs", "use crate::tc::Device as Place;"),
        ("reading/queue.rs", "fn look() { crate::reading::class::rows(); }"),
    ],
)  # fmt: skip
def test_a_planted_circle_is_found(place: str, line: str, tmp_path: Path) -> None:
    planted = tmp_path / "src"
    shutil.copytree(SOURCE, planted)
    file = planted / place
    file.write_text(f"{line}\n{file.read_text('utf-8')}", "utf-8")
    found = circle(planted)
    assert found[0] == found[-1]
    assert "::".join(Path(place).with_suffix("").parts) in found


def test_what_only_tests_and_comments_name_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "a.rs").write_text(
        "// use crate::b::B;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n"
    )
    (tmp_path / "b.rs").write_text("use crate::a::A;\nuse std::io;\nuse serde::{de, ser};\n")
    assert circle(tmp_path) == []
