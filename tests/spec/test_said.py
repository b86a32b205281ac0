"""What studies say that a document says: each sentence names the place where it says so."""

import re
from collections.abc import Iterator

import pytest

from rushhour.spec import catalogue, load_published, load_scenario, studies

OF_DOCUMENTS = ["giannoulatos", "giurgiu", "giurgiu-hosts", "its413", "mendicino", "tomasov"]
SCENARIOS = [item.name for name in OF_DOCUMENTS for item in studies()[name].scenarios]
STATEMENT = re.compile(r"[1-9]\d*(\.\d+)*[,:]")
SAYS = re.compile(
    r"\b(the|this) (report|thesis|document|authors?)('s \w+)?\b"
    r"|\b(his|he)\b",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"\b(sections?|tables?|figures?|listings?|chapters?|algorithms?|footnote|equation|appendix) [A\d]"
    r"|\(\d+(\.\d+)*[),;]"
)
# What a document does not say has no place in it.
SILENT = re.compile(r"\b(no|not|nothing|neither|nor|unknown|cannot)\b")


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?!])\s+(?=[A-Z])", " ".join(text.split()))


def texts(name: str) -> Iterator[str]:
    file = catalogue()[name]
    found = load_scenario(file)
    yield found.description
    comments = [line for line in file.file.read_text("utf-8").splitlines() if line.startswith("#")]
    yield " ".join(line.lstrip("# ") for line in comments)
    for table in load_published(file.published, found) if file.published else ():
        yield from (table.cause, table.guess, table.how)


def unplaced(text: str) -> list[str]:
    return [
        one
        for one in sentences(text)
        if SAYS.search(one) and not PLACE.search(one) and not SILENT.search(one)
    ]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_statement_of_a_document_begins_with_its_section(name: str) -> None:
    source = load_scenario(name).source
    assert source is not None
    assert [line for line in source.statements if not STATEMENT.match(line)] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_a_scenario_says_of_its_document_names_the_place(name: str) -> None:
    assert [one for text in texts(name) for one in unplaced(text)] == []


@pytest.mark.parametrize("name", OF_DOCUMENTS)
def test_what_a_study_says_of_its_document_names_the_place(name: str) -> None:
    about = studies()[name].load()
    assert about is not None
    chapters = [text for one in about.chapter for text in (one.text, one.conclusion)]
    assert [one for text in (about.summary, *chapters) for one in unplaced(text)] == []


def test_a_sentence_without_its_place_is_found() -> None:
    assert unplaced("It works. The thesis says that it does.") == ["The thesis says that it does."]
    assert unplaced("By section 4.1 the thesis says that it does. The report names no kernel.") == []
