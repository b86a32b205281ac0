"""Python functions as programs: packed here, called in a guest, their answers unpacked.

A function travels by the name of its module, and is imported there by the same Python. Modules that are not
installed go along as sources, installed ones as files.
"""

from __future__ import annotations

import base64
import binascii
import io
import pickle
import re
import sys
import types
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import UsageError
from rushhour.lab import imports
from rushhour.quantities.words import plural
from rushhour.testing.inside import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rushhour.record.output import Line

_SCRIPT = Path(__file__).with_name("inside.py")
_FOLDER = ".rushhour"
_MOST_TEXT = 800_000  # characters: all files of a scenario together have 1 MiB
_ANSWER = re.compile(re.escape(MARK) + r"(\d+)/(\d+)\] (\S*)")
_TOP_LEVEL = "define it at the top level of a module, and give what it needs as arguments"


class CallError(Exception):
    """A function raised what cannot be carried here; its type, words and traceback are in the message."""


class _RemoteTracebackError(Exception):
    """Where an exception came from in the guest: its cause, as tracebacks show it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


@dataclass(frozen=True)
class Packed:
    """A call as keys of a `[[program]]`, and the texts of its files."""

    command: tuple[str, ...]
    files: Mapping[str, str]
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """What came of a call: its `value`, or the `error` that it raised, with its traceback as text."""

    value: Any = None
    error: BaseException | None = None
    trace: str = ""


class _Seen(pickle.Unpickler):
    """Puts a call together again and notes whose names it takes."""

    def __init__(self, whole: bytes) -> None:
        super().__init__(io.BytesIO(whole))
        self.modules: dict[str, None] = {}

    def find_class(self, module_name: str, global_name: str) -> Any:
        self.modules[module_name] = None
        return super().find_class(module_name, global_name)


def pack(
    name: str,
    function: Callable[..., Any],
    words: Sequence[Any],
    named: Mapping[str, Any],
    modules: Iterable[str] = (),
) -> Packed:
    """A call as a program.

    Args:
        name: The program's.
        function: Any callable that can be pickled.
        words: Its arguments.
        named: Its arguments by name.
        modules: Modules that it imports when it is called, besides those that are imported with its own.

    Raises:
        UsageError: the function, or an argument, cannot be carried.
        LabError: its modules cannot be imported in a new process.
    """
    whole = _pickled(function, words, named)
    seen = _Seen(whole)
    seen.load()
    load = {one: getattr(sys.modules.get(one), "__file__", None) for one in (*seen.modules, *modules)}
    bundle: dict[str, Any] = {
        "name": name,
        "path": [str(Path(place).absolute()) for place in sys.path],
        "load": load,
        "call": whole,
        "own": {},
    }
    needed = imports.needed(_SCRIPT, _text(bundle), MARK)
    files = {f"{_FOLDER}/inside.py": _SCRIPT.read_text("utf-8"), f"{_FOLDER}/{name}": _with(bundle, needed)}
    command = (imports.interpreter(), "-B", f"{_FOLDER}/inside.py", "call", f"{_FOLDER}/{name}")
    return Packed(command, files, needed.paths)


def _with(bundle: dict[str, Any], needed: imports.Needed) -> str:
    """The bundle with sources; without those of modules that are not imported yet, if they are many."""
    for modules in ({**needed.own, **needed.beside}, needed.own):
        own = {name: (one.file, one.package, one.source) for name, one in sorted(modules.items())}
        text = _text(bundle | {"own": own})
        if len(text) <= _MOST_TEXT:
            return text
    raise UsageError(
        f"the call has {len(text) >> 10} KiB: arguments, and "
        f"{plural(len(needed.own), 'module')} not installed",
        hint="give it less, or install the modules' package into this Python (pip install ., without -e)",
    )


def _text(bundle: Mapping[str, Any]) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(bundle, protocol=5), 9)).decode()


def _pickled(function: Callable[..., Any], words: Sequence[Any], named: Mapping[str, Any]) -> bytes:
    _check_place(function)
    for which, value in (*enumerate(words, 1), *named.items()):
        try:
            pickle.dumps(value)
        except Exception as error:
            raise UsageError(
                f"argument {which} of {_called(function)} cannot be carried into the lab: {error}",
                hint="give what can be pickled: numbers, texts, lists, objects of classes of modules",
            ) from error
    try:
        return pickle.dumps((function, tuple(words), dict(named)))
    except Exception as error:
        raise UsageError(
            f"{_called(function)} cannot be carried into the lab: {error}", hint=_TOP_LEVEL
        ) from error


def _check_place(function: Callable[..., Any]) -> None:
    """Say in words why some functions cannot be found again by their names."""
    inner = getattr(function, "func", function)  # of functools.partial
    inner = getattr(inner, "__func__", inner)
    if not isinstance(inner, types.FunctionType):
        return
    if inner.__name__ == "<lambda>":
        what = "a lambda has no name by which the lab could import it"
    elif inner.__closure__:
        kept = ", ".join(inner.__code__.co_freevars)
        what = f"it is a closure, which holds {kept} of the function around it"
    elif "<locals>" in inner.__qualname__:
        what = "it is defined within a function, so the lab cannot import it by its name"
    elif inner.__module__ == "__main__":
        what = "it stands in the program that was started (__main__), which the lab cannot import"
    else:
        return
    raise UsageError(f"{_called(function)} cannot be carried into the lab: {what}", hint=_TOP_LEVEL)


def _called(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def spoken(lines: Iterable[Line]) -> tuple[list[Line], str]:
    """What a program printed itself, and the pieces of an answer among it, put together."""
    printed, pieces = [], []
    for line in lines:
        match = _ANSWER.search(line.text) if line.stream == "out" else None
        if match is None:
            printed.append(line)
            continue
        pieces.append(match)
        if match.start():
            printed.append(line._replace(text=line.text[: match.start()], cut=True))
    whole = bool(pieces) and len(pieces) == int(pieces[0][2])
    return printed, "".join(piece[3] for piece in pieces) if whole else ""


def unpack(text: str) -> Answer | None:
    """The answer of a call; None where it gave none, as one that was killed."""
    try:
        kind, whole, name, words, trace = pickle.loads(zlib.decompress(base64.b64decode(text)))  # noqa: S301 - what the test itself called
    except (binascii.Error, zlib.error, pickle.UnpicklingError, EOFError, ValueError):
        return None
    if kind == "odd":
        return Answer(error=CallError(f"the call gave a {name}, which cannot be carried here: {words}"))
    try:
        found = None if whole is None else pickle.loads(whole)  # noqa: S301 - as above
    except Exception as error:  # noqa: BLE001 - whatever a class of the user's raises
        again = CallError(f"a {name} cannot be put together again here: {error}\n{trace}")
        return Answer(error=again, trace=trace)
    if kind == "value":
        return Answer(found)
    if found is None:
        return Answer(error=CallError(f"{name}: {words}\n{trace}"), trace=trace)
    found.__cause__ = _RemoteTracebackError(trace)
    return Answer(error=found, trace=trace)


def without(trace: str, printed: Sequence[Line]) -> list[Line]:
    """What a function printed itself: a traceback at the end of its standard error is not its own."""
    last = trace.splitlines()
    errors = [number for number, line in enumerate(printed) if line.stream == "err"]
    theirs = errors[-len(last) :] if last else []
    if [printed[number].text for number in theirs] != last:
        return list(printed)
    return [line for number, line in enumerate(printed) if number not in set(theirs)]
