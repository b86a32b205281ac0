"""A cause: what may hold a transfer back, as a row of the table (`rushhour.causes.table`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["critical", "warning", "note"]
"""`critical` limits transfers now, `warning` costs something or will under load, `note` is worth knowing."""

Layer = Literal["application", "socket", "tcp", "ip", "queue", "device", "path", "host"]
"""Where a cause sits, from the program down to the machine."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
LAYERS: tuple[Layer, ...] = get_args(Layer)

Source = Literal["record", "measurements", "hosts", "programs"]
"""What can show a cause: the record of a run, measurements between two hosts, what is read at these hosts, or
the connections that their programs have."""

SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True, slots=True)
class Cause:
    """One row.

    Attributes:
        key: its name, the same wherever it is found (`receive-buffer-too-small`).
        layer: where it sits; a finding may know better.
        means: what it is, a phrase for the table of documents.
        source: the document that its rule follows (kernel documentation, RFC, man page), with its section.
        worst: the gravest that a finding of it can be.
        says: the sentence of a finding, with words in braces; empty where only `tune` names the cause.
        leads_to: keys of what follows from it, at the same host or on the way from or to it.
        word: its name in an explanation (`rushhour run --json`), where it has another there.
        shown_by: what can show it; a cause that a record cannot show is found by `diagnose` alone.
        known_by: by what a record shows it.
        helps: what helps, as an explanation advises it.
        ours: it held the measuring programs back: it says how far to trust a number, not what is broken.
        certain: no rate shows it, but counters, or that nothing passed at all: whoever was slow, it holds.
        doubtful: other programs that keep a machine busy may have caused what shows it.
    """

    key: str
    layer: Layer
    means: str
    source: str = ""
    worst: Severity = "critical"
    shown_by: tuple[Source, ...] = ()
    says: str = ""
    leads_to: tuple[str, ...] = ()
    word: str = ""
    known_by: str = ""
    helps: str = ""
    ours: bool = False
    certain: bool = False
    doubtful: bool = False
