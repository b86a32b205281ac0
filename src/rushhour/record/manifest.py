"""What a record says of itself: `manifest.json`, typed (docs/record-format.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rushhour.record.document import EMPTY, Document

VIRTUAL = ("uml",)
"""Labs whose time is virtual: two runs of one key are equal to the byte."""
REAL_TIME = ("netns", "hosts")
"""Labs on machines as they are: no two runs are equal, and one run at a time is enough."""
COUNTS = "coverage.gz"
"""The file of a record whose kernel counted what it executed (`rushhour.record.counts`)."""


class Source(Document):
    """Where a published result stands: a scenario's `[source]`."""

    document: object = None
    section: object = None
    figures: object = None


class Resolved(Document):
    """A scenario as it was resolved, for one cell or for a whole sweep; empty where it is not known."""

    title: str = ""
    question: str = ""
    description: str = ""
    guards: str = ""
    seed: int = 1
    repeat: int = 1
    trace: Mapping[str, str] = EMPTY
    source: Source = Source()
    sweep: Mapping[str, object] = EMPTY
    figure: tuple[Mapping[str, object], ...] = ()
    expect: tuple[Mapping[str, Any], ...] = ()
    judge: tuple[Mapping[str, Any], ...] = ()
    flow: tuple[Mapping[str, Any], ...] = ()
    link: tuple[Mapping[str, Any], ...] = ()
    node: tuple[Mapping[str, Any], ...] = ()
    pattern: tuple[Mapping[str, object], ...] = ()
    topology: Mapping[str, object] = EMPTY
    readings: Mapping[str, object] = EMPTY
    sysctl: Mapping[str, object] = EMPTY


class Scenario(Document):
    """Which scenario was run: its name in the catalogue or of its file, its bytes' SHA-256, its content."""

    name: str = ""
    title: str = ""
    sha256: str | None = None
    resolved: Resolved = Resolved()


class Cell(Document):
    """One point of a sweep: its number, and its value of each factor."""

    index: int = 0
    factors: Mapping[str, object] = EMPTY


class KernelSource(Document):
    """What a kernel was built from; which keys there are depends on `kind` (docs/kernels.md)."""

    kind: str | None = None
    package: str = ""
    version: str | None = None
    revision: str | None = None
    commit: str | None = None
    file: str | None = None
    directory: str | None = None
    with_files: str = ""
    sanitizers: str = ""
    patches: str = ""


class Brought(Document):
    """What was compiled in; `cc_info`: whose fields of inet_diag an algorithm fills."""

    congestion_controls: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    sanitizers: tuple[str, ...] = ()
    cc_info: Mapping[str, str] = EMPTY


class Kernel(Document):
    """The identity of the kernel that ran; `missing` are options that it was built without."""

    name: str = ""
    release: str = ""
    version: str = ""
    hz: int | None = None
    missing: tuple[str, ...] = ()
    source: KernelSource = KernelSource()
    source_sha256: str = ""
    config_sha256: str = ""
    image_sha256: str = ""
    compiler: str = ""
    trained: str = ""
    brings: Brought = Brought()


class Program(Document):
    """The identity of a program that took part: the agent, or a tool of the host."""

    version: str = ""
    sha256: str | None = None


class Host(Document):
    """The machine on which the command was given."""

    cpu_model: str = ""
    cpu_features: tuple[str, ...] = ()
    cpus: int | None = None
    kernel: str = ""


class Clock(Document):
    """The offset of a machine's clock from the common one, with its error, in ns."""

    error_ns: float = 0


class Profile(Document):
    """The settings that a machine had for the time of the run (`rushhour profile`)."""

    name: object = None


class Machine(Document):
    """A machine of the lab `hosts`: where it is reached, what it runs, by which device it takes part."""

    place: object = None
    hostname: object = None
    kernel: object = None
    address: object = None
    device: object = None
    mtu: object = None
    forward: object = None
    backward: object = None
    profile: Profile | None = None
    clock: Clock | None = None


class Conditions(Document):
    """The conditions of runs: in a comparison all but one must be equal on both sides."""

    kernel: Kernel = Kernel()
    agent: Program = Program()
    tools: Mapping[str, Program] = EMPTY
    lab: str | None = None
    rushhour: str | None = None
    host: Host = Host()

    @property
    def real_time(self) -> bool:
        """Whether the lab is one on machines as they are."""
        return self.lab in REAL_TIME


class Manifest(Conditions):
    """All that a record says of itself beside its plan and its result.

    `elapsed_s` is wall-clock time; `virtual_s`, None in real time, how long the virtual machine lived.
    """

    format: str = ""
    key: str = ""
    scenario: Scenario = Scenario()
    cell: Cell = Cell()
    repetition: int = 0
    seed: int | None = None
    hosts: Mapping[str, Machine] = EMPTY
    elapsed_s: float | None = None
    virtual_s: float | None = None
    warnings: tuple[str, ...] = ()
    valid: bool = False
    invalid_reasons: tuple[str, ...] = ()
    files: Mapping[str, str]
    context: Mapping[str, object]

    @property
    def counts(self) -> bool:
        """Whether the run's kernel counted what it executed."""
        return COUNTS in self.files
