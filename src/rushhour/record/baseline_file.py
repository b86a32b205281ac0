"""What a version of a baseline says of itself: `baseline.json`, typed; and what stands under its name."""

from __future__ import annotations

from collections.abc import Mapping

from rushhour.record.document import Document
from rushhour.record.manifest import Conditions, Kernel, Scenario
from rushhour.record.set_file import Unrun


class PromotionEntry(Document):
    """A version became the current one: when and why."""

    version: int
    time: str
    reason: str


class NameFile(Document):
    """What is kept under a name: `name.json`; the last promotion says which version is the current one."""

    format: str = ""
    promotions: tuple[PromotionEntry, ...] = ()


class KeptScenario(Scenario):
    """A scenario of a baseline, and which of its runs are not kept, for they failed or were skipped.

    `sets` are the `--set` words with which it was asked for; they are in `resolved` already.
    """

    name: str
    quick: bool = False
    sets: tuple[str, ...] = ()
    failures: tuple[Unrun, ...] = ()
    skipped: tuple[Unrun, ...] = ()


class KeptRun(Document):
    """A run of a baseline; `raw` are SHA-256 of its raw tables, `told` that of what it tells beside them."""

    folder: str
    scenario: str
    cell: int
    factors: Mapping[str, object]
    repetition: int
    seed: int
    key: str
    valid: bool
    invalid_reasons: tuple[str, ...]
    raw: Mapping[str, str]
    told: str | None = None


class BaselineFile(Conditions):
    """All that a version of a baseline says of itself."""

    format: str = ""
    name: str
    version: int
    reason: str = ""
    slim: bool
    kernel: Kernel
    lab: str
    scenarios: tuple[KeptScenario, ...]
    runs: tuple[KeptRun, ...]
    index_sha256: str
