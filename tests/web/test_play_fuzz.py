"""Whatever is sent to the API, the answer is a status of its own and a sentence, never a fault of ours."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from visitor import TestClient, visitor

from rushhour.errors import UnsupportedError
from rushhour.lab.base import Job
from rushhour.web.play import section
from rushhour.web.play.setup import Setup, SetupFlow
from rushhour.web.settings import Bounds

JSON = {"content-type": "application/json"}
BOUNDS = Bounds.parse(["runs=1"])


class Nowhere:
    """A lab that runs nothing: what is sent is read, judged and planned, and comes as far as this."""

    name = "nowhere"

    def key(self, job: Job) -> str:
        return "0"

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        raise UnsupportedError("nothing runs here")

    def cancel(self) -> None:
        pass


@pytest.fixture(scope="module")
def client() -> TestClient:
    return visitor(sections=[section(BOUNDS, Nowhere)])


WORDS = st.one_of(
    st.sampled_from(
        ["1mbit", "10ms", "0s", "1bdp", "5%", "100%", "0%", "cubic", "fifo", "-1s", "1e9gbit", "0bit", "0B"]
    ),
    st.text(max_size=12),
)
VALUES = st.one_of(
    WORDS, st.none(), st.booleans(), st.integers(-1, 2**40), st.floats(allow_nan=False, allow_infinity=False)
)
FLOW_KEYS = st.one_of(st.sampled_from([*SetupFlow.model_fields]), st.text(max_size=5))
KEYS = st.one_of(st.sampled_from([*Setup.model_fields]), st.text(max_size=5))
FLOWS = st.one_of(st.lists(st.dictionaries(FLOW_KEYS, VALUES, max_size=4), max_size=3), VALUES)
DOCUMENTS = st.one_of(
    st.dictionaries(KEYS, VALUES, max_size=5),
    st.builds(lambda table, flow: table | {"flow": flow}, st.dictionaries(KEYS, VALUES, max_size=4), FLOWS),
    st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3), max_leaves=5),
)


@given(DOCUMENTS)
@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_answered_with_a_sentence(client: TestClient, document: Any) -> None:
    answer = client.post("/api/play", content=json.dumps(document), headers=JSON)
    assert answer.status_code == 422, answer.text
    assert len(answer.json()["error"]) > 3
    assert "Traceback" not in answer.text


@given(st.binary(max_size=60))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_answered(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/play", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


@given(st.lists(st.tuples(KEYS | st.just("pin"), WORDS), max_size=4))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_address_is_answered(client: TestClient, query: list[tuple[str, str]]) -> None:
    answer = client.get("/play/scenario.toml", params=query)
    assert answer.status_code in (200, 422), answer.text


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "text/plain", 415),
        (b"[" * 60_000, "application/json", 400),
        (b'{"seed": 1e999}', "application/json", 422),
        (b'{"rate": "\\ud800"}', "application/json", 400),
        (b'{"flow": [{"name": "\\ud800"}]}', "application/json", 400),
        (b'{"\\ud800": 1}', "application/json", 400),
        (b'{"rate": NaN}', "application/json", 422),
        (b" " * 70_000, "application/json", 413),
        (b'{"flow": [{"name": "<script>"}]}', "application/json", 422),
    ],
)
def test_what_is_no_request_is_refused(client: TestClient, body: bytes, kind: str, status: int) -> None:
    answer = client.post("/api/play", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"]


def test_other_methods_and_places(client: TestClient) -> None:
    assert client.get("/api/play").status_code == 405
    assert client.get("/api/kernels/none-of-this-name").status_code == 404
    assert client.get("/play/catalogue/none").status_code == 404
    assert client.get("/play/catalogue", params={"q": "no such words anywhere"}).status_code == 200
