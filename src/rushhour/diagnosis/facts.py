"""What is known of one end, as a document (`rushhour-facts/1`).

A section is a mapping of names to plain values; what could not be read is absent, and `unknown` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "rushhour-facts/1"
SECTIONS = (
    "host",
    "link",
    "route",
    "pcie",
    "cpu",
    "memory",
    "virtualisation",
    "sysctl",
    "qdisc",
    "sockets",
    "firewall",
    "time",
    "counters",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything read at one end: its place, and values by section and name."""

    place: str
    sections: Mapping[str, Mapping[str, Any]]
    unknown: Mapping[str, str] = field(default_factory=dict)
    """What could not be read → the reason."""

    def get(self, section: str, *names: str) -> Any:
        """A value, or what lies deeper by further names; None where it is not known.

        `facts.get("link", "offloads", "tcp-segmentation-offload")`
        """
        found: Any = self.sections.get(section)
        for name in names:
            if not isinstance(found, dict):
                return None
            found = found.get(name)
        return found

    def document(self) -> dict[str, Any]:
        """The facts as one JSON-able document."""
        sections = {name: dict(values) for name, values in self.sections.items()}
        return {"format": FORMAT, "place": self.place, **sections, "unknown": dict(self.unknown)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Facts:
        """Facts from a document.

        Raises:
            RecordError: it is of another format.
        """
        if document.get("format") != FORMAT:
            raise RecordError(
                f"these are not facts: the format is {document.get('format')!r}, not {FORMAT!r}"
            )
        sections = {name: document[name] for name in SECTIONS if name in document}
        return cls(str(document.get("place", "")), sections, document.get("unknown", {}))
