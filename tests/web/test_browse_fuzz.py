"""Whatever is asked of the browser: an answer, no fault of ours, and nothing from outside the store."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browsed import browser, filled
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from visitor import TestClient

    Target = tuple[TestClient, str, str]

SECRET = "what nobody may read"
API = ("results", "runs", "sets", "comparisons", "baselines", "compare", "history", "scenarios", "verdicts")
NAMES = (
    "scenario", "cell", "where", "kernel", "verdict", "tag", "since", "until", "lab", "valid", "set", "key",
    "sort", "limit", "offset", "base", "candidate", "metric", "scope", "by", "name",
)  # fmt: skip


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    place = tmp_path_factory.mktemp("browsed")
    (place / "secret").write_text(SECRET)
    (place / "store").mkdir()
    client = browser(filled(place / "store"))
    run = client.get("/api/runs").json()["runs"][0]["key"]
    comparison = client.get("/api/comparisons").json()["comparisons"][0]["digest"]
    return client, run, comparison


WORDS = st.one_of(
    st.sampled_from(
        ["stable", "next", "suite/start", "suite", "cc=cubic", "goodput_bps", "total", "1", "0", "-1", "yes",
         "worse", "2026", "2026-11-21", "time", "uml", "nightly", "%", "_", "'", '"; DROP TABLE runs; --',
         "../../secret", "/etc/passwd", "\0", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
         "9" * 30, "1e9", "NaN", "é", "x" * 5000]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)  # fmt: skip
QUERIES = st.lists(st.tuples(st.one_of(st.sampled_from(NAMES), WORDS), WORDS), max_size=4)
PARTS = st.lists(
    st.one_of(
        st.sampled_from(["..", ".", "", "%2e%2e", "..%2f..", "%00", "raw", "manifest.json", "secret", "%ff",
                         "%c0%ae", "record.zip", "files", "series", "report", "report.html", "~"]),
        WORDS.map(lambda word: quote(word, safe="")),
    ),
    max_size=6,
)  # fmt: skip


@settings(max_examples=80)
@given(path=st.sampled_from(API), query=QUERIES)
def test_any_query_is_answered(target: Target, path: str, query: list[tuple[str, str]]) -> None:
    client, _, _ = target
    for place in (f"/api/{path}", f"/{path}"):
        answer = client.get(place, params=query)
        assert answer.status_code < 500
        assert answer.status_code in (200, 303, 400, 404, 422)


@settings(max_examples=120)
@given(top=st.sampled_from(["runs", "comparisons", "api/runs", "static"]), parts=PARTS, known=st.booleans())
def test_any_path_is_answered_and_leads_nowhere_else(
    target: Target, top: str, parts: list[str], known: bool
) -> None:
    client, run, comparison = target
    key = comparison if top == "comparisons" else run
    middle = [key, "files"] if known and top == "runs" else [key] if known else []
    answer = client.get("/" + "/".join([top, *middle, *parts]))
    assert answer.status_code < 500
    assert SECRET.encode() not in answer.content
    assert b"root:" not in answer.content


TAGS = st.dictionaries(st.sampled_from(["kind", "digest", "tag", "act"]), WORDS)


@settings(max_examples=40)
@given(body=st.one_of(st.binary(max_size=80), TAGS))
def test_any_tag_is_answered(target: Target, body: bytes | dict[str, str]) -> None:
    client, _, _ = target
    for path in ("/tags", "/api/tags"):
        if isinstance(body, bytes):
            kinds = ("application/json", "application/x-www-form-urlencoded", "text/plain")
            answers = [client.post(path, content=body, headers={"content-type": kind}) for kind in kinds]
        else:
            answers = [client.post(path, json=body), client.post(path, data=body)]
        assert all(answer.status_code < 500 for answer in answers)
