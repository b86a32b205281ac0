"""What begins a call in a guest; and before that, here, finds out which modules it needs. It stands alone.

    python inside.py look < BUNDLE     the modules that are loaded with the call, as JSON
    python inside.py call BUNDLE       the call; its answer goes to standard output, in lines with a mark

A bundle is a pickle, compressed, as base64: `name` (of the program), `path` (`sys.path`), `call` (function,
words and named words, a pickle again), `load` (modules to import first, with their files) and `own` (modules
that are not installed: file, whether it is a package, source).

In a guest each module is compiled anew, so it imports what nearly every program imports, and no more.
"""

from __future__ import annotations

import binascii
import importlib
import importlib.machinery
import os
import pickle
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType, TracebackType
    from typing import Any, TextIO

MARK = "[rushhour answer "
"""Begins a line of an answer: `[rushhour answer 1/3] …`, at whatever place in the line."""
_CHUNK = 3000  # characters of a line: less than what a pipe takes in one piece
_PACKAGES = ("site-packages", "dist-packages")


class Source(importlib.machinery.SourceFileLoader):
    """A module whose source was brought; what lies beside it is read from there, as always."""

    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self.source = source

    def get_data(self, path: str) -> bytes:
        return self.source.encode() if path == self.path else super().get_data(path)

    def path_stats(self, path: str) -> Mapping[str, Any]:
        raise OSError(f"{path} has no compiled form")


class Brought:
    """Imports modules from sources that were brought, under the paths that they have where they came from."""

    def __init__(self, modules: Mapping[str, Any]) -> None:
        self.modules = modules

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.modules:
            return None
        file, package, source = self.modules[fullname]
        spec = importlib.machinery.ModuleSpec(
            fullname, Source(fullname, file, source), origin=file, is_package=package
        )
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [os.path.dirname(file)]
        return spec


def read(text: str) -> dict[str, Any]:
    """The bundle that a text is."""
    found: dict[str, Any] = pickle.loads(zlib.decompress(binascii.a2b_base64(text)))
    return found


def load(bundle: Mapping[str, Any]) -> Any:
    """The function with its words, all modules imported."""
    sys.path[:] = bundle["path"]
    sys.meta_path.insert(0, Brought(bundle["own"]))
    for name, file in bundle["load"].items():
        _import(name, file)
    return pickle.loads(bundle["call"])


def _import(name: str, file: str | None) -> None:
    """Import a module by its name; where that leads nowhere, or elsewhere, by its file."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if file is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
    else:
        found = getattr(module, "__file__", None)
        if file is None or found is None or os.path.realpath(found) == os.path.realpath(file):
            return
    from importlib import util

    spec = util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    parts = name.split(".")
    for outer in (".".join(parts[:count]) for count in range(1, len(parts))):
        sys.modules.setdefault(outer, type(sys)(outer))
    sys.modules[name] = module
    spec.loader.exec_module(module)


def look(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """What a call needs: the modules that are loaded with it, and what else of its installed packages."""
    before = set(sys.modules)
    load(bundle)
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in before and file is not None:
            found[name] = [os.path.abspath(file), hasattr(module, "__path__")]
    return {"modules": found, "about": _about([str(file) for file, _ in found.values()])}


def _about(files: Sequence[str]) -> list[str]:
    """The folders in which installed packages say what they are: some ask for their version."""
    tops: dict[str, set[str]] = {}
    for file in files:
        for place in _PACKAGES:
            site, found, rest = file.partition(f"{os.sep}{place}{os.sep}")
            if found:
                tops.setdefault(site + found, set()).add(rest.partition(os.sep)[0])
    about = []
    for site, names in tops.items():
        for folder in sorted(entry for entry in os.listdir(site) if entry.endswith(".dist-info")):
            try:
                with open(os.path.join(site, folder, "RECORD"), encoding="utf-8") as record:
                    mine = any(line.partition(",")[0].partition("/")[0] in names for line in record)
            except OSError:
                continue
            about += [os.path.join(site, folder)] if mine else []
    return about


def call(bundle: Mapping[str, Any]) -> int:
    """Make the call and say what came of it; gives the exit status."""
    answer = os.fdopen(os.dup(1), "w", encoding="ascii")
    for stream in (sys.stdout, sys.stderr):  # each line has its own virtual time
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        function, words, named = load(bundle)
        value = function(*words, **named)
        if hasattr(value, "cr_await"):
            import asyncio

            value = asyncio.run(value)
    except SystemExit:
        raise
    except BaseException as error:
        import traceback

        error.__traceback__ = _without_ours(error.__traceback__)
        text = "".join(traceback.format_exception(error))
        sys.stderr.write(text)
        _say(answer, ["error", _kept(error), type(error).__name__, str(error), text])
        return 1
    try:
        whole = pickle.dumps(value)
    except Exception as error:
        _say(answer, ["odd", None, type(value).__name__, str(error), ""])
        return 1
    _say(answer, ["value", whole, type(value).__name__, "", ""])
    return 0


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _kept(error: BaseException) -> bytes | None:
    """The exception, where it can be taken apart and put together again."""
    try:
        whole = pickle.dumps(error)
        pickle.loads(whole)
    except Exception:
        return None
    return whole


def _say(answer: TextIO, told: list[Any]) -> None:
    sys.stdout.flush()
    text = binascii.b2a_base64(zlib.compress(pickle.dumps(told)), newline=False).decode()
    pieces = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]
    for number, piece in enumerate(pieces, 1):
        answer.write(f"{MARK}{number}/{len(pieces)}] {piece}\n")
        answer.flush()


if __name__ == "__main__":
    if sys.argv[1] == "look":
        import json

        print(MARK + json.dumps(look(read(sys.stdin.read()))))
    else:
        with open(sys.argv[2], encoding="utf-8") as brought:
            asked = read(brought.read())
        sys.argv[:] = [asked["name"]]
        sys.exit(call(asked))
