"""The mutants: one patch each in `faults/`, `harmless/` and `mechanical/`, each with a header.

Subject: what the change is, in one line
Area: what part of the stack
Symptom: what a user would see (of a fault and a harmless change)
Missed: why the suite need not notice it (only where that is known)
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from rushhour.errors import UsageError

FOLDER = Path(__file__).parent
KINDS = ("faults", "harmless", "mechanical")
REQUIRED = ("Subject", "Area", "Symptom")
OPTIONAL = ("Missed",)


@dataclass(frozen=True)
class Mutant:
    """One change of the kernel; `text` is the patch with its header."""

    name: str
    kind: str
    subject: str
    area: str
    symptom: str
    missed: str | None
    text: str

    @property
    def fault(self) -> bool:
        """Whether the suite should notice it."""
        return self.kind != "harmless"

    @property
    def sha256(self) -> str:
        """Hash of the change itself, without the header that talks about it."""
        _, _, change = self.text.partition("\n\n")
        return hashlib.sha256(change.encode()).hexdigest()

    @property
    def files(self) -> list[str]:
        """The files that it changes."""
        return re.findall(r"^\+\+\+ b/(\S+)", self.text, re.MULTILINE)


def load(folder: Path = FOLDER) -> list[Mutant]:
    """Every mutant of the folder, kind by kind, in the order of their names.

    Raises:
        UsageError: a header lacks something, or has something that is not known.
    """
    return [read(path, kind) for kind in KINDS for path in sorted((folder / kind).glob("*.patch"))]


def read(path: Path, kind: str) -> Mutant:
    """One patch.

    Raises:
        UsageError: its header is not as it should be.
    """
    text = path.read_text(encoding="utf-8")
    head, _, _ = text.partition("\n\n")
    fields = dict(re.findall(r"^(\w+): *(.*\S)", head, re.MULTILINE))
    required = [name for name in REQUIRED if name != "Symptom" or kind != "mechanical"]
    lacking = [name for name in required if name not in fields]
    unknown = [name for name in fields if name not in REQUIRED + OPTIONAL]
    if lacking or unknown:
        said = [f"lacks {', '.join(lacking)}"] if lacking else []
        said += [f"has {', '.join(unknown)}, which means nothing here"] if unknown else []
        raise UsageError(
            f"the header of this patch {' and '.join(said)}",
            where=str(path),
            hint=f"it has {', '.join(required)} and may have {', '.join(OPTIONAL)}, then an empty line",
        )
    symptom, missed = fields.get("Symptom", ""), fields.get("Missed")
    return Mutant(path.stem, kind, fields["Subject"], fields["Area"], symptom, missed, text)


def select(mutants: list[Mutant], words: tuple[str, ...]) -> list[Mutant]:
    """Those whose name, area or kind is one of the words; all of them if there are no words.

    Raises:
        UsageError: a word names none.
    """
    for word in words:
        if not any(word in _names(mutant) for mutant in mutants):
            areas = ", ".join(sorted({mutant.area for mutant in mutants}))
            raise UsageError(
                f"no mutant, area or kind is called {word!r}",
                hint=f"areas: {areas}; kinds: {', '.join(KINDS)}; all names: python -m mutants --list",
            )
    return [mutant for mutant in mutants if not words or _names(mutant) & set(words)]


def _names(mutant: Mutant) -> set[str]:
    return {mutant.name, mutant.area, mutant.kind}
