"""The words of a verdict: how bad each is, what other programs are told, how people are told.

To add a word: an entry here, and the rule that gives it. Commands, documents, pages and exports follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Decision = Literal["same", "better", "worse", "inconclusive", "invalid"]


@dataclass(frozen=True, slots=True)
class Word:
    """One word.

    Attributes:
        exit: The exit code of a command that ends with it.
        status: What a case with it is to other systems.
        headline: What is said of a whole with it; `{of}` are its cells, "2 of 9 cells".
        means: Its definition for readers of a page, as HTML.
        colour: Its colour in a terminal, as Rich has it.
        sign: What stands before it in Markdown.
        title: Its name as a heading; without, the word with a capital letter.
    """

    exit: int
    status: Literal["pass", "fail", "error", "skip"]
    headline: str
    means: str
    colour: str
    sign: str
    title: str = ""


_CHANGED = (
    "A judged metric changed by more than what matters, and not by chance; or the candidate breaks a law "
    "that the base keeps, or died where the base ran."
)

# The worst first: a whole is as its worst part.
WORDS: Mapping[Decision, Word] = {
    "worse": Word(1, "fail", "Worse: {of}", _CHANGED, "bold red", "❌"),
    "invalid": Word(
        4,
        "error",
        "Invalid: {of} could not be compared",
        "Runs failed, or their links were not what was asked.",
        "magenta",
        "⛔",
    ),
    "inconclusive": Word(
        3,
        "skip",
        "Inconclusive: in {of} the runs cannot tell a change from chance",
        "The seeds leave both open: a change that matters, and none.",
        "yellow",
        "❔",
    ),
    "better": Word(0, "pass", "Better: {of}, and none worse", _CHANGED, "green", "🔼"),
    "same": Word(
        0,
        "pass",
        "Same: {of}",
        "Equal to the byte, or no judged metric changed by as much as matters.",
        "green",
        "✅",
    ),
}

ORDER: tuple[Decision, ...] = tuple(WORDS)

# What only people are told: in a document the first is `worse`; the second is of runs held beside each other.
DEPARTS, DIFFERS = "departs", "differs"
FOR_PEOPLE: Mapping[str, Word] = {
    DEPARTS: Word(
        WORDS["worse"].exit,
        WORDS["worse"].status,
        "Departs: {of} {behave} otherwise, and none is worse for users",
        "A metric without a better side (a window, a gap between packets) changed by more than what matters, "
        "and nothing that users notice did. In verdict.json, and for the exit code, it is "
        "<code>worse</code>: behaviour that was right has changed.",
        "yellow",
        "🔁",
    ),
    DIFFERS: Word(
        WORDS["same"].exit,
        WORDS["same"].status,
        "Differs: {of}",
        "Both runs have one kernel; keys of the scenario differ. Runs in virtual time are exact, so what "
        "differs here comes of these keys.",
        "cyan",
        "🔀",
        "Beside each other",
    ),
}
SHOWN: Mapping[str, Word] = dict([*WORDS.items(), *FOR_PEOPLE.items()])
"""Every word that people are told."""


def title(word: str) -> str:
    """A word as a heading."""
    return SHOWN[word].title or word.capitalize()
