"""What is known of one end, as a document (`rushhour-facts/1`).

A section is a mapping of names to plain values; what could not be read is absent, and `unknown` says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import get_annotations
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError
from rushhour.record.document import read, write
from rushhour.record.facts_file import FORMAT, FactsFile

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTIONS = tuple(name for name in get_annotations(FactsFile) if name not in {"format", "place", "unknown"})


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

    def document(self) -> FactsFile:
        """The facts as one document."""
        sections = {name: dict(values) for name, values in self.sections.items()}
        return write(FactsFile, format=FORMAT, place=self.place, **sections, unknown=dict(self.unknown))

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> Facts:
        """Facts from a document.

        Raises:
            RecordError: it is of another format, or damaged.
        """
        if document.get("format") != FORMAT:
            raise RecordError(
                f"these are not facts: the format is {document.get('format')!r}, not {FORMAT!r}"
            )
        found = read(FactsFile, document, "facts")
        sections = {name: getattr(found, name) for name in SECTIONS if name in found}
        return cls(found.place, sections, found.unknown)
