"""What must not be compared: sides that differ in more than the variable.

A verdict names one cause. So everything else that determines a run has to be equal, and where it is not the
comparison is refused with what differs; `--variable` declares what may.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.quantities.words import plural
from rushhour.record.document import write
from rushhour.record.manifest import VIRTUAL
from rushhour.record.verdict_file import ChangedKey

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.verdict.side import Side, SideCell

    Pairs = Sequence[tuple[SideCell, SideCell]]

VARIABLES = ("kernel", "agent", "scenario", "lab", "tools", "rushhour")
# Keys of a scenario that say nothing about what runs.
_WORDS = (
    "title", "question", "description", "source", "guards", "judge", "expect", "figure", "quick", "sweep",
    "seed", "repeat",
)  # fmt: skip
_NAMED = 4
NOTHING = "(nothing)"
"""The value of a key that a scenario does not have."""


def check(base: Side, candidate: Side, pairs: Pairs, variables: Sequence[str]) -> list[str]:
    """Refuse what is not comparable; what is worth saying of the rest.

    Raises:
        UsageError: something beside the variables differs; names each difference, old → new.
    """
    found = [text for name, text in _differences(base, candidate, pairs) if name not in variables]
    if found:
        names = sorted({name for name, _ in _differences(base, candidate, pairs) if name not in variables})
        words = " ".join(f"--variable {name}" for name in names)
        raise UsageError(
            f"{base.name} and {candidate.name} differ in more than the {' and the '.join(variables)}:\n"
            + "\n".join(f"  {text}" for text in found),
            hint=f"run both alike; or, if that is what you want to compare: {words}",
        )
    return list(_notes(base, candidate, variables))


@dataclass(frozen=True)
class Change:
    """A key of a scenario that differs, with the value of both sides."""

    scenario: str
    key: str
    base: str
    candidate: str

    def document(self) -> ChangedKey:
        """The change as it stands in `verdict.json`."""
        return write(
            ChangedKey, scenario=self.scenario, key=self.key, base=self.base, candidate=self.candidate
        )


def same_kernel(base: Side, candidate: Side) -> bool:
    """Whether all that ran on both sides ran on one image."""
    images = [(side.fact("kernel") or {}).get("image_sha256") for side in (base, candidate)]
    return bool(images[0]) and images[0] == images[1]


def changed_of(base: Side, candidate: Side, pairs: Pairs) -> list[Change]:
    """The keys that differ between the cells of two sides of one kernel; none of two kernels."""
    if not same_kernel(base, candidate):
        return []
    found = (
        Change(before.scenario, *change)
        for before, after in pairs
        for change in changed_keys(before.resolved, after.resolved)
    )
    return list(dict.fromkeys(found))


def _differences(base: Side, candidate: Side, pairs: Pairs) -> Iterator[tuple[str, str]]:
    """What differs: the variable that would allow it, and what it is in words."""
    for name in sorted({*base.quick} & {*candidate.quick}):
        if base.quick[name] != candidate.quick[name]:
            words = {True: "a quick look", False: "the whole"}
            change = f"{words[base.quick[name]]} → {words[candidate.quick[name]]}"
            yield "scenario", f"{name}: {change}"
            return
    kernels = [side.fact("kernel") or {} for side in (base, candidate)]
    images = [kernel.get("image_sha256") for kernel in kernels]
    running = all((kernel.get("source") or {}).get("kind") == "running" for kernel in kernels)
    if (all(images) and images[0] != images[1]) or (running and kernels[0] != kernels[1]):
        yield "kernel", f"the kernel: {kernels[0].get('name')} → {kernels[1].get('name')}"
    yield from _scenarios(pairs)
    for name, word in (("agent", "the agent"), ("lab", "the lab")):
        before, after = base.fact(name), candidate.fact(name)
        if before and after and before != after:
            yield name, f"{word}: {str(before)[:12]} → {str(after)[:12]}"
    before, after = base.fact("tools") or {}, candidate.fact("tools") or {}
    for tool in sorted({*before} & {*after}):
        if before[tool].get("sha256") != after[tool].get("sha256"):
            yield "tools", f"{tool}: {before[tool].get('version')} → {after[tool].get('version')}"
    yield from _clock(base, candidate)


def _clock(base: Side, candidate: Side) -> Iterator[tuple[str, str]]:
    """The timer frequency is a setting of the laboratory, whatever kernel it is of."""
    before, after = ((side.fact("kernel") or {}).get("hz") for side in (base, candidate))
    if before and after and before != after:
        yield "lab", f"the kernels' HZ: {before} → {after}"


def _scenarios(pairs: Pairs) -> Iterator[tuple[str, str]]:
    told: set[str] = set()
    for before, after in pairs:
        if before.scenario in told or not _differs(before, after):
            continue
        told.add(before.scenario)
        keys = list(changed_keys(before.resolved, after.resolved))
        shown = "; ".join(f"{key}: {old} → {new}" for key, old, new in keys[:_NAMED])
        more = f"; and {plural(len(keys) - _NAMED, 'more key')}" if len(keys) > _NAMED else ""
        if keys:
            yield "scenario", f"scenario {before.scenario}: {shown}{more}"
        else:
            yield "rushhour", f"the plans of {before.scenario}: the same scenario, lowered by another version"


def _differs(before: SideCell, after: SideCell) -> bool:
    """Whether a cell is another experiment: by the plans of a shared seed, else by its scenario."""
    shared = [(before.trials[seed], after.trials[seed]) for seed in before.trials if seed in after.trials]
    # In real time a plan is made fit for the machine, so that equal questions may have different plans.
    exact = [pair for pair in shared if all(trial.facts.get("lab") in (None, *VIRTUAL) for trial in pair)]
    plans = [(one.plan, other.plan) for one, other in exact if one.plan and other.plan]
    if plans:
        return any(one != other for one, other in plans)
    known = before.resolved and after.resolved
    return bool(known) and next(changed_keys(before.resolved, after.resolved), None) is not None


def changed_keys(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    """The keys of two scenarios in canonical form that differ and matter: key, old and new value."""
    old, new = (_keys(scenario) for scenario in (before, after))
    for key in [*old, *(key for key in new if key not in old)]:
        if old.get(key) != new.get(key):
            yield key, str(old.get(key, NOTHING)), str(new.get(key, NOTHING))


def settings_of(scenario: Mapping[str, object]) -> dict[str, str]:
    """The keys of a scenario in canonical form that matter, each with its value in words."""
    return {key: str(value) for key, value in _keys(scenario).items()}


def _keys(scenario: Mapping[str, object]) -> dict[str, object]:
    return dict(_flat("", _settings(scenario)))


def _settings(scenario: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in scenario.items() if key not in _WORDS}


def _flat(prefix: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner)
    elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        for place, entry in enumerate(value):
            name = entry.get("name") if isinstance(entry, dict) else None
            yield from _flat(f"{prefix}.{name or place + 1}", entry)
    else:
        yield prefix, value


def _notes(base: Side, candidate: Side, variables: Sequence[str]) -> Iterator[str]:
    before, after = base.fact("kernel") or {}, candidate.fact("kernel") or {}
    same = before.get("image_sha256") and before.get("image_sha256") == after.get("image_sha256")
    if same and "kernel" in variables:
        yield f"both sides have the same kernel image ({before.get('name')}): nothing was varied"
    missing = {name: set(kernel.get("missing") or ()) for name, kernel in (("b", before), ("c", after))}
    lacks = sorted(missing["c"] - missing["b"])
    if lacks:
        yield f"the candidate's configuration lacks {', '.join(lacks[:_NAMED])}, which the base's has"
    if base.fact("rushhour") and candidate.fact("rushhour") != base.fact("rushhour"):
        yield f"made by rushhour {base.fact('rushhour')} and {candidate.fact('rushhour')}"
    if not base.virtual:
        cpus = [(side.fact("host") or {}).get("cpu_model") for side in (base, candidate)]
        if cpus[0] != cpus[1]:
            yield f"measured on different machines: {cpus[0]} and {cpus[1]}"
    for name in sorted({*base.sets, *candidate.sets}):
        words = [
            word for one in candidate.sets.get(name) or base.sets.get(name, ()) for word in ("--set", one)
        ]
        if words:
            yield f"{name} was asked for with {shlex.join(words)}"
