"""How to get the same numbers again: the command, the scenario as a file, the kernel and the agent.

Everything is read from the records and their `set.json`; nothing of the machine they were made on is in it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.lab.base import REAL_TIME
from rushhour.spec.sweep import LABEL
from rushhour.spec.toml import scenario_toml, value_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.record.manifest import Manifest
    from rushhour.record.record import ResultSet

ASKED = "As it was asked for"
"""What is said of the command that made the set."""


@dataclass(frozen=True)
class Reproduction:
    """Commands with what each does, the scenario as TOML, its file's name, and what must be the same."""

    commands: list[tuple[str, str]]
    scenario: str
    file: str
    facts: list[tuple[str, str]]


def reproduction(results: ResultSet) -> Reproduction:
    """How the runs of this set can be made again."""
    first = next(iter(results)).manifest
    about = results.about or _alone(first)
    scenario = _part(about, "scenario")
    file = _file(scenario)
    kernels = [kernel for kernel in about.get("kernels") or [] if isinstance(kernel, dict)]
    commands = [
        (f"The kernel {kernel.get('name')}", command) for kernel in kernels if (command := build(kernel))
    ]
    asked = _part(about, "asked")
    if asked:
        commands.append((ASKED, _asked(asked, kernels)))
    commands.append((f"From the scenario below, saved as {file}", _whole(about, file, kernels)))
    resolved = _part(scenario, "resolved")
    text = scenario_toml(resolved) if resolved else ""
    return Reproduction(commands, text, file, _facts(scenario, asked, kernels, first))


def run_command(manifest: Manifest) -> str:
    """The command for this run alone, from the scenario of its set saved as a file."""
    words = ["run", _file(manifest.scenario)]
    for key, value in manifest.cell.factors.items():
        if key.startswith(LABEL):
            continue
        words += ["--set", f"{key}={value_word(value)}"]
    words += [*_kernels([manifest.kernel]), *_lab(manifest)]
    seed = 1 if manifest.seed is None else manifest.seed
    return _command([*words, "--seed", str(seed), "--repeat", "1"])


def build(kernel: Mapping[str, Any]) -> str:
    """The command that builds a kernel from the source it was built from; empty where that is not known."""
    source, name = _part(kernel, "source"), str(kernel.get("name") or "")
    kind = source.get("kind")
    if kind == "debian":
        package = str(source.get("package", "")).removeprefix("linux-source-")
        word = f"debian:{package}@{source.get('version')}"
    elif kind == "git":
        word = f"TREE@{source.get('commit')}"
    elif kind == "tarball":
        word = str(source.get("file"))
    elif kind == "tree":
        word = str(source.get("directory"))
    else:
        return ""
    return _command(["kernel", "build", word, *(["--name", name] if name else [])])


def _alone(manifest: Manifest) -> dict[str, Any]:
    # A single run: its manifest has the scenario of its cell, with nothing left to vary.
    return {
        "scenario": manifest.scenario,
        "kernels": [manifest.kernel],
        "repeat": 1,
        "seed": manifest.seed,
        "lab": manifest.lab,
    }


def _asked(asked: Mapping[str, Any], kernels: list[dict[str, Any]]) -> str:
    words = ["run", str(asked.get("scenario"))]
    for value in asked.get("sets") or []:
        words += ["--set", str(value)]
    words += [*_kernels(kernels), *_lab(asked)]
    for key in ("repeat", "seed"):
        words += [f"--{key}", str(asked[key])] if asked.get(key) is not None else []
    return _command([*words, *(["--quick"] if asked.get("quick") else [])])


def _whole(about: Mapping[str, Any], file: str, kernels: list[dict[str, Any]]) -> str:
    resolved = _part(_part(about, "scenario"), "resolved")
    words = ["run", file, *_kernels(kernels), *_lab(about)]
    for key in ("seed", "repeat"):
        value = about.get(key)
        words += [f"--{key}", str(value)] if value is not None and value != resolved.get(key, 1) else []
    return _command(words)


def _kernels(kernels: Iterable[Mapping[str, Any]]) -> list[str]:
    # Also where none was named: the one built last may be another by then.
    names = (kernel.get("name") for kernel in kernels if _part(kernel, "source").get("kind") != "running")
    return [word for name in names if name for word in ("--kernel", str(name))]


def _lab(about: Mapping[str, Any]) -> list[str]:
    lab = about.get("lab")
    return ["--lab", str(lab)] if lab in REAL_TIME else []


def _facts(
    scenario: Mapping[str, Any],
    asked: Mapping[str, Any],
    kernels: list[dict[str, Any]],
    manifest: Manifest,
) -> list[tuple[str, str]]:
    agent = manifest.agent
    facts = [("scenario", scenario.get("sha256")), ("scenario file", asked.get("file_sha256"))]
    for kernel in kernels:
        name = f"kernel {kernel.get('name') or ''}".strip()
        facts += [(f"{name} {what}", kernel.get(f"{what}_sha256")) for what in ("source", "config", "image")]
        facts += [(f"{name} compiler", kernel.get("compiler"))]
    facts += [(f"agent {agent.version}".strip(), agent.sha256)]
    return [(label, str(value)) for label, value in facts if value]


def _file(scenario: Mapping[str, Any]) -> str:
    stem = str(scenario.get("name") or "scenario").rpartition("/")[2]
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "scenario") + ".toml"


def _part(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _command(words: list[str]) -> str:
    return shlex.join(["rushhour", *words])
