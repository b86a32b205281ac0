"""The login page, where a visitor shows the token once and gets a cookie for it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request  # noqa: TC002 - starlette looks at the signature
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rushhour.web.guard import COOKIE, same, session

if TYPE_CHECKING:
    from rushhour.web.answers import Pages

WEEK_S = 7 * 24 * 3600


async def login(request: Request) -> Response:
    """The page, or the judgement of what was typed into it."""
    pages: Pages = request.app.state.pages
    token: str | None = request.app.state.settings.token
    there = _inside(request.query_params.get("next", "/"))
    if token is None:
        return RedirectResponse(there, 303)
    if request.method == "GET":
        return pages.page("login.html", next=there, wrong=False)
    form = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=8)
    there = _inside(form.get("next", ["/"])[0])
    if not same(form.get("token", [""])[0].strip(), token):
        return pages.page("login.html", status=401, next=there, wrong=True)
    answer = RedirectResponse(there, 303)
    answer.set_cookie(
        COOKIE,
        session(token),
        max_age=WEEK_S,
        httponly=True,
        samesite="lax",  # so that a link that somebody shared finds its reader logged in
        secure=request.url.scheme == "https",
    )
    return answer


ROUTE = Route("/login", login, methods=["GET", "POST"])


def _inside(address: str) -> str:
    """The address, if it is a path of this server; else the start."""
    parts = urlsplit(address) if address.isprintable() and "\\" not in address else None
    local = parts is not None and not parts.scheme and not parts.netloc
    return address if local and address.startswith("/") and not address.startswith("//") else "/"
