"""Who is let in, what is refused, what every answer carries."""

from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from visitor import HERE, visitor

from rushhour.errors import UsageError
from rushhour.web.section import Section
from rushhour.web.settings import Bounds, Settings, read_token

TOKEN = "correct-horse-battery"


async def echo(request: Request) -> Response:
    return JSONResponse({"size": len(await request.body())})


async def broken(_request: Request) -> Response:
    raise RuntimeError("a secret of the inside")


SECTIONS = [
    Section("Echo", "/echo", [Route("/echo", echo, methods=["GET", "POST"]), Route("/broken", broken)])
]


def test_every_answer_carries_the_headers_that_protect_it() -> None:
    client = visitor(sections=SECTIONS)
    for path in ("/echo", "/nothing", "/broken", "/static/report.css", "/"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]", "10.0.0.1:8080"])
def test_a_name_that_was_rebound_to_us_is_turned_away(host: str) -> None:
    answer = visitor(sections=SECTIONS).get("/echo", headers={"host": host})
    assert answer.status_code == 421
    assert "not called" in answer.json()["error"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "lab.example:80"]
)
def test_our_own_names_are_ours(host: str) -> None:
    client = visitor(Settings(names=("lab.example",)), sections=SECTIONS)
    assert client.get("/echo", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://["},
        {"origin": "http://[::1"},
        {"origin": "http://[x]"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_sites_page_cannot_make_us_work(headers: dict[str, str]) -> None:
    assert visitor(sections=SECTIONS).post("/echo", headers=headers).status_code == 403


def test_another_sites_page_can_lead_here_but_not_embed_us() -> None:
    client = visitor(sections=SECTIONS)
    there = {"sec-fetch-site": "cross-site"}
    assert client.get("/echo", headers=there | {"sec-fetch-dest": "document"}).status_code == 200
    for kind in ("image", "script", "iframe", "empty"):
        assert client.get("/echo", headers=there | {"sec-fetch-dest": kind}).status_code == 403


def test_our_own_page_and_a_program_can() -> None:
    client = visitor(sections=SECTIONS)
    assert client.post("/echo", content=b"12").json() == {"size": 2}
    assert client.post("/echo", headers={"origin": HERE, "sec-fetch-site": "same-origin"}).status_code == 200


def test_a_body_has_a_bound_whether_it_says_its_size_or_not() -> None:
    client = visitor(Settings(bounds=Bounds.parse(["body=10B"])), sections=SECTIONS)
    assert client.post("/echo", content=b"x" * 10).status_code == 200
    said = client.post("/echo", content=b"x" * 11)
    unsaid = client.post("/echo", content=(b"x" for _ in range(11)))
    assert (said.status_code, unsaid.status_code) == (413, 413)
    assert "10 bytes" in unsaid.json()["error"]


def test_a_fault_of_ours_tells_nothing_of_the_inside() -> None:
    client = visitor(sections=SECTIONS)
    page = client.get("/broken", headers={"accept": "text/html"})
    assert page.status_code == 500
    assert "secret" not in page.text
    assert "<h1>" in page.text
    assert "secret" not in client.get("/broken").text


def test_files_outside_the_folder_are_not_served() -> None:
    client = visitor(sections=SECTIONS)
    for name in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", ".hidden", "htmx/../../app.py", "", "htmx"):
        assert client.get(f"/static/{name}").status_code == 404, name
    script = client.get("/static/htmx/htmx.min.js")
    assert script.status_code == 200
    assert (
        client.get("/static/htmx/htmx.min.js", headers={"if-none-match": script.headers["etag"]}).status_code
        == 304
    )


def test_others_come_in_with_a_token_only() -> None:
    with pytest.raises(UsageError, match="can be reached by others"):
        Settings("0.0.0.0")
    client = visitor(Settings("0.0.0.0", TOKEN), sections=SECTIONS)
    assert client.get("/echo").status_code == 401
    assert client.get("/echo").headers["www-authenticate"] == "Bearer"
    assert client.get("/echo", headers={"authorization": "Bearer wrong-horse-battery"}).status_code == 401
    assert client.get("/echo", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/static/report.css").status_code == 200
    assert client.get("/health").text == "ok\n"


def test_a_browser_logs_in_and_comes_back_to_where_it_was_going() -> None:
    client = visitor(Settings(token=TOKEN), sections=SECTIONS)
    sent = client.get("/echo?a=1&b=2", headers={"accept": "text/html"})
    assert sent.status_code == 303
    page = client.get(sent.headers["location"])
    assert 'value="/echo?a=1&amp;b=2"' in page.text
    wrong = client.post("/login", data={"token": "nonsense", "next": "/echo?a=1"})
    assert wrong.status_code == 401
    assert "That is not the token" in wrong.text
    right = client.post("/login", data={"token": TOKEN, "next": "/echo?a=1"})
    assert (right.status_code, right.headers["location"]) == (303, "/echo?a=1")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert TOKEN not in cookie
    assert client.get("/echo").status_code == 200


@pytest.mark.parametrize(
    "there", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:1", "x"]
)
def test_the_login_sends_nobody_to_another_site(there: str) -> None:
    client = visitor(Settings(token=TOKEN), sections=SECTIONS)
    assert client.post("/login", data={"token": TOKEN, "next": there}).headers["location"] == "/"


def test_a_token_is_long_enough_to_be_one(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("  short \n")
    with pytest.raises(UsageError, match="16 letters"):
        read_token(file)
    file.write_text(f"{TOKEN}\n")
    assert read_token(file) == TOKEN
    with pytest.raises(UsageError, match="No such file"):
        read_token(tmp_path / "none")
    assert TOKEN not in repr(Settings(token=TOKEN))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("flws=3", 'did you mean "flows"'),
        ("flows=0", "greater than or equal to 1"),
        ("rate=fast", "is not a rate"),
        ("duration", "is not a duration"),
    ],
)
def test_a_wrong_limit_is_explained(word: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        Bounds.parse([word])
    assert said in str(error.value)


def test_limits_are_put_over_the_defaults() -> None:
    bounds = Bounds.parse(["flows=3", "duration=10s"])
    assert (bounds.flows, bounds.duration.seconds) == (3, 10)
    assert bounds.rate == Bounds().rate
