"""Names that a person may type: of scenarios, kernels, baselines, metrics, keys; read without any model.

What the shell offers after TAB has to be there at once, so nothing here imports pydantic or NumPy: scenarios
are names of files, keys stand in the schema, metrics in a list that `docs/generate.py` writes.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

_TITLE = re.compile(r'^title = "(.*)"$', re.MULTILINE)
METRICS = "metrics.txt"
"""The file with the metrics: a line for each, its name, a tab, what it is."""


def _package(*parts: str) -> Traversable:
    # From the package itself: `files("rushhour.spec")` would import that, and pydantic with it.
    return files("rushhour").joinpath(*parts)


@cache
def _catalogue() -> dict[str, Traversable]:
    """The scenarios that ship: their files by their full names."""
    return dict(_walk(_package("catalog"), ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _walk(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".toml") and item.name != "study.toml" and ".published." not in item.name:
            yield f"{prefix}{item.name.removesuffix('.toml')}", item


def scenarios() -> list[str]:
    """Full names of the scenarios that ship (`tomasov/window-scaling`)."""
    return list(_catalogue())


def short() -> list[str]:
    """Last parts of the names that are unambiguous (`window-scaling`)."""
    stems = [name.rpartition("/")[2] for name in _catalogue()]
    return [stem for stem in stems if stems.count(stem) == 1]


def studies() -> list[str]:
    """Names of the studies that ship."""
    return list(dict.fromkeys(name.rpartition("/")[0] for name in _catalogue()))


def title(name: str) -> str:
    """The title of a scenario that ships, by its full name; empty if its file does not say."""
    found = _TITLE.search(_catalogue()[name].read_text("utf-8"))
    return found[1] if found else ""


def metrics() -> dict[str, str]:
    """The beginning of each metric's definition, by name."""
    text = _package("cli", METRICS).read_text("utf-8")
    return {name: about for name, _, about in (line.partition("\t") for line in text.splitlines())}


def profiles() -> list[str]:
    """Names of the profiles that ship."""
    found = (item.name for item in _package("lab", "profiles").iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


def document(word: str) -> dict[str, Any]:
    """The scenario of this name as a document; empty if it cannot be read."""
    shipped = [name for name in _catalogue() if word in (name, name.rpartition("/")[2])]
    try:
        if shipped:
            return tomllib.loads(_catalogue()[shipped[0]].read_text("utf-8"))
        with open(word, "rb") as file:  # noqa: PTH123 - no need of pathlib here
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def keys(scenario: Mapping[str, Any]) -> dict[str, str]:
    """What each key means that `--set` takes of a scenario (`topology.rate`, `flow.bbr.cc`, `cc`)."""
    schema = json.loads(_package("spec", "scenario.schema.json").read_text("utf-8"))
    found = _keys(schema["properties"]) | {"cc": "the congestion control of all flows"}
    for table in ("topology", "readings"):
        found |= _keys(schema["$defs"][table.capitalize()]["properties"], f"{table}.")
    for kind in ("flow", "link", "node", "load"):
        names = [_called(kind, table) for table in scenario.get(kind, []) if isinstance(table, dict)]
        every = ["*"] if kind in ("flow", "link") and names else []
        for name in [*every, *filter(None, names)]:
            found |= _keys(schema["$defs"][kind.capitalize()]["properties"], f"{kind}.{name}.")
    sysctls = scenario.get("sysctl")
    return found | {f"sysctl.{name}": "" for name in (sysctls if isinstance(sysctls, dict) else ())}


def _keys(properties: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The keys of a table that hold plain values, and what the schema says of each."""
    return {
        prefix + key: about.get("description", "")
        for key, about in properties.items()
        if key != "name" and not _is_table(about)
    }


def _is_table(about: Mapping[str, Any]) -> bool:
    inner = about.get("items", {})
    parts = [about, *about.get("anyOf", []), inner, *inner.get("anyOf", [])]
    return any("$ref" in part or part.get("type") == "object" for part in parts)


def _called(kind: str, table: Mapping[str, object]) -> str:
    between = table.get("between")
    if kind == "link" and "name" not in table and isinstance(between, list):
        return "-".join(map(str, between))
    return str(table.get("name", ""))
