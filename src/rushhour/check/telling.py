"""A check in words: what differs, what executes it, what came of it."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rushhour.packetdrill.comparing import WORDS
from rushhour.packetdrill.telling import changed
from rushhour.quantities.words import every, plural
from rushhour.record.document import read
from rushhour.record.verdict_file import ComparedCell
from rushhour.report.verdict.departure import departs
from rushhour.verdict.cell import KERNELS_FAULT
from rushhour.verdict.vocabulary import DEPARTS, ORDER
from rushhour.verdict.words import of_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.check.change import Change
    from rushhour.check.reach import Reach
    from rushhour.packetdrill.pairs import Compared
    from rushhour.verdict.judging import Verdict
    from rushhour.verdict.side import Side

RANK = {word: place for place, word in enumerate((*reversed(ORDER), "unexercised", "broken"))}
"""How bad a word is: the larger, the worse."""
# What packetdrill's words (docs/packetdrill.md) are here.
_OF_SCRIPTS = {"departs": "worse", "skipped": "invalid"}
RANK["unexercised"] = RANK["inconclusive"]
RANK["broken"] = RANK["worse"]
# In what kernels of the same code differ, by the entry that says so.
_SAME_CODE = {
    "numbers": "numbers of lines in warnings may differ",
    "configuration": "the text of the configuration in the image differs",
}
_OF_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* ")
_MOST_LINES = 6
_MOST_FUNCTIONS = 8


def differing(change: Change, reached: Reach) -> list[dict[str, Any]]:
    """The files of a change, as JSON values: what differs, and how many cells execute each function."""
    return [
        {
            "path": one.path, "kind": one.kind, "lines": {"old": list(one.old), "new": list(one.new)},
            "outside": one.outside, "code": one.code, "compiled": reached.compiled.get(one.path),
            "unexecuted": list(reached.never.get(one.path, ())),
            "unreached": list(reached.unreached.get(one.path, ())),
            **({"unused": True} if one.path in reached.unused else {}),
            **({"moved": one.moved, "alike": one.alike} if one.moved else {}),
            "functions": {name: reached.cells(one.path, name) for name in one.functions},
        }
        for one in change.files
    ]  # fmt: skip


def files(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of a terminal: a file, its functions, the cells that execute them."""
    told = [one for one in entries if not (one.get("moved") and one["kind"] == "removed")]  # by its new name
    for one in told[:_MOST_LINES]:
        yield f"{one['path']}: {_file(one)}"
    if (more := len(told) - _MOST_LINES) > 0:
        yield f"and {plural(more, 'more file')}"


def _file(one: Mapping[str, Any]) -> str:
    if moved := one.get("moved"):
        return f"was {moved}, {'with the same text' if one['alike'] else 'and is another text'}"
    if not one["code"]:
        return "only its mode" if _has_same_text(one) else "only comments and blank space"
    functions = [_function(name, cells) for name, cells in one["functions"].items()]
    words = functions[:_MOST_FUNCTIONS]
    if len(functions) > _MOST_FUNCTIONS:
        words.append(plural(len(functions) - _MOST_FUNCTIONS, "more function"))
    if one["outside"]:
        words.append("declarations" if words else "only declarations or macros")
    if one["compiled"] is False:
        return "not compiled into the laboratory's kernel"
    kind = {"added": "new", "removed": "gone"}.get(one["kind"], "")
    return ": ".join(filter(None, (kind, ", ".join(words)))) or "changed"


def _has_same_text(one: Mapping[str, Any]) -> bool:
    """Whether nothing but who may execute a file differs."""
    return one["kind"] == "changed" and not any(one["lines"].values())


def _function(name: str, cells: int | None) -> str:
    if cells is None:
        return name
    return f"{name} (executed by {plural(cells, 'cell') if cells else 'no cell'})"


