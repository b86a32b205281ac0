"""Histories of any shape in real git repositories, made in one go."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from rushhour.bisect.history import History


def make_history(folder: Path, parents: Sequence[Sequence[int]], subject: str = "commit") -> list[str]:
    """A bare repository with these commits, each by the places of its parents; gives their names."""
    git = ["git", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    lines = []
    for place, mine in enumerate(parents):
        lines += ["commit refs/heads/main", f"mark :{place + 1}"]
        lines += [f"committer A Person <a@example.org> {1767225600 + place} +0000"]
        text = f"{subject} {place}"
        lines += [f"data {len(text)}", text]
        if not mine and place:
            lines.insert(-4, "reset refs/heads/main\n")
        lines += [f"{'from' if k == 0 else 'merge'} :{parent + 1}" for k, parent in enumerate(mine)]
        lines += [f"M 100644 inline file{place}", f"data {len(str(place))}", str(place), ""]
    marks = folder / "marks"
    stream = "\n".join(lines).encode()
    subprocess.run([*git, "fast-import", "--quiet", f"--export-marks={marks}"], input=stream, check=True)
    rows = (row.split() for row in marks.read_text().splitlines())
    names = {int(mark[1:]): name for mark, name in rows}
    return [names[place + 1] for place in range(len(parents))]


def ancestors(parents: Sequence[Sequence[int]], place: int) -> set[int]:
    """Of one commit, itself among them."""
    found, going = set(), [place]
    while going:
        here = going.pop()
        if here not in found:
            found.add(here)
            going.extend(parents[here])
    return found


def history_of(folder: Path, parents: Sequence[Sequence[int]]) -> tuple[History, list[str]]:
    names = make_history(folder, parents)
    return History(folder), names


def line(length: int) -> list[list[int]]:
    """A history without branches."""
    return [[place - 1] if place else [] for place in range(length)]
