"""Files that programs bring are read once, when a scenario is loaded: from then on they are part of it.

Takes a document and the folder its file lies in, gives the document with the texts under `file`.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from rushhour.spec.beside import missing
from rushhour.spec.check.problem import Problem
from rushhour.spec.programs import LARGEST_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.check import Path as KeyPath

_PATTERN = frozenset("*?[")
_MOST = 10_000
_LARGE = "give the whole path of what is large in `needs`"


def bring_files(document: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], list[Problem]]:
    """Give the document with every file that its programs bring, patterns as the names that they mean.

    Returns:
        The document, and a problem for each file that cannot be read.
    """
    known, programs = document.get("file", {}), document.get("program")
    if not isinstance(known, dict) or not isinstance(programs, list | tuple):
        return dict(document), []
    texts: dict[str, Any] = dict(known)
    found: list[Problem] = []
    named = []
    for index, program in enumerate(programs):
        words = _words(program)
        if words is None:
            named.append(program)
            continue
        names: list[str] = []
        for word in words:
            read = {} if word in texts else _read(word, folder, ("program", index, "files"))
            if isinstance(read, Problem):
                found.append(read)
                read = {word: ""}  # so that nobody misses it once more
            texts |= read
            names += read or [word]
        named.append(program | {"files": list(dict.fromkeys(names))})
    if sum(len(text) for text in texts.values() if isinstance(text, str)) > LARGEST_FILES and not found:
        found.append(Problem(("file",), "the programs' files are larger than 1 MiB", _LARGE))
    return dict(document) | {"program": named} | ({"file": texts} if texts else {}), found


def bring_roots(document: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Give the document with the whole path of every root that its programs name, also where a factor does.

    A whole path is called by its last part from then on, as far as no other root is called so.
    """
    known, programs = document.get("root", {}), document.get("program")
    if not isinstance(known, dict) or not isinstance(programs, list | tuple):
        return dict(document)
    places: dict[str, Any] = dict(known)
    named = []
    for program in programs:
        word = program.get("root") if isinstance(program, dict) else None
        if isinstance(word, str) and word and word not in places:
            place = str((folder or Path.cwd()).absolute() / word)
            short = Path(word).name if Path(word).is_absolute() else word
            word = short if places.get(short, place) == place else word
            places[word] = place
        named.append(program | {"root": word} if isinstance(word, str) else program)
    for word in _varied_roots(document.get("sweep")):
        places.setdefault(word, str((folder or Path.cwd()).absolute() / word))
    return dict(document) | {"program": named} | ({"root": places} if places else {})


def _varied_roots(sweep: object) -> Iterator[str]:
    for key, value in sweep.items() if isinstance(sweep, dict) else ():
        if isinstance(value, dict):
            yield from _varied_roots({f"{key}.{below}": one for below, one in value.items()})
        elif key == "together" and isinstance(value, list):
            for table in value:
                yield from _varied_roots(table)
        elif key.startswith("program.") and key.endswith(".root") and isinstance(value, list):
            yield from (one for one in value if isinstance(one, str) and one)


def _words(program: object) -> list[str] | None:
    """The words of a program's `files`; None where there are none, or the key makes no sense."""
    words = program.get("files") if isinstance(program, dict) else None
    words = [words] if isinstance(words, str) else words
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        return None
    return list(words)


def _read(word: str, folder: Path | None, path: KeyPath) -> dict[str, str] | Problem:
    if not word.isprintable() or word.startswith("/") or ".." in PurePosixPath(word).parts:
        return Problem(
            path, f'"{word}" leads out of the scenario\'s folder', "put the file beside the scenario"
        )
    if folder is None:
        return Problem(path, f'there is no folder in which "{word}" could lie', "give its text in [file]")
    files = _matching(word, folder)
    if not files:
        return missing(path, word, folder)
    texts: dict[str, str] = {}
    for name, file in files.items():
        text = _text(name, file, folder, path)
        if isinstance(text, Problem):
            return text
        texts[name] = text
    return texts


def _matching(word: str, folder: Path) -> dict[str, Path]:
    """The regular files that a word means, by their path below the folder."""
    # A pattern's last `**` means folders only, up to Python 3.12.
    pattern = f"{word}/*" if word.endswith("**") else word
    found: dict[str, Path] = {}
    for file in [folder / word] if _PATTERN.isdisjoint(word) else sorted(folder.glob(pattern)):
        if os.path.isfile(file):  # noqa: PTH113 - without an error for names that no file can have
            found[file.relative_to(folder).as_posix()] = file
        if len(found) > _MOST:
            break
    return found


def _text(name: str, file: Path, folder: Path, path: KeyPath) -> str | Problem:
    hint = f"name it by its whole path, in `command` or `needs`: {file.absolute()}"
    no_text = Problem(path, f'"{name}" is no text', hint)
    try:
        # A scenario of a stranger must not take along what others keep.
        if not file.resolve(strict=True).is_relative_to(folder.resolve()):
            return Problem(path, f'"{name}" leads out of the scenario\'s folder', "copy the file there")
        with file.open("rb") as stream:
            raw = stream.read(LARGEST_FILES + 1)
        text = raw.decode()
    except (OSError, RuntimeError) as error:
        return Problem(path, f'"{name}" cannot be read: {getattr(error, "strerror", None) or error}')
    except UnicodeDecodeError:
        return no_text
    if len(raw) > LARGEST_FILES:
        return Problem(path, f'"{name}" is larger than 1 MiB', _LARGE)
    if "\0" in text:
        return no_text
    return text
