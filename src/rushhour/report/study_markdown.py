"""A study's report as Markdown: chapters, tables beside what was published, conclusions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.report.markdown import published, said, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.report.study import Section, Whole

MAX_ROWS = 48


def render(whole: Whole) -> str:
    """The report as text; the same records give the same text."""
    return "\n".join(_lines(whole)).rstrip() + "\n"


def _lines(whole: Whole) -> Iterator[str]:
    yield f"# {said(whole.title)}"
    for text in (whole.document, whole.summary):
        yield from ("", said(text)) if text else ()
    agreeing, measured = whole.tally
    if measured:
        yield ""
        yield f"{agreeing} of {measured} published values lie within the tolerance that their table states."
    for part in whole.parts:
        section = f" (section {said(part.chapter.section)})" if part.chapter.section else ""
        yield ""
        yield f"## {part.number} {said(part.chapter.title)}{section}"
        if part.chapter.text.strip():
            yield from ("", said(part.chapter.text))
        for one in part.sections:
            yield from ("", *_section(one))
        if part.chapter.conclusion.strip():
            yield from ("", f"**What came of it.** {said(part.chapter.conclusion)}")
    yield from ("", "## How to reproduce", "")
    yield from (f"* {said(what)}: `{command}`" for what, command in whole.commands)


def _section(section: Section) -> Iterator[str]:
    yield f"### {said(section.title)}"
    yield from ("", f"*{said(section.question)}*") if section.question else ()
    yield from ("", f"**{said(section.answer)}**") if section.answer else ()
    yield from ("", f"Changed: {said(' · '.join(section.changed))}.") if section.changed else ()
    yield ""
    yield f"{said(section.state)}{'; a quick look' if section.quick else ''}."
    for word, pairs in (("skipped", section.skipped), ("failed", section.failed)):
        yield from (f"* {word}, {said(cell)}: {said(reason)}" for cell, reason in pairs)
    yield from (f"* not as expected, {said(text)}" for text in section.unexpected[:20])
    for sheet in section.sheets:
        yield from ("", *published(sheet, level=4))
    if section.table is not None and not section.sheets and len(section.table.rows) <= MAX_ROWS:
        yield from ("", *table(section.table))
