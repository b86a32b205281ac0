"""A bisection in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FILES = 12


def told(document: Mapping[str, Any]) -> str:
    """What was found, for people."""
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    mark, cell = document["mark"], document["cell"]
    what = mark["name"] + (f" of {mark['scope']}" if mark["scope"] else "") + (f" in {cell}" if cell else "")
    answer = document["answer"]
    if answer is None:
        yield f"The first bad commit is one of {len(document['candidates'])}; the others could not be judged:"
        for commit in document["candidates"]:
            yield f"  {commit['hash'][:12]} {commit['subject']}"
        yield from _skipped(document)
        yield f"{what}: {document['metric']['words']}"
        yield "what does not build or run can be judged by hand; more commits of it: --good and --bad nearer"
    else:
        yield f"{answer['hash']} is the first bad commit"
        yield f"  {answer['subject']}"
        yield f"  {answer['author']}, {answer['date']}"
        yield from (f"    {name}" for name in answer["files"][:_FILES])
        if len(answer["files"]) > _FILES:
            yield f"    and {len(answer['files']) - _FILES} more"
        yield f"{what}: {document['metric']['words']}"
        if document.get("reason"):
            yield f"{document['verdict']}: {document['reason']}"
        if document.get("divergence"):
            yield document["divergence"]["sentence"]
    if document["others"]:
        shown = "; ".join(document["others"][:5])
        yield f"also between good and bad, not bisected: {shown}"
    page = "/verdict/report.html" if document.get("verdict") else ""
    steps = plural(len(document["steps"]), "step")
    yield f"{steps}, {document['elapsed_s']:.0f} s; {document['folder']}{page}"


def _skipped(document: Mapping[str, Any]) -> Iterator[str]:
    names = {commit["hash"] for commit in document["candidates"]}
    for step in document["steps"]:
        if step["decision"] == "skip" and step["commit"] in names:
            yield f"  {step['commit'][:12]} was skipped: {step['reason']}"
