"""What is known of one end of a path: `rushhour-facts/1`, typed by section (docs/facts.md)."""

from __future__ import annotations

from collections.abc import Mapping

from rushhour.record.document import EMPTY, Document

FORMAT = "rushhour-facts/1"


class FactsFile(Document):
    """Sections of names with plain values; what could not be read is absent, and `unknown` says why."""

    format: str
    place: str = ""
    host: Mapping[str, object] = EMPTY
    link: Mapping[str, object] = EMPTY
    route: Mapping[str, object] = EMPTY
    pcie: Mapping[str, object] = EMPTY
    cpu: Mapping[str, object] = EMPTY
    memory: Mapping[str, object] = EMPTY
    virtualisation: Mapping[str, object] = EMPTY
    sysctl: Mapping[str, object] = EMPTY
    qdisc: Mapping[str, object] = EMPTY
    sockets: Mapping[str, object] = EMPTY
    firewall: Mapping[str, object] = EMPTY
    time: Mapping[str, object] = EMPTY
    counters: Mapping[str, object] = EMPTY
    unknown: Mapping[str, str] = EMPTY
