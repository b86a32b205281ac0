"""How inputs are changed: by what they mean, not by their bytes.

A document (TOML, JSON) is taken apart, some of its values are replaced, moved, doubled or removed, and it is
written again. Edits of a folder are a JSON list of [file, act, ...]; they are added, removed and changed.
"""

from __future__ import annotations

import copy
import json
import tomllib
from typing import TYPE_CHECKING, Any

from rushhour.spec import toml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

ODD: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 65_536, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 10**30, 0.0, -0.0, 0.5, 1e-9, 1e308,
    float("inf"), float("nan"), True, False, "", " ", "0", "-1", "²", "٣", "\x00",
)  # fmt: skip
"""Values that something once took for another."""


def places(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of everything in a document, from the outside in."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = [*value.items()]
    elif isinstance(value, list):
        inner = [*enumerate(value[:50])]
    return [path for key, child in inner for path in ((*at, key), *places(child, (*at, key)))]


def at(value: Any, path: Sequence[str | int]) -> Any:
    """What stands at a path; raises LookupError or TypeError."""
    for part in path:
        value = value[part]
    return value


def change(document: Any, rng: Random, words: Sequence[str], odd: Sequence[Any] = ODD) -> None:
    """Change one thing in a document, in place."""
    there = places(document)
    if not there:
        return
    path = rng.choice(there)
    table, key = at(document, path[:-1]), path[-1]
    match rng.randrange(8):
        case 0 | 1 | 2:
            table[key] = copy.deepcopy(rng.choice(odd))
        case 3:
            table[key] = copy.deepcopy(at(document, rng.choice(there)))
        case 4:
            del table[key]
        case 5 if isinstance(table, list):
            table.insert(rng.randrange(len(table) + 1), copy.deepcopy(table[int(key)]))
        case 6:
            table[key] = near(table[key], rng)
        case _ if isinstance(table, dict):
            table[rng.choice(words) if words else "x"] = copy.deepcopy(rng.choice(odd))


def near(value: Any, rng: Random) -> Any:
    """A value that is only a little wrong."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, value * 1000, value // 2])
    if isinstance(value, float):
        return rng.choice([value * 10, -value, value / 1e6, value + 1])
    if isinstance(value, str) and value:
        place = rng.randrange(len(value))
        return rng.choice(
            [value[:place], value * 2, value[:place] + rng.choice("0.9-² []\"'\\\n,e") + value[place:]]
        )
    return [value]


# Python's reader keeps every beginning of a key: one of 100 000 parts takes gigabytes.
# The program refuses such a text before it is read.
_LARGEST = 50_000


def of_toml(words: Sequence[str]) -> Callable[[bytes, Random], bytes]:
    """Changes of TOML texts; one that cannot be taken apart is changed by its bytes."""

    def mutate(data: bytes, rng: Random) -> bytes:
        if len(data) > _LARGEST:
            return of_bytes(data, rng)
        try:
            document = tomllib.loads(data.decode())
        except (ValueError, RecursionError):
            return of_bytes(data, rng)
        for _ in range(rng.choice([1, 1, 2, 3, 5])):
            change(document, rng, words, [value for value in ODD if value is not None])
        try:
            text = toml.dumps(document)
            tomllib.loads(text)
        except (ValueError, RecursionError, TypeError):
            return of_bytes(data, rng)
        return of_bytes(text.encode(), rng) if rng.random() < 0.1 else text.encode()

    return mutate


def of_bytes(data: bytes, rng: Random) -> bytes:
    """Changes without meaning: bytes are removed, doubled, replaced."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 2, 4])):
        first = rng.randrange(len(changed) + 1)
        last = min(len(changed), first + rng.choice([0, 1, 1, 4, 30]))
        piece = rng.choice(
            [b"", bytes(changed[first:last]) * 2, bytes([rng.randrange(256)]), b"\n", b"[", b"1e9"]
        )
        changed[first:last] = piece
    return bytes(changed)


def of_lines(data: bytes, rng: Random) -> bytes:
    """Changes of a text of lines: fields are replaced, lines are moved and doubled."""
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(rng.choice([1, 1, 2, 4])):
        place = rng.randrange(len(lines))
        word = str(rng.choice(ODD))
        match rng.randrange(5):
            case 0:
                lines[place] = word
            case 1:
                lines.insert(place, lines[rng.randrange(len(lines))])
            case 2:
                fields = lines[place].split(",")
                fields[rng.randrange(len(fields))] = rng.choice(
                    [word, "1e400", "9" * 60, "1" + "\xa0" * 3000, "-1"]
                )
                lines[place] = ",".join(fields)
            case 3:
                lines[place] = near(lines[place] or "1", rng)
            case _ if len(lines) > 1:
                del lines[place]
    return "\n".join(map(str, lines)).encode("utf-8", "replace")


FOREIGN = ("/dev/zero", "/proc/self/mem", "/dev/full", "/nowhere/at/all", ".", "/proc/self/environ")
"""What a link of a stranger may lead to."""


def of_edits(documents: dict[str, Any], files: Sequence[str]) -> Callable[[bytes, Random], bytes]:
    """Changes of a list of edits of a folder with these JSON documents and these files."""
    paths = {name: places(document) for name, document in documents.items()}
    words = sorted({str(path[-1]) for found in paths.values() for path in found})

    def edit(rng: Random) -> list[Any]:
        name = rng.choice([*documents, *documents, *documents, *files])
        if name in documents:
            path = [*rng.choice(paths[name])]
            old = at(documents[name], path)
            value = rng.choice(
                [rng.choice(ODD), near(old, rng), at(documents[name], rng.choice(paths[name]))]
            )
            act = rng.choice(["put"] * 6 + ["remove", "link"])
            if rng.random() < 0.1:
                path[-1] = rng.choice(words)
            return {"put": [name, "put", path, value], "remove": [name, "remove", path]}.get(
                act, [name, "link", rng.choice(FOREIGN)]
            )
        return rng.choice(
            [
                [name, "bytes", rng.random(), rng.randbytes(rng.choice([1, 1, 4, 8])).hex()],
                [name, "cut", rng.random()],
                [name, "swap", rng.choice(files)],
                [name, "link", rng.choice(FOREIGN)],
                [name, "text", rng.choice(["", "{}", "[]", "null", '"\\ud800"', "[" * 3000, "\ud800"])],
            ]
        )

    def mutate(data: bytes, rng: Random) -> bytes:
        try:
            edits = json.loads(data)
            edits = edits if isinstance(edits, list) else []
        except (ValueError, RecursionError):
            edits = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            if edits and rng.random() < 0.35:
                del edits[rng.randrange(len(edits))]
            else:
                edits.append(edit(rng))
        return json.dumps(edits[-12:]).encode()

    return mutate
