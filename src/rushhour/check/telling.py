"""A check in words: what differs, what executes it, what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.packetdrill.comparing import WORDS
from rushhour.packetdrill.telling import changed
from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.check.change import Change
    from rushhour.check.reach import Reach
    from rushhour.packetdrill.pairs import Compared

RANK = {word: place for place, word in enumerate((*reversed(ORDER), "unexercised", "broken"))}
"""How bad a word is: the larger, the worse."""
# What packetdrill's words (docs/packetdrill.md) are here.
_OF_SCRIPTS = {"departs": "worse", "skipped": "invalid"}
RANK["unexercised"] = RANK["inconclusive"]
RANK["broken"] = RANK["worse"]
_MOST_LINES = 6
_MOST_FUNCTIONS = 8


def differing(change: Change, reached: Reach) -> list[dict[str, Any]]:
    """The files of a change, as JSON values: what differs, and how many cells execute each function."""
    return [
        {
            "path": one.path, "kind": one.kind, "lines": {"old": list(one.old), "new": list(one.new)},
            "outside": one.outside, "compiled": reached.compiled.get(one.path),
            "unexecuted": list(reached.never.get(one.path, ())),
            "functions": {name: reached.cells(one.path, name) for name in one.functions},
        }
        for one in change.files
    ]  # fmt: skip


def files(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of a terminal: a file, its functions, the cells that execute them."""
    for one in entries[:_MOST_LINES]:
        yield f"{one['path']}: {_file(one)}"
    if len(entries) > _MOST_LINES:
        yield f"and {len(entries) - _MOST_LINES} more files"


def _file(one: Mapping[str, Any]) -> str:
    functions = [_function(name, cells) for name, cells in one["functions"].items()]
    words = functions[:_MOST_FUNCTIONS]
    if len(functions) > _MOST_FUNCTIONS:
        words.append(f"{len(functions) - _MOST_FUNCTIONS} more functions")
    if one["outside"]:
        words.append("declarations" if words else "only declarations, macros or comments")
    if one["compiled"] is False:
        return "not compiled into the laboratory's kernel"
    return ", ".join(words) or {"added": "new", "removed": "gone"}.get(one["kind"], "changed")


def _function(name: str, cells: int | None) -> str:
    if cells is None:
        return name
    return f"{name} (executed by {_count(cells, 'cell') if cells else 'no cell'})"


