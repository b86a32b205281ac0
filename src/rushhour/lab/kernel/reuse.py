"""Objects that need not be compiled again, although make's dates say so.

make compiles whatever includes a file that is newer. Of a header in which one constant differs that is a
hundred objects, of which three use it; and back at the text before, all of them once more. So of each object
that make would compile it is found out first what its compiler would make code of (`seen`), which costs a
third of compiling: where that and the command are what it was made of, or what another object on the shelf
was, that object is put in place with the present's date. From there on make decides by its own rules:
whatever becomes newer meanwhile (a header that is generated, the configuration) has it compiled all the same.

What no code is made of can be wrong: of each piece that is new one object is compiled.

Where nothing but the values of macros differ, whoever uses none of them is not even looked at (`macros`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rushhour.errors import KernelError
from rushhour.lab import cpus
from rushhour.lab.kernel import git, macros, objects, process, store
from rushhour.lab.kernel.seen import Seen, seen
from rushhour.lab.kernel.step import objects as words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rushhour.lab.kernel.sources import Source

_One = TypeVar("_One")
_Made = TypeVar("_Made")
SHELF = "shelf"
"""In a build directory: objects by the hash of what was seen, and what is known of those outside of it."""
_KNOWN = "known-3.json"  # by what `seen` is now
_MOST_BYTES = 128 << 20  # seven times all objects
_MOST_FILES = 100  # that differ: two releases have few objects in common
_MOST_PIECES = 100_000
_FEW = 4  # objects that are asked first
_COMMAND = re.compile(r"^((?:saved)?cmd_\S+ := )(gcc .*)$", re.MULTILINE)
_SHELL = re.compile(r"[;|&<>`]")  # what a command has that is more than one program and its words
_WITH_LINES = ("-g", "-fsanitize", "-fplugin")
_COUNTING = ("-fprofile", "-ftest-coverage", "--coverage")


@dataclass(frozen=True)
class _User:
    """An object that make would compile: its name in the build directory, kbuild's note, the command.

    `reads` are the files that differ and that it was made of.
    """

    name: str
    note: Path
    head: str
    command: str
    reads: frozenset[str]


class Reuse:
    """What becomes of the objects of one build directory when its tree is brought to another text.

    Make it before the tree changes; `put` once it has and is configured; `keep` when make is done. Hold the
    tree's lock.
    """

    def __init__(self, found: Source, tell: Callable[[str], None]) -> None:
        self._tree, self._place = store.cache("sources", found.key), store.cache("build", found.key)
        self._shelf = self._place / SHELF
        self._now: dict[str, Seen] = {}
        self._begun = 0
        self._users: list[_User] = []
        self._spared: dict[str, tuple[int, frozenset[str]]] = {}
        self._uses = macros.Uses(self._shelf / "macros")
        self._known: dict[str, str] = {}
        self._proved: set[str] = set()
        if found.repository is None or not (self._place / "linux").exists() or not self._tree.is_dir():
            return
        names = git.differing(found.repository, found.facts["commit"], found.key)
        if len(names) <= _MOST_FILES:
            self._users = [*self._using({f"{self._tree}/{name}" for name in names})]
            self._spare(found, names, tell)
        if self._users or self._spared:
            self._remember(tell)

    def _spare(self, found: Source, names: list[str], tell: Callable[[str], None]) -> None:
        """Find the objects that use none of the macros that differ, where nothing else differs for them."""
        differing = {
            f"{self._tree}/{name}": self._values(found, name) for name in names if name.endswith(".h")
        }
        asked = [
            (user, frozenset().union(*(differing[name] or () for name in user.reads)))
            for user in self._users
            if all(differing.get(name) is not None for name in user.reads) and self._is_present(user)
        ]
        dates = {user.name: (self._place / user.name).stat().st_mtime_ns for user, _ in asked}
        known = {user.name: self._uses.of(user.name, dates[user.name]) for user, _ in asked}
        unknown = [(user, names_of) for user, names_of in asked if known[user.name] is None]
        known |= self._asked(unknown, tell)
        for user, names_of in asked:
            uses = known.get(user.name)
            if uses is None:
                continue
            self._uses.keep(user.name, dates[user.name], uses)
            if uses.isdisjoint(names_of):
                self._spared[user.name] = (dates[user.name], uses)
        self._users = [user for user in self._users if user.name not in self._spared]

    def _asked(
        self, unknown: list[tuple[_User, frozenset[str]]], tell: Callable[[str], None]
    ) -> dict[str, frozenset[str] | None]:
        """What the compiler says of which macros objects use; of many a few where these use what differs.

        A macro that an inline function of the header uses is used by all.
        """
        known: dict[str, frozenset[str] | None] = {}
        rest = unknown
        few = unknown[: len(unknown) // 2 : max(1, len(unknown) // (2 * _FEW))][:_FEW]
        for some in (few, unknown) if len(unknown) > 4 * _FEW else (unknown,):
            rest = [(user, names_of) for user, names_of in some if user.name not in known]
            if rest:
                tell(f"looking at which macros are used in {words(len(rest))}")
            told = _each(lambda one: macros.used_by(one[0].command, self._place), rest)
            known |= {user.name: uses for (user, _), uses in zip(rest, told, strict=True)}
            if all(uses is None or not uses.isdisjoint(of) for (_, of), uses in zip(rest, told, strict=True)):
                break
        return known

    def _values(self, found: Source, name: str) -> frozenset[str] | None:
        """The macros whose values are all in which a header differs from what it is to become."""
        if found.repository is None or not (self._tree / name).is_file():
            return None
        wanted = f"{found.facts['commit']}:{name}"
        after = git.ask(found.repository, "cat-file", "blob", wanted, default="")
        return macros.values((self._tree / name).read_text(errors="surrogateescape"), after)

    def _remember(self, tell: Callable[[str], None]) -> None:
        """Find out of what the objects are that lie there, as far as nobody noted it."""
        noted = self._noted()
        self._proved = {*noted["proved"]}
        for name, (date, code) in noted["objects"].items():
            place = self._place / name
            if place.is_file() and place.stat().st_mtime_ns == date:
                self._known[name] = code
        unknown = [one for one in self._users if one.name not in self._known and self._is_present(one)]
        if unknown:
            tell(f"looking into {words(len(unknown))} as made before")
            for name, one in self._seen(unknown).items():
                self._known[name] = one.code
                self._proved |= one.pieces

    def put(self, tell: Callable[[str], None]) -> None:
        """Put in place what need not be compiled."""
        # An object of a file that is gone is gone, too: make tells what lacks.
        there = {name: uses for name, (_, uses) in self._spared.items() if (self._place / name).exists()}
        for name in there:
            os.utime(self._place / name)
        self._spared = {name: ((self._place / name).stat().st_mtime_ns, uses) for name, uses in there.items()}
        if not self._users:
            return
        tell(f"looking at the source of {words(len(self._users))}")
        self._shelf.mkdir(exist_ok=True)
        self._begun = _now_ns(self._shelf)
        with store.scratch(self._shelf) as room:
            self._now = self._seen(self._users, room)
            ready = []
            for number, user in enumerate(self._users):
                self._lay_aside(user)
                now = self._now.get(user.name)
                if now and (now.code == self._known.get(user.name) or self._on_shelf(now).is_file()):
                    ready.append((user, now, room / f"{number}.cmd"))
                elif now:
                    self._proved |= now.pieces
            for user, now, note in ready:
                if now.pieces <= self._proved:
                    self._place_one(user, now, note)
                self._proved |= now.pieces

    def _lay_aside(self, user: _User) -> None:
        place, code = self._place / user.name, self._known.get(user.name)
        if code and place.is_file():
            _lay(place, self._shelf / f"{code}.o")

    def _on_shelf(self, one: Seen) -> Path:
        return self._shelf / f"{one.code}.o"

    def _place_one(self, user: _User, now: Seen, note: Path) -> None:
        place = self._place / user.name
        if now.code != self._known.get(user.name):
            place.unlink(missing_ok=True)
            shutil.copyfile(self._on_shelf(now), place)
        note.replace(user.note)
        os.utime(place)

    def keep(self) -> None:
        """Remember what was compiled, for the next time."""
        if not self._users and not self._spared:
            return
        noted = self._noted()
        self._keep_spared(noted["objects"])
        for user in self._users:
            now, place = self._now.get(user.name), self._place / user.name
            if now and place.is_file() and self._is_true(user):
                _lay(place, self._on_shelf(now))
                noted["objects"][user.name] = [place.stat().st_mtime_ns, now.code]
        if len(self._proved) > _MOST_PIECES:
            self._proved = {piece for one in self._now.values() for piece in one.pieces}
        noted["proved"] = sorted(self._proved)
        self._shelf.mkdir(exist_ok=True)
        (self._shelf / _KNOWN).write_text(json.dumps(noted))
        self._clear()

    def _keep_spared(self, noted: dict[str, Any]) -> None:
        """What was known of objects holds at their new date; not of those that make compiled all the same."""
        for name, (date, uses) in self._spared.items():
            place = self._place / name
            if place.is_file() and place.stat().st_mtime_ns == date:
                self._uses.keep(name, date, uses)
                if code := self._known.get(name):
                    noted[name] = [date, code]

    def _using(self, differing: set[str]) -> Iterator[_User]:
        """The objects whose note names any of these files, and whose command is one program's."""
        if not differing:
            return
        for note, made in objects.noted(self._place):
            text = note.read_text(errors="surrogateescape")
            reads = differing.intersection(text.split())
            if not reads:
                continue
            command = _COMMAND.search(text)
            name = str(made.relative_to(self._place))
            if command and not _SHELL.search(command[2]) and f" -c -o {name} " in command[2]:
                yield _User(name, note, command[1], command[2], frozenset(reads))

    def _noted(self) -> dict[str, Any]:
        try:
            noted = json.loads((self._shelf / _KNOWN).read_text())
            return {"objects": dict(noted["objects"]), "proved": list(noted["proved"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {"objects": {}, "proved": []}

    def _is_present(self, user: _User) -> bool:
        """Whether an object is of what its files are now: none is newer."""
        place = self._place / user.name
        return place.is_file() and self._newest(user) <= place.stat().st_mtime_ns

    def _is_true(self, user: _User) -> bool:
        """Whether an object is of what was seen: by that command, and no file that it reads is younger."""
        if f"{user.head}{user.command}\n" not in user.note.read_text(errors="surrogateescape"):
            return False
        generated = self._place / "include/generated/autoconf.h"
        last = generated.stat().st_mtime_ns if generated.exists() else 0
        return max(self._newest(user), last) <= self._begun

    def _newest(self, user: _User) -> int:
        """The date of the newest file that an object was made of, as its note has them."""
        words = user.note.read_text(errors="surrogateescape").split()
        paths = (self._place / word for word in words if word.endswith((".c", ".h", ".S")))
        return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)

    def _seen(self, users: list[_User], room: Path | None = None) -> dict[str, Seen]:
        """By object what its compiler sees, where that can be had; new notes of kbuild's into `room`."""
        made = _each(lambda one: self._of(one[1], room / str(one[0]) if room else None), [*enumerate(users)])
        return {user.name: found for user, found in zip(users, made, strict=True) if found}

    def _of(self, user: _User, into: Path | None) -> Seen | None:
        try:
            found = seen_by(user.command, self._place, into and into.with_suffix(".d"))
            if into and not self._note(user, into):
                return None
        except KernelError:
            return None  # make tells it better
        return found

    def _note(self, user: _User, into: Path) -> bool:
        """An object's note, as kbuild's own tool writes it: the files of which it is made may be others."""
        said = process.answer(
            ["scripts/basic/fixdep", str(into.with_suffix(".d")), user.name, user.command], cwd=self._place
        )
        into.with_suffix(".cmd").write_text(said, errors="surrogateescape")
        return said.startswith(f"{user.head}{user.command}\n")

    def _clear(self) -> None:
        """Let go of the objects that were of no use for the longest time."""
        dated = sorted(
            ((one.stat().st_mtime_ns, one.stat().st_size, one) for one in self._shelf.glob("*.o")),
            reverse=True,
        )
        total = 0
        for _, size, one in dated:
            total += size
            if total > _MOST_BYTES:
                one.unlink()


def _each(make: Callable[[_One], _Made], of: Sequence[_One]) -> list[_Made]:
    """What is made of each, as many at once as there are processors."""
    with ThreadPoolExecutor(len(cpus.own())) as pool:
        try:
            return [*pool.map(make, of)]
        except BaseException:  # the user interrupts: not after hundreds of files
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def seen_by(command: str, place: Path, depends: Path | None = None) -> Seen | None:
    """What a command of the compiler's sees now; None if it makes more than an object.

    Args:
        command: As kbuild noted it.
        place: The build directory.
        depends: Gets the files that were read, as the compiler lists them.

    Raises:
        KernelError: the compiler fails.
    """
    words = shlex.split(command)
    if any(word.startswith(_COUNTING) for word in words):
        return None
    kept = [word for word in words[: words.index("-c")] if not word.startswith("-Wp,-MMD,")]
    asked = [f"-Wp,-MMD,{depends}"] if depends else []
    lines = any(word.startswith(_WITH_LINES) for word in words)
    said = process.answer([*kept, *asked, "-E", *([] if lines else ["-P"]), words[-1]], cwd=place)
    text, how = said.encode(errors="surrogateescape"), [word.encode() for word in (*kept, words[-1])]
    if lines:  # of which objects with symbols and checks know
        return Seen(hashlib.sha256(b"\0".join([*how, text])).hexdigest(), frozenset())
    return seen(text, how)


def _lay(place: Path, target: Path) -> None:
    """An object on the shelf, whole or not at all; as young as its last use."""
    if target.is_file():
        os.utime(target)
        return
    target.parent.mkdir(exist_ok=True)
    new = target.with_suffix(".new")
    shutil.copyfile(place, new)
    new.replace(target)


def _now_ns(folder: Path) -> int:
    """The present by the clock of the file system, which is coarser than others."""
    stamp = folder / "stamp"
    stamp.touch()
    return stamp.stat().st_mtime_ns
