"""What is known of a bisection, on disk: `bisect.json` after every step, and `git bisect`'s own log."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.errors import ReportError, UsageError
from rushhour.files import rooms
from rushhour.record.seal import write_json
from rushhour.running.prepare import RESULTS

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.bisect.search import Decision

FORMAT = "rushhour-bisect/1"
DOCUMENT, LOG = "bisect.json", "git-bisect.log"


@dataclass(frozen=True)
class Question:
    """What is asked; a bisection goes on only with the very same question."""

    tree: str
    good: str
    bad: str
    scenario: str
    sha256: str
    sets: tuple[str, ...]
    metric: str
    flow: str | None
    minimum: str | None
    improved: bool
    seeds: int
    max_seeds: int


@dataclass(frozen=True)
class Step:
    """One commit that was judged, and how."""

    commit: str
    subject: str
    decision: Decision
    reason: str
    value: float | None = None
    seeds: int = 0
    seconds: float = 0.0


@dataclass
class State:
    """A bisection so far; `document` holds what was found besides."""

    question: Question
    folder: Path
    steps: list[Step] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)

    def save(self) -> None:
        """Write the document and the log, each at once and whole.

        Raises:
            ReportError: they cannot be written.
        """
        whole = {
            "format": FORMAT,
            "question": {**asdict(self.question), "sets": list(self.question.sets)},
            **self.document,
            "steps": [asdict(step) for step in self.steps],
        }
        try:
            rooms.open_results(self.folder)
            write_json(self.folder / DOCUMENT, whole)
            rooms.put(self.folder / LOG, self.log().encode())
        except OSError as error:
            raise ReportError(
                f"the bisection cannot be written: {error.strerror}",
                where=str(self.folder),
                hint="choose another place with --out, or make room and use --resume",
            ) from error

    def log(self) -> str:
        """The log as `git bisect log` writes it; `git bisect replay` takes it."""
        lines = ["git bisect start"]
        subjects = self.document.get("subjects", {})
        ends = [("bad", self.question.bad), ("good", self.question.good)]
        for word, commit in [*ends, *((step.decision, step.commit) for step in self.steps)]:
            lines += [
                f"# {word}: [{commit}] {subjects.get(commit, '')}".rstrip(),
                f"git bisect {word} {commit}",
            ]
        answer = self.document.get("answer")
        if answer:
            lines.append(f"# first bad commit: [{answer['hash']}] {answer['subject']}")
        return "\n".join(lines) + "\n"


def resumed(question: Question, folder: Path | None, name: str) -> State:
    """The state of an earlier bisection with this question: in a folder, or the newest that there is.

    Raises:
        UsageError: no bisection was found, or it asks another question.
    """
    if folder is not None:
        return _read(folder, question)
    for place in sorted((RESULTS / "bisect" / name).glob(f"*/{DOCUMENT}"), reverse=True):
        try:
            return _read(place.parent, question)
        except UsageError:
            continue
    raise UsageError(
        "no interrupted bisection has this command line",
        where=str(RESULTS / "bisect" / name),
        hint="--resume takes the words and the --out of the interrupted command",
    )


def fresh(question: Question, folder: Path) -> State:
    """A new state in a folder that holds no bisection yet.

    Raises:
        UsageError: it does.
    """
    if (folder / DOCUMENT).exists():
        raise UsageError(
            "there is a bisection already",
            where=str(folder),
            hint="to go on with it: --resume; else name another",
        )
    return State(question, folder)


def _read(folder: Path, question: Question) -> State:
    place = folder / DOCUMENT
    try:
        whole = json.loads(place.read_text(encoding="utf-8"))
        asked = Question(**{**whole["question"], "sets": tuple(whole["question"]["sets"])})
        steps = [Step(**step) for step in whole["steps"]]
    except FileNotFoundError as error:
        raise UsageError("there is no interrupted bisection to resume", where=str(folder)) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"this bisection cannot be read: {error}", where=str(place)) from error
    if asked != question:
        other = ", ".join(name for name, value in asdict(asked).items() if value != getattr(question, name))
        raise UsageError(
            f"the bisection in this folder asked something else; different: {other}", where=str(folder)
        )
    known = {key: whole[key] for key in whole if key not in ("format", "question", "steps")}
    return State(asked, folder, steps, known)
