"""What the quick suite executes, as Markdown: the tables of docs/coverage.md.

Takes the shipped index and the list of what is never executed, gives the text between two marks.
"""

from __future__ import annotations

from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING

from rushhour.coverage import index_file, never, totals
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.coverage.index import Index
    from rushhour.coverage.never import Group, Never
    from rushhour.coverage.totals import Share

BEGIN = "<!-- rendered by docs/generate.py from the index and never.toml -->"
END = "<!-- end of what is rendered -->"


def shipped() -> Index:
    """The index of the quick suite that is part of the program."""
    with resources.as_file(resources.files("rushhour.coverage").joinpath("suite.json.xz")) as place:
        return index_file.read(place)


def within(page: str) -> str:
    """The page with its rendered part renewed.

    Raises:
        ValueError: its marks are not there, or not in this order.
    """
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{tables(shipped(), never.shipped())}\n{END}{after}"


def tables(index: Index, listed: Never) -> str:
    """A sentence, folders, the files of the list, and why functions of them are not executed."""
    parts = [
        _sentence(index),
        "| folder | lines | functions | branches |\n|---|---|---|---|",
        *(
            f"| `{one.name}` | {_share(one.lines)} | {_share(one.functions)} | {_share(one.branches)} |"
            for one, _ in totals.by_folder(index)
        ),
        "\nEach function of these files is executed, or stands below with its reason:\n",
        "| file | lines | functions | branches |\n|---|---|---|---|",
        *(_file(index, name) for name in listed.files if name in index.files),
        "\n| never executed | reason |\n|---|---|",
        *_reasons(listed),
    ]
    return "\n".join(parts) + "\n"


def _sentence(index: Index) -> str:
    cells = len(index.cells)
    whole = totals.together("", (one for one, _ in totals.by_folder(index)))
    return (
        f"Of {index.kernel.get('release', 'the kernel')} the quick suite's {plural(cells, 'cell')} "
        f"{'executes' if cells == 1 else 'execute'} "
        f"{_percent(whole.lines)} of the lines, {_percent(whole.functions)} of the functions and "
        f"{_percent(whole.branches)} of the branches:\n"
    )


def _file(index: Index, name: str) -> str:
    one = totals.of_file(index, index.files[name])
    functions = f"{one.functions.executed} of {one.functions.total}"
    return f"| `{name}` | {_percent(one.lines)} | {functions} | {_percent(one.branches)} |"


def _reasons(listed: Never) -> list[str]:
    """A row for each reason, with the functions of all files that have it."""
    groups = [(file, group) for file, groups in listed.files.items() for group in groups]

    def reason(one: tuple[str, Group]) -> str:
        return one[1].reason

    order = {text: number for number, text in reversed([*enumerate(map(reason, groups))])}
    ordered = sorted(groups, key=lambda one: order[reason(one)])
    return [
        f"| {'; '.join(_functions(file, group) for file, group in same)} | {text} |"
        for text, same in groupby(ordered, key=reason)
    ]


def _functions(file: str, group: Group) -> str:
    return f"{file.rpartition('/')[2]}: " + ", ".join(f"`{name}`" for name in group.functions)


def _share(part: Share) -> str:
    return f"{part.executed} of {part.total}, {_percent(part)}"


def _percent(part: Share) -> str:
    return f"{100 * part.fraction:.0f} %"
