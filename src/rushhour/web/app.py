"""The application: sections, static files and errors, behind the guard."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - starlette looks at the signature
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rushhour.errors import RushHourError
from rushhour.web import browse, play
from rushhour.web.answers import Pages, RefusedError, on_error
from rushhour.web.guard import Guard
from rushhour.web.login import ROUTE as LOGIN
from rushhour.web.settings import Settings
from rushhour.web.static import static

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from rushhour.web.section import Section


def create(settings: Settings | None = None, sections: Sequence[Section] | None = None) -> Guard:
    """The application.

    Args:
        settings: Where it listens, who may come in, what may be asked of it.
        sections: What it shows; by default everything.
    """
    settings = settings or Settings()
    shown = list(sections) if sections is not None else _sections(settings)
    routes = [Route("/", _start), Route("/health", _health), Route("/static/{name:path}", static), LOGIN]
    app = Starlette(
        routes=[*routes, *(route for section in shown for route in section.routes)],
        exception_handlers=dict.fromkeys((HTTPException, RefusedError, RushHourError, Exception), on_error),
        lifespan=_lifespan,
    )
    app.state.settings = settings
    app.state.sections = shown
    app.state.pages = Pages(shown)
    # Outermost, so that what it adds is in every answer, also in those to faults of ours.
    return Guard(app, settings, shown)


def _sections(settings: Settings) -> list[Section]:
    return [play.section(settings.bounds), browse.section(settings.database)]


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    sections: list[Section] = app.state.sections
    for section in sections:
        if section.begin is not None:
            section.begin()
    try:
        yield
    finally:
        for section in sections:
            if section.end is not None:
                section.end()


async def _start(request: Request) -> Response:
    sections: list[Section] = request.app.state.sections
    return RedirectResponse(sections[0].path, 303)


async def _health(_request: Request) -> Response:
    return PlainTextResponse("ok\n")
