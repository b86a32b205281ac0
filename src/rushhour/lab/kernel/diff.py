"""Patches: unified diffs read and applied in memory, with words for one that does not fit.

What `git format-patch`, `git diff` and `diff -u` write is read, with one leading folder (`a/`, `b/`). A hunk
is searched for around the line that it names; its context has to be there to the letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_BINARY = ("GIT binary patch", "Binary files ")
_MOST_SHOWN = 5


@dataclass(frozen=True)
class Hunk:
    """One change of a file: what has to be there, and what comes in its place, as lines with their ends.

    `line` is where the patch says that it is, counted from 1; `at` the line of the patch with the `@@`.
    """

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    at: int


@dataclass
class Change:
    """What a patch does to one file; `old` is None for a new file, `new` for one that goes."""

    old: str | None = None
    new: str | None = None
    hunks: list[Hunk] = field(default_factory=list)
    executable: bool | None = None

    @property
    def name(self) -> str:
        """The file that it is about."""
        return self.new or self.old or ""


@dataclass(frozen=True)
class Edit:
    """What becomes of a file: its text, None if it goes; whether it is a program, None if as before."""

    data: bytes | None
    executable: bool | None = None


Edits = dict[str, Edit]


def read(text: str, where: str) -> list[Change]:
    """The changes of a patch, in its order.

    Args:
        text: the patch; what stands around the diffs (a mail's head, a signature) is passed over.
        where: how to call it in messages.

    Raises:
        KernelError: there is no diff in it, it is cut off, or it is about binary files.
    """
    found: list[Change] = []
    lines = text.split("\n")
    at, begun = 0, False
    while at < len(lines):
        line = lines[at]
        if line.startswith("diff --git "):
            found.append(_named(line))
            begun = True
        elif line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            if not begun:
                found.append(Change())
            found[-1].old, found[-1].new = _file(line), _file(lines[at + 1])
            at, begun = at + 1, False
        elif found and (match := _HUNK.match(line)):
            hunk, at = _hunk(lines, at, match, where)
            found[-1].hunks.append(hunk)
            continue
        elif begun:
            _extended(line, found[-1], where)
        at += 1
    if not found:
        raise KernelError("there is no diff in this patch", where=where, hint="git format-patch writes one")
    _inside(found, where)
    return found


def _named(line: str) -> Change:
    """The files of `diff --git a/x b/x`, for diffs without hunks."""
    old, _, new = line.removeprefix("diff --git ").partition(" b/")
    return Change(old.removeprefix("a/"), new)


def _file(line: str) -> str | None:
    """The file of a line that begins with `---` or `+++`, without its first folder and without a date."""
    name = line[4:].partition("\t")[0].strip()
    return None if name == "/dev/null" else name.partition("/")[2] or name


def _extended(line: str, change: Change, where: str) -> None:
    if line.startswith(_BINARY):
        raise KernelError(f"it changes a binary file: {change.name}", where=where, hint="give a text patch")
    for word, value in (("new file mode ", "old"), ("deleted file mode ", "new")):
        if line.startswith(word):
            setattr(change, value, None)
    if line.startswith(("new file mode ", "new mode ")):
        change.executable = line.endswith("755")


def _hunk(lines: list[str], at: int, match: re.Match[str], where: str) -> tuple[Hunk, int]:
    """The hunk whose `@@` is at index `at`, and the index of what follows it."""
    begin, wants = at, [int(match[2] or 1), int(match[3] or 1)]
    old: list[str] = []
    new: list[str] = []
    while len(old) < wants[0] or len(new) < wants[1]:
        at += 1
        line = lines[at] if at < len(lines) else "EOF"
        # What mail makes of an empty line of context.
        sign, rest = (line[0], line[1:]) if line else (" ", "")
        if sign not in " +-\\":
            raise KernelError("this hunk is cut off", where=f"{where}:{begin + 1}", hint="fetch it again")
        endless = lines[at + 1].startswith("\\") if at + 1 < len(lines) else False
        for signs, side in ((" -", old), (" +", new)):
            if sign in signs:
                side.append(rest if endless else f"{rest}\n")
    at += at + 1 < len(lines) and lines[at + 1].startswith("\\")  # "\ No newline at end of file"
    return Hunk(int(match[1]), tuple(old), tuple(new), begin + 1), at + 1


def _inside(changes: list[Change], where: str) -> None:
    for name in (name for change in changes for name in (change.old, change.new) if name):
        if name.startswith("/") or ".." in name.split("/"):
            raise KernelError(f"it is about a file outside of the tree: {name}", where=where)


def apply(
    changes: list[Change],
    where: str,
    now: Callable[[str], bytes | None],
    passed_over: Callable[[str], bool],
) -> Edits:
    """What a patch makes of the files that it is about.

    Args:
        changes: as `read` gave them.
        where: how to call the patch in messages.
        now: the bytes of a file as it is, None if there is none.
        passed_over: whether a file that is not there is none that a build reads.

    Raises:
        KernelError: it does not fit, with file, hunk and what the tree has there.
    """
    made: Edits = {}
    for change in changes:
        before = None
        if change.old is not None:
            edit = made.get(change.old)
            before = edit.data if edit else now(change.old)
            if before is None and passed_over(change.old):
                continue
        made |= _changed(change, before, where, now)
    return made


def _changed(change: Change, before: bytes | None, where: str, now: Callable[[str], bytes | None]) -> Edits:
    if change.old is not None and before is None:
        hint = "is the patch for another version, or does one before it in the series lack?"
        raise KernelError(f"the tree has no {change.old}, which this patch changes", where=where, hint=hint)
    if change.old is None and now(change.name) is not None:
        raise KernelError(f"the tree has {change.name} already, which this patch makes", where=where)
    text = (before or b"").decode("utf-8", "surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1:] = [lines[-1][:-1]] if lines[-1] != "\n" else []
    shift = 0
    for number, hunk in enumerate(change.hunks, 1):
        place = _place(lines, hunk, shift)
        if place is None:
            raise _refusal(lines, hunk, number, change, where)
        shift = place - _begin(hunk) + len(hunk.new) - len(hunk.old)
        lines[place : place + len(hunk.old)] = hunk.new
    data = "".join(lines).encode("utf-8", "surrogateescape")
    made: Edits = {change.old: Edit(None)} if change.old and change.old != change.new else {}
    return made | ({change.new: Edit(data, change.executable)} if change.new else {})


def _place(lines: list[str], hunk: Hunk, shift: int) -> int | None:
    """Where a hunk fits, the nearest to where it should be."""
    wanted = max(0, _begin(hunk) + shift)
    size = len(hunk.old)
    for place in _outward(wanted, len(lines) - size):
        if tuple(lines[place : place + size]) == hunk.old:
            return place
    return None


def _begin(hunk: Hunk) -> int:
    """The index of the first line that a hunk is about; one that only adds names the line before it."""
    return hunk.line - 1 if hunk.old else hunk.line


def _outward(middle: int, last: int) -> Iterator[int]:
    middle = min(middle, max(0, last))
    for distance in range(last + 1):
        yield from (place for place in {middle - distance, middle + distance} if 0 <= place <= last)


def _refusal(lines: list[str], hunk: Hunk, number: int, change: Change, where: str) -> KernelError:
    name, count = change.name, len(change.hunks)
    told = f"hunk {number} of {count}" if count > 1 else "its hunk"
    turned = Hunk(hunk.line, hunk.new, hunk.old, hunk.at)
    if hunk.new and _place(lines, turned, 0) is not None:
        return KernelError(f"{told} of {name} is in the tree already", where=f"{where}:{hunk.at}")
    place = max(
        _outward(hunk.line - 1, max(0, len(lines) - len(hunk.old))),
        key=lambda at: sum(one == two for one, two in zip(lines[at:], hunk.old, strict=False)),
    )
    there = lines[place : place + len(hunk.old)]
    there += [""] * (len(hunk.old) - len(there))
    differ = [at for at, (one, two) in enumerate(zip(there, hunk.old, strict=True)) if one != two]
    shown = []
    for at in differ[:_MOST_SHOWN]:
        shown += [f"  the tree's line {place + at + 1}:", f"    {_shown(there[at])}"]
        shown += ["  the patch expects:", f"    {_shown(hunk.old[at])}"]
    more = len(differ) - _MOST_SHOWN
    shown += [f"  and {plural(more, 'more such line')}"] if more > 0 else []
    message = f"{told} of {name} does not fit this tree:"
    hint = "no hunk is fitted by guess; make the patch anew from this version of the source"
    return KernelError("\n".join([message, *shown]), where=f"{where}:{hunk.at}", hint=hint)


def _shown(line: str) -> str:
    return line.expandtabs(4).strip() or "(nothing)"
