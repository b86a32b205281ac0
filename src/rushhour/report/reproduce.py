"""How to get the same numbers again: the command, the scenario as a file, the kernel and the agent.

Everything is read from the records and their `set.json`; nothing of the machine they were made on is in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.record.asked import command, command_of, kernel_words, lab_words
from rushhour.record.document import read
from rushhour.record.seal import MANIFEST
from rushhour.record.set_file import SetFile
from rushhour.spec.sweep import set_words
from rushhour.spec.toml import scenario_toml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.record.manifest import Kernel, Manifest, Scenario
    from rushhour.record.result_set import ResultSet
    from rushhour.record.set_file import Asked

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
    scenario, kernels, asked = about.scenario, about.kernels, about.asked
    file = _file(scenario)
    commands = [(f"The kernel {kernel.name}", made) for kernel in kernels if (made := build(kernel))]
    if asked.scenario is not None:
        commands.append((ASKED, command_of(asked, kernels)))
    commands.append((f"From the scenario below, saved as {file}", _whole(about, file)))
    text = scenario_toml(scenario.resolved) if scenario.resolved else ""
    return Reproduction(commands, text, file, _facts(scenario, asked, kernels, first))


def run_command(manifest: Manifest) -> str:
    """The command for this run alone, from the scenario of its set saved as a file."""
    words = ["run", _file(manifest.scenario), *set_words(manifest.cell.factors)]
    words += [*kernel_words([manifest.kernel]), *lab_words(manifest)]
    seed = 1 if manifest.seed is None else manifest.seed
    return command([*words, "--seed", str(seed), "--repeat", "1"])


def build(kernel: Kernel) -> str:
    """The command that builds a kernel from the source it was built from; empty where that is not known."""
    source, name = kernel.source, kernel.name
    kind = source.kind
    if kind == "debian":
        package = source.package.removeprefix("linux-source-")
        word = f"debian:{package}@{source.version}"
    elif kind == "git":
        word = f"TREE@{source.commit}"
    elif kind == "tarball":
        word = str(source.file)
    elif kind == "tree":
        word = str(source.directory)
    else:
        return ""
    words = ["kernel", "build", word]
    given = (("--patch", source.patches), ("--with", source.with_files), ("--with", source.sanitizers))
    for option, names in given:
        words += [part for file in names.split() for part in (option, file)]
    if kind in ("debian", "tarball") and kernel.trained and not any(names for _, names in given):
        words.append("--train")
    return command([*words, *(["--name", name] if name else [])])


def _alone(manifest: Manifest) -> SetFile:
    # A single run: its manifest has the scenario of its cell, with nothing left to vary.
    alone = {
        "scenario": manifest.scenario,
        "kernels": [manifest.kernel],
        "repeat": 1,
        "seed": manifest.seed,
        "lab": manifest.lab,
    }
    return read(SetFile, alone, MANIFEST)


def _whole(about: SetFile, file: str) -> str:
    words, usual = ["run", file, *kernel_words(about.kernels), *lab_words(about)], about.scenario.resolved
    words += [] if about.seed in (None, usual.seed) else ["--seed", str(about.seed)]
    words += [] if about.repeat in (None, usual.repeat) else ["--repeat", str(about.repeat)]
    return command(words)


def _facts(
    scenario: Scenario, asked: Asked, kernels: Iterable[Kernel], manifest: Manifest
) -> list[tuple[str, str]]:
    agent = manifest.agent
    facts = [("scenario", scenario.sha256), ("scenario file", asked.file_sha256)]
    for kernel in kernels:
        name = f"kernel {kernel.name}".strip()
        facts += [
            (f"{name} source", kernel.source_sha256),
            (f"{name} config", kernel.config_sha256),
            (f"{name} image", kernel.image_sha256),
            (f"{name} compiler", kernel.compiler),
            (f"{name} profile", kernel.trained),
        ]
    facts += [(f"agent {agent.version}".strip(), agent.sha256)]
    return [(label, str(value)) for label, value in facts if value]


def _file(scenario: Scenario) -> str:
    stem = (scenario.name or "scenario").rpartition("/")[2]
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "scenario") + ".toml"
