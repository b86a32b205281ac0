"""`python -m pictures [NAME...] [--check]`: make the pictures, all of them or these; or say which are old."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pictures import made
from pictures.index import PICTURES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def main(words: list[str]) -> int:
    """Make what is named, or all; 1 where `--check` found something old, 2 where a name is none."""
    if words == ["--check"]:
        told = made.stale(PICTURES)
        print(*told, sep="\n", end="\n" if told else "")
        return 1 if told else 0
    unknown = set(words) - {picture.name for picture in PICTURES}
    if unknown:
        print(f"there is no picture {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    done: dict[Callable[[], Mapping[str, str]], Mapping[str, str]] = {}
    for picture in PICTURES:
        if words and picture.name not in words:
            continue
        if picture.make not in done:
            print(picture.name, file=sys.stderr)
            done[picture.make] = picture.make()
        made.note(picture, done[picture.make])
    made.write_said()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