def worst(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The worst cell of a verdict's document, if it is not the same: which, and why."""
    for cell in document["cells"][:1]:
        if cell["verdict"] != "same":
            return {key: cell[key] for key in ("scenario", "label", "verdict", "reason", "guards")}
    return None


def scripts(made: Compared) -> dict[str, Any]:
    """What came of packetdrill's scripts, as JSON values; `worst` is told of the worst that changed."""
    told = [lines for word in WORDS for one in made.changes if one.word == word and (lines := changed(one))]
    word = made.document["verdict"]
    return {
        "verdict": _OF_SCRIPTS.get(word, word), "exit": made.document["exit"],
        "headline": made.report.headline, "counts": made.document["counts"],
        "worst": "\n".join(told[0]).splitlines() if told else [],
    }  # fmt: skip


def with_scripts(found: Mapping[str, Any], drilled: Mapping[str, Any]) -> dict[str, Any]:
    """What the cells said and what the scripts say, together: as the worse of both.

    Where no cell executes the change, scripts that go otherwise do.
    """
    mine, theirs = found["verdict"], drilled["verdict"]
    decides = theirs != "same" if mine == "unexercised" else RANK[theirs] > RANK[mine]
    both = {"verdict": theirs, "exit": drilled["exit"]} if decides else {}
    return {**both, "packetdrill": {**drilled, "decides": decides}}


def commit(found: Mapping[str, Any]) -> str:
    """What came of a commit, in a sentence."""
    said = _sentence(found)
    if drilled := found.get("packetdrill"):
        said = _of_scripts(drilled) if drilled["decides"] else f"{said} packetdrill: {drilled['headline']}."
    for name, complained in found.get("sanitizers", {}).items():
        if complained["verdict"] == "worse":
            said = f"Worse: {name} complains: {_worst(complained)}"
        else:
            said += f" Nothing found by {name} in {_count(complained['cells'], 'cell')}."
    return said


def _of_scripts(drilled: Mapping[str, Any]) -> str:
    """The sentence where the scripts decide: the worst one, and where it parts first."""
    first = ", ".join(line.rstrip(":") for line in drilled["worst"][:2]) or "no script could run"
    return f"{drilled['verdict'].capitalize()}: packetdrill: {first}; {drilled['headline']}."


def _sentence(found: Mapping[str, Any]) -> str:
    verdict = found["verdict"]
    if verdict == "broken":
        return f"It does not build: {_first_fault(found['reason'])}"
    if found.get("image") == "same":
        silent = "nothing of it is ever compiled."
        return f"Same: {silent if found.get('silent') else 'it compiles to the same image, bit for bit.'}"
    if verdict == "unexercised":
        return f"Nothing here was exercised: no cell executes {_unexercised(found)}."
    if found["differ"] == 0:
        return f"Same: all {_count(found['cells'], 'cell')} are equal to the byte.{_never(found)}"
    of = f"{found['differ']} of {_count(found['cells'], 'cell')} differ"
    if verdict in ("same", "better"):
        matters = ", none in what matters" if verdict == "same" else ""
        return f"{verdict.capitalize()}: {of} from the base{matters}."
    left = found["planned"] - found["cells"]
    rest = f" {_count(left, 'cell')} did not run any more." if left > 0 else ""
    return f"{verdict.capitalize()}: {_worst(found)}; {of}.{rest}"


def _worst(found: Mapping[str, Any]) -> str:
    one = found.get("worst")
    if not one:
        return "no cell could be compared"
    return f"{one['scenario']}{', ' + one['label'] if one['label'] else ''}: {one['reason']}".rstrip(".")


def _never(found: Mapping[str, Any]) -> str:
    """Which lines of the base that differ no cell executes, though others are executed."""
    said = [f"{one['path']}:{spans(one['unexecuted'])}" for one in found["change"] if one["unexecuted"]]
    return f" No cell executes {'; '.join(said[:_MOST_LINES])} of the base." if said else ""


def _unexercised(found: Mapping[str, Any]) -> str:
    said = []
    for one in found["change"]:
        if one["compiled"] is False:
            said.append(f"{one['path']} (not compiled)")
            continue
        names = ", ".join(name for name, cells in one["functions"].items() if not cells)
        lines = spans(one["lines"]["new"] or one["lines"]["old"])
        said.append(f"{names + ' in ' if names else ''}{one['path']}:{lines}")
    return "; ".join(said[:_MOST_LINES]) or "anything of it"


def spans(lines: Sequence[int]) -> str:
    """Numbers as spans: `3-5,9`."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ",".join(str(one) if one == other else f"{one}-{other}" for one, other in found)


def _first_fault(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "no reason given")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def whole(document: Mapping[str, Any]) -> str:
    """What came of all commits, in a sentence."""
    commits = document["commits"]
    if len(commits) == 1:
        return str(commits[0]["sentence"])
    kinds = {word: sum(one["verdict"] == word for one in commits) for word in RANK}
    counts = ", ".join(f"{count} {word}" for word, count in kinds.items() if count)
    first = next(one for one in commits if one["verdict"] == document["verdict"])
    at = f"; the first that is: {first['commit'][:12]} {first['subject']}" if document["exit"] else ""
    return f"{document['verdict'].capitalize()}: {_count(len(commits), 'commit')}, {counts}{at}."


def mail(document: Mapping[str, Any], who: str) -> str:
    """Lines for a reply on a mailing list, with the tag if nothing speaks against it."""
    lines = []
    for one in document["commits"]:
        lines += [f'{one["commit"][:12]} ("{one["subject"]}")', f"  {one['sentence']}"]
        touched = [name for entry in one["change"] for name in entry["functions"]]
        if touched:
            lines.append(f"  Functions changed: {', '.join(touched[:_MOST_FUNCTIONS])}.")
    lines.append(f"Rush Hour {document['rushhour']}, virtual time, against {document['base'][:12]}.")
    if document["exit"] == 0:
        lines += ["", f"Tested-by: {who}"]
    return "\n".join(lines) + "\n"
