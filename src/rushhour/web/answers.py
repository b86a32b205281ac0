"""Answers: pages from templates, documents as JSON, and errors as either, each with a sentence.

Who asks for a page gets a page, who asks for data gets data; nobody gets a traceback.
"""

from __future__ import annotations

import json
import re
from functools import cache
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rushhour.errors import (
    AgentError,
    KernelError,
    LabError,
    PlanError,
    RushHourError,
    ScenarioError,
    StoreError,
)
from rushhour.report.shell import FIGURES, PLOTS
from rushhour.version import __version__
from rushhour.web.static import address, scripts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import Scope

    from rushhour.web.section import Section

_META = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]+)"')
# The first that fits: what the visitor asked for makes no sense, or what we did went wrong.
_STATUS = {AgentError: 422, PlanError: 422, KernelError: 422, LabError: 500, StoreError: 503}
_WORDS = {404: "there is nothing here", 405: "this is not done this way"}


class RefusedError(Exception):
    """A request that is not carried out: status, sentence, what to do; `login` is where a browser is sent."""

    def __init__(
        self, status: int, message: str, *, hint: str | None = None, login: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.login = login


class Pages:
    """The templates of all sections, with the navigation in every page."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections

    def page(self, name: str, *, status: int = 200, **values: Any) -> Response:
        """A page from a template."""
        text = _environment().get_template(name).render(sections=self.sections, **values)
        return HTMLResponse(text, status)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rushhour.web", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {
        "static": address,
        "plots": scripts(PLOTS),
        "drawing": scripts(FIGURES),
        "version": __version__,
    }
    environment.filters["data"] = data
    return environment


def data(value: Any) -> str:
    """JSON that is safe inside a script element of type application/json."""
    # Only "</script" and "<!--" could end the text early.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def document(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON document."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, "application/json")


def inline(text: str) -> Response:
    """A page with its scripts and styles inside, and a policy that allows their hashes."""
    policy = _META.search(text)
    assert policy is not None, "a report has a policy of its own"
    return HTMLResponse(text, headers={"content-security-policy": policy[1].replace("&#39;", "'")})


def refusal(scope: Scope, error: RefusedError) -> Response:
    """The answer to a refused request: the login for a browser, else JSON."""
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    if error.login and scope["method"] == "GET" and b"text/html" in accepted:
        return RedirectResponse(error.login, 303)
    return _said(error.status, error.message, error.hint)


async def on_error(request: Request, error: Exception) -> Response:
    """An error as the visitor gets it."""
    status, message, hint = told(error)
    if wants_page(request):
        pages: Pages = request.app.state.pages
        return pages.page("error.html", status=status, code=status, message=message, hint=hint)
    said = faults(error) if isinstance(error, ScenarioError) else {}
    return _said(status, message, hint, said)


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page, and not a script for data."""
    wanted = request.headers.get("accept", "")
    return "text/html" in wanted and not request.url.path.startswith("/api/")


def told(error: Exception) -> tuple[int, str, str | None]:
    """Status, sentence and advice of an error."""
    if isinstance(error, RefusedError):
        return error.status, error.message, error.hint
    if isinstance(error, HTTPException):
        return error.status_code, _WORDS.get(error.status_code, str(error.detail)), None
    if isinstance(error, ScenarioError):
        return 422, _sentence(error), error.faults[0].hint
    if isinstance(error, RushHourError):
        status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 400)
        failed = "the run failed: " if status == HTTPStatus.INTERNAL_SERVER_ERROR else ""
        return status, failed + error.message, error.hint
    return 500, "this should not have happened; the server's terminal says more", None


def faults(error: ScenarioError) -> dict[str, Any]:
    """Every fault of a scenario, by its key, and all in a sentence."""
    listed = [{"key": fault.key, "message": fault.message, "hint": fault.hint} for fault in error.faults]
    return {"error": _sentence(error), "hint": error.faults[0].hint, "faults": listed}


def _sentence(error: ScenarioError) -> str:
    # Where they stand in the file that nobody has seen is of no use here.
    parts = (f"{fault.key}: {fault.message}" if fault.key else fault.message for fault in error.faults)
    return "; ".join(parts)


def _said(
    status: int, message: str, hint: str | None, more: Mapping[str, Any] = MappingProxyType({})
) -> Response:
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "2"}}.get(status)
    return document({"error": message, "hint": hint or None} | dict(more), status, headers)