def worst(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The worst cell of a verdict's document, if it is not the same: which, and why.

    One that merely departs stands for the others only where no user loses by any of them.
    """
    cells = document["cells"]
    if not cells or cells[0]["verdict"] == "same":
        return None
    alike = (cell for cell in cells if cell["verdict"] == cells[0]["verdict"])
    mere, one = min(
        ((departs(read(ComparedCell, cell, "verdict.json")), cell) for cell in alike), key=itemgetter(0)
    )
    return {key: one[key] for key in ("scenario", "label", "verdict", "reason", "guards")} | {DEPARTS: mere}


def start(made: Verdict) -> str:
    """Why the candidate does not even start, where the base runs; empty where it does, or nobody knows."""
    tried = list(made.candidate.trials())
    if made.verdict != "invalid" or any(trial.ran for trial in tried):
        return ""
    if not tried or tried[0].kind not in KERNELS_FAULT or not all(t.ran for t in made.base.trials()):
        return ""
    return of_failure(tried[0].error).removeprefix("the virtual kernel did not start: ")


def is_dead(side: Side) -> bool:
    """Whether a kernel ended, by itself, whatever it was started for."""
    tried = list(side.trials())
    return bool(tried) and not any(one.ran for one in tried) and tried[0].kind in KERNELS_FAULT


def scripts(made: Compared) -> dict[str, Any]:
    """What came of packetdrill's scripts, as JSON values; `worst` is told of the worst that changed."""
    told = [lines for word in WORDS for one in made.changes if one.word == word and (lines := changed(one))]
    word = made.document["verdict"]
    return {
        "verdict": _OF_SCRIPTS.get(word, word), "exit": made.document["exit"],
        "headline": made.report.headline, "counts": made.document["counts"],
        "worst": "\n".join(told[0]).splitlines() if told else [],
        "newer": sum(one.word == "skipped" and one.candidate.kind == "newer" for one in made.changes),
    }  # fmt: skip


def with_scripts(found: Mapping[str, Any], drilled: Mapping[str, Any]) -> dict[str, Any]:
    """What the cells said and what the scripts say, together: as the worse of both.

    Where no cell executes the change, scripts that go otherwise do.
    """
    mine, theirs = found["verdict"], drilled["verdict"]
    decides = theirs != "same" if mine == "unexercised" else RANK[theirs] > RANK[mine]
    both = {"verdict": theirs, "exit": drilled["exit"]} if decides else {}
    return {**both, "packetdrill": {**drilled, "decides": decides}}


def with_sanitizers(found: Mapping[str, Any], watched: Mapping[str, Any]) -> dict[str, Any]:
    """What the plain kernel said and what it says with sanitizers, together: as the worse of both."""
    word = watched["verdict"]
    decides = word in ("worse", "invalid") and RANK[word] > RANK[found["verdict"]]
    both = {"verdict": word, "exit": watched["exit"]} if decides else {}
    return {**both, "sanitizers": {**watched, "decides": decides}}


def commit(found: Mapping[str, Any]) -> str:
    """What came of a commit, in a sentence."""
    said = _sentence(found)
    if drilled := found.get("packetdrill"):
        said = _of_scripts(drilled) if drilled["decides"] else f"{said} packetdrill: {drilled['headline']}."
        said += _too_new(drilled.get("newer", 0))
    if watched := found.get("sanitizers"):
        said = _with_sanitizers(said, watched)
    return f"{said}{_against(found)}{_restored(found)}{_warned(found.get('warnings', ()))}"


def _against(found: Mapping[str, Any]) -> str:
    """What a commit was judged against, where it is not the one before."""
    if "against" not in found:
        return ""
    return f" It is judged against {found['against'][:12]}: what came between does not build, or start."


def _restored(found: Mapping[str, Any]) -> str:
    """That a commit only takes back what others of the series did."""
    earlier = found.get("restores")
    if not earlier:
        return ""
    which = f"{earlier['commit'][:12]}, the base" if earlier["base"] else earlier["commit"][:12]
    if earlier["whole"]:
        return f" It restores the kernel of {which}: against that nothing differs."
    return f" All that it changes is as at {which}, again."


def _warned(warnings: Sequence[str]) -> str:
    """What the compiler warns of, and did not before."""
    if not warnings:
        return ""
    more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
    return f" The compiler warns: {warnings[0]}{more}."


def _with_sanitizers(said: str, watched: Mapping[str, Any]) -> str:
    names, word = ", ".join(watched["names"]), watched["verdict"]
    told = {
        "worse": f"with {names}: {_worst(watched)}.",
        "invalid": f"with {names} nothing can be judged: {_worst(watched)}.",
        "common": f"with {names} the base does the same: {_worst(watched)}.",
    }.get(word, f"nothing found by {names} in {plural(watched['cells'], 'cell')}.")
    return f"{word.capitalize()}: {told}" if watched["decides"] else f"{said} {told[0].upper()}{told[1:]}"


def _too_new(scripts: int) -> str:
    """Why so many scripts say nothing, where an older packetdrill would let them speak."""
    if not scripts:
        return ""
    stay = f"{scripts} {'stays' if scripts == 1 else 'stay'} out"
    return f" {stay}: packetdrill is newer than the kernel (an older one: --source TREE@REVISION)."


def _of_scripts(drilled: Mapping[str, Any]) -> str:
    """The sentence where the scripts decide: the worst one, and where it parts first."""
    first = ", ".join(line.rstrip(":") for line in drilled["worst"][:2]) or "no script could run"
    return f"{drilled['verdict'].capitalize()}: packetdrill: {first}; {drilled['headline']}."


def _sentence(found: Mapping[str, Any]) -> str:
    verdict = found["verdict"]
    if verdict == "broken":
        return _broken(found)
    if found.get("image") == "same":
        return f"Same: {_unrun(found)}"
    if verdict == "unexercised":
        who = "nothing in the kernel calls" if _is_all_unused(found) else "no cell executes"
        return f"Nothing here was exercised: {who} {_unexercised(found)}."
    if found["differ"] == 0:
        return _equal(found)
    of = f"{found['differ']} of {plural(found['cells'], 'cell')} differ{'s' * (found['differ'] == 1)}"
    if verdict in ("same", "better"):
        better, same = f"{_worst(found)}; {of}", f"{of} from the base, none in what matters"
        told = better if verdict == "better" else same
        return f"{verdict.capitalize()}: {told}.{_idle(found.get('idle', 0))}"
    left = found["planned"] - found["cells"]
    rest = f" {plural(left, 'cell')} did not run any more." if left > 0 else ""
    return f"{word(found).capitalize()}: {_worst(found)}; {of}.{rest}"


def word(found: Mapping[str, Any]) -> str:
    """What a commit is called: a worse one of whose cells none is worse for users only departs."""
    return DEPARTS if _is_mere(found) else str(found["verdict"])


def _is_mere(found: Mapping[str, Any]) -> bool:
    decides = any(found.get(part, {}).get("decides") for part in ("packetdrill", "sanitizers"))
    return found["verdict"] == "worse" and not decides and bool((found.get("worst") or {}).get(DEPARTS))


def _broken(found: Mapping[str, Any]) -> str:
    if "starts" in found:
        why = str(found["reason"])
        said = why.removeprefix("the kernel complains, ")
        return f"It complains {said}." if said != why else f"It does not start: {why}."
    path = found.get("overlooked")
    here = f" {path} is here, but git ignores it (git add --force), or it is not committed." if path else ""
    return f"It does not build: {_first_fault(found['reason'])}{here}"


def _idle(cells: int) -> str:
    """Cells that did not have to run."""
    return f" {plural(cells, 'other cell')} cannot come to it." if cells else ""


def _equal(found: Mapping[str, Any]) -> str:
    """Every cell that ran is equal: how many, and what they do not tell."""
    cells, idle = found["cells"], found.get("idle", 0)
    which = f" that come{'s' * (cells == 1)} to it" if idle else ""
    all_of = f"the 1 cell{which} is" if cells == 1 else f"{every(cells, 'cell')}{which} are"
    same = f"Same: {all_of} equal to the byte."
    return f"{same}{_idle(idle)}{_never(found)}{_unknown(found)}{_objects(found.get('objects', ()))}"


def _objects(names: Sequence[str]) -> str:
    """What other code a header, a flag or an option makes."""
    if not names:
        return ""
    which = ", ".join(names) if len(names) <= _MOST_LINES else f"{len(names)} objects"
    return f" It makes other code of {which}."


def _unknown(found: Mapping[str, Any]) -> str:
    """C files of which nobody knows whether a cell executes them: that all are equal may say nothing."""
    paths = [one["path"] for one in found["change"] if one["compiled"] is None and one["path"].endswith(".c")]
    return f" Whether a cell executes {', '.join(paths[:_MOST_LINES])} is not known." if paths else ""


def _unrun(found: Mapping[str, Any]) -> str:
    """Why nothing had to run."""
    for key, rest in _SAME_CODE.items():
        if found.get(key):
            return f"it compiles to the same code; only {rest}."
    if not found.get("silent"):
        return "it compiles to the same image, bit for bit."
    if not found["change"]:
        return "nothing differs." if "against" in found else "nothing differs from the commit before."
    if all(one["code"] for one in found["change"]):
        return "nothing of it is ever compiled."
    if all(map(_has_same_text, found["change"])):
        return "only modes of files differ."
    return "only comments and blank space differ."


def _worst(found: Mapping[str, Any]) -> str:
    one = found.get("worst")
    if not one:
        return "no cell could be compared"
    return f"{one['scenario']}{', ' + one['label'] if one['label'] else ''}: {one['reason']}".rstrip(".")


def _never(found: Mapping[str, Any]) -> str:
    """Which lines of the base that differ no cell executes, though others are executed."""
    said = [f"{one['path']}:{spans(one['unexecuted'])}" for one in found["change"] if one["unexecuted"]]
    come = [f"{one['path']}:{spans(one['unreached'])}" for one in found["change"] if one.get("unreached")]
    never = f" No cell executes {'; '.join(said[:_MOST_LINES])} of the base." if said else ""
    return f"{never} No cell comes to the new {'; '.join(come[:_MOST_LINES])}." if come else never


def _is_all_unused(found: Mapping[str, Any]) -> bool:
    """Whether all code of a change lies there for nothing."""
    code = [one for one in found["change"] if one["compiled"] is not False]
    return bool(code) and all(one.get("unused") for one in code)


def _unexercised(found: Mapping[str, Any]) -> str:
    said = []
    for one in found["change"]:
        if one.get("unused") and not one["path"].endswith(".c"):
            continue  # it only builds, or declares, what the others have
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
    """The line that says why: the compiler's, the linker's, make's; not the one that says that it failed."""
    lines = [_OF_MAKE.sub("", line.strip()) for line in text.splitlines()]
    causes = [line for line in lines if "error" in line and not line.startswith("collect2:")]
    causes += [line for line in lines if "undefined reference" in line or "No rule to make" in line]
    ends = [line for line in lines if not line.endswith(":")]
    return next(iter([*causes, *ends, *lines]), "no reason given")


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
