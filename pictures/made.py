"""What the pictures were made of: docs/images/made.json, which a test holds against the present files."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour import spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SIDECAR = IMAGES / "made.json"


DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_SAID = re.compile(r"(<!-- said: (\w+) -->)(.*?)(<!-- end -->)", re.DOTALL)
WIDTH = 120


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        name: How it is called on the command line; several may be made together under one name.
        make: Makes it, in `IMAGES`; gives what documents repeat of what it says, by name.
        pattern: Its file, below `IMAGES`.
        scenarios: The scenarios that it shows, by their names in the catalogue.
        files: What else it depends on, from the root of the repository.
    """

    name: str
    make: Callable[[], Mapping[str, str]]
    pattern: str
    scenarios: tuple[str, ...]
    files: tuple[str, ...] = ()

    @property
    def file(self) -> str | None:
        """The picture's file below `IMAGES`; None if it was never made."""
        return next((str(path.relative_to(IMAGES)) for path in IMAGES.glob(self.pattern)), None)


def inputs(scenarios: Iterable[str], files: Iterable[str] = ()) -> dict[str, str]:
    """The checksums of what a picture is made of: of a scenario what it says, of a file its bytes."""
    found = {f"scenario {name}": spec.load_scenario(name).sha256() for name in scenarios}
    return found | {name: digest(ROOT / name) for name in files}


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read() -> dict[str, Any]:
    """What is known: `pictures` (of each file its checksum and its inputs), `said` (words by name)."""
    empty: dict[str, Any] = {"pictures": {}, "said": {}}
    return dict(json.loads(SIDECAR.read_text("utf-8"))) if SIDECAR.is_file() else empty


def note(picture: Picture, said: Mapping[str, str]) -> None:
    """Keep what a picture that has just been made was made of."""
    known, name = read(), picture.file
    assert name is not None, f"{picture.pattern} was not made"
    entry = {"sha256": digest(IMAGES / name), "from": inputs(picture.scenarios, picture.files)}
    known["pictures"][name] = entry
    known["said"] |= said
    # Of pictures that are no longer there nothing is kept.
    known["pictures"] = {one: known["pictures"][one] for one in known["pictures"] if (IMAGES / one).is_file()}
    SIDECAR.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def stale(pictures: Iterable[Picture]) -> list[str]:
    """What is not as it was made, or was made of something else than there is now, in words."""
    known, told = read(), []
    for picture in pictures:
        name = picture.file
        was = known["pictures"].get(name)
        if name is None or was is None:
            told.append(f"{picture.pattern} was never made: make pictures")
            continue
        if digest(IMAGES / name) != was["sha256"]:
            told.append(f"{name} is another file than was made: make pictures")
        entry = inputs(picture.scenarios, picture.files)
        told += [
            f"{name} was made of another {what}" for what in entry if was["from"].get(what) != entry[what]
        ]
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        if renewed(text, known["said"]) != text:
            told.append(f"{path.relative_to(ROOT)} repeats something else than was measured")
    return told


def write_said() -> None:
    """Put what was measured where documents repeat it."""
    said = read()["said"]
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        if (new := renewed(text, said)) != text:
            path.write_text(new, "utf-8")


def renewed(text: str, said: Mapping[str, str]) -> str:
    """A document with what is said between its marks `<!-- said: NAME -->` and `<!-- end -->`.

    What stands on lines of its own is broken at `WIDTH` and keeps its margin.
    """

    def put(found: re.Match[str]) -> str:
        begin, name, old, end = found.groups()
        if name not in said:
            return found[0]
        if "\n" not in old:
            return f"{begin}{said[name]}{end}"
        lines = old.strip("\n").split("\n")
        margin = lines[0][: len(lines[0]) - len(lines[0].lstrip(" >"))]
        new = textwrap.fill(said[name], WIDTH, initial_indent=margin, subsequent_indent=margin)
        before, after = old[: len(old) - len(old.lstrip("\n"))], old[len(old.rstrip()) :]
        return f"{begin}{before}{new}{after}{end}"

    return _SAID.sub(put, text)
