"""The playground's page, its files, and the API behind it."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.requests import Request  # noqa: TC002 - starlette looks at the signature
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rushhour import spec
from rushhour.errors import ScenarioError
from rushhour.lab import kernel as kernels
from rushhour.lab.confine import Limits
from rushhour.lab.uml import UmlLab
from rushhour.record.result_set import ResultSet
from rushhour.report import html
from rushhour.web.answers import RefusedError, document, faults, inline
from rushhour.web.play.borrow import borrowed, lenders
from rushhour.web.play.desk import Desk
from rushhour.web.play.offers import Offers
from rushhour.web.play.presets import PRESETS, preset
from rushhour.web.play.scenario import FILE, names, scenario, toml
from rushhour.web.play.setup import Setup, address, from_query, read
from rushhour.web.section import Section

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.record.record import Record
    from rushhour.web.answers import Pages
    from rushhour.web.settings import Bounds

GONE = 499  # nginx's word for a visitor who did not wait


def section(bounds: Bounds, make_lab: Callable[[], Lab] | None = None) -> Section:
    """The playground with these bounds; `make_lab` gives a lab for one run."""
    limits = Limits(timeout_s=bounds.seconds, stall_s=bounds.seconds)
    make_lab = make_lab or partial(UmlLab, limits)
    desk = Desk(bounds, make_lab)
    views = _Views(bounds, desk, Offers(make_lab, desk.pool))
    routes = [
        Route("/play", views.page),
        Route("/play/scenario.toml", views.file),
        Route("/play/report", views.report),
        Route("/play/catalogue", views.catalogue),
        Route("/play/catalogue/{name:path}", views.cells),
        Route("/api/play", views.play, methods=["POST"]),
        Route("/api/kernels", views.kernels),
        Route("/api/kernels/{name}", views.kernel),
    ]
    return Section(
        "Playground", "/play", routes, begin=views.desk.warm, stop=views.stop, end=views.desk.close
    )


class _Views:
    def __init__(self, bounds: Bounds, desk: Desk, offers: Offers) -> None:
        self.bounds = bounds
        self.desk = desk
        self.offers = offers

    def stop(self) -> None:
        """Cancel all runs and refuse new ones."""
        self.desk.stop()
        self.offers.stop()

    async def page(self, request: Request) -> Response:
        """The page, with the controls as the address says; its script asks for the run."""
        pages: Pages = request.app.state.pages
        fault, setup, pinned = None, Setup(), None
        try:
            setup = from_query(request.query_params)
            pin = request.query_params.get("pin")
            pinned = from_query(pin) if pin else None
        except ScenarioError as error:
            fault = faults(error)
        setup = _named(setup)
        offer = await asyncio.to_thread(self.offers.of, setup.kernel)
        state = {"setup": setup.document(), "pin": pinned and _named(pinned).document(), "fault": fault}
        return pages.page(
            "play.html",
            state=state | {"offer": offer.document(), "bounds": _said(self.bounds)},
            presets=PRESETS,
            look=preset(request.query_params.get("look", "")),
            kernels=_kernels(),
            offer=offer,
            setup=setup,
        )

    async def play(self, request: Request) -> Response:
        """Run an experiment; see docs/serve.md."""
        setup = _named(read(await _json(request)))
        running = asyncio.create_task(self.desk.ask(setup))
        leaving = asyncio.create_task(_left(request))
        try:
            await asyncio.wait((running, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                return Response(status_code=GONE)
            found, known = running.result()
        finally:
            running.cancel()
            leaving.cancel()
        about = {"setup": setup.document(), "names": names(setup), "query": address(setup)}
        return document(about | found.document | {"elapsed_s": found.elapsed_s, "cached": known})

    async def file(self, request: Request) -> Response:
        """The experiment as a scenario file."""
        setup = _named(from_query(request.query_params))
        scenario(setup, self.bounds)
        headers = {"content-disposition": f'attachment; filename="{FILE}"'}
        return PlainTextResponse(toml(setup), headers=headers, media_type="application/toml")

    async def report(self, request: Request) -> Response:
        """The whole report of the experiment, as `rushhour run` writes it."""
        setup = _named(from_query(request.query_params))
        text: str = await self.desk.made(setup, _report)
        return inline(text)

    async def catalogue(self, request: Request) -> Response:
        """The scenarios that can be borrowed and in whose words all words of `q` occur."""
        pages: Pages = request.app.state.pages
        every = await asyncio.to_thread(lenders, self.bounds)
        wanted = request.query_params.get("q", "")[:200].lower().split()
        found = [one for one in every if all(word in one.words for word in wanted)]
        return pages.page("catalogue.html", lenders=found, total=len(spec.catalogue()))

    async def cells(self, request: Request) -> Response:
        """The cells of one scenario."""
        pages: Pages = request.app.state.pages
        name = request.path_params["name"]
        if name not in spec.catalogue():
            raise RefusedError(404, f"the catalogue has no scenario {name[:64]!r}")
        found = await asyncio.to_thread(borrowed, name, self.bounds)
        return pages.page("cells.html", cells=found)

    async def kernels(self, _request: Request) -> Response:
        """The kernels that are built."""
        return document({"kernels": _kernels()})

    async def kernel(self, request: Request) -> Response:
        """What one kernel offers."""
        name = request.path_params["name"]
        if name not in (kernel["name"] for kernel in _kernels()):
            raise RefusedError(404, f"there is no kernel {name[:64]!r}", hint="GET /api/kernels names them")
        offer = await asyncio.to_thread(self.offers.of, name)
        return document(offer.document())


def _named(setup: Setup) -> Setup:
    """The setup with its kernel named, so that its address means the same tomorrow."""
    return setup if setup.kernel else setup.model_copy(update={"kernel": kernels.default().name})


def _kernels() -> list[dict[str, object]]:
    """Name, id and release of each built kernel, the newest of a name only, sorted by name."""
    newest = {one.name: one for one in reversed(kernels.installed()) if not _aside(one)}
    default = kernels.default().name
    return [
        {"name": one.name, "id": one.id, "release": one.release, "default": one.name == default}
        for _, one in sorted(newest.items())
    ]


def _aside(kernel: Kernel) -> bool:
    """Whether it was built for one purpose only, as a step of a bisection; or is being removed just now."""
    try:
        return bool(kernel.origin().get("aside"))
    except (OSError, ValueError):
        return True


def _report(record: Record) -> str:
    return html.render(ResultSet.open(record.path))


async def _json(request: Request) -> object:
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/json":
        raise RefusedError(415, "an experiment is asked for with Content-Type: application/json")
    try:
        found = json.loads(await request.body())
        # Half a surrogate pair is JSON, but no text that could be said back.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is not JSON: {error}") from error
    return found


async def _left(request: Request) -> None:
    """Return when the visitor has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _said(bounds: Bounds) -> dict[str, Any]:
    return {
        "flows": bounds.flows,
        "duration_s": bounds.duration.seconds,
        "rate_bps": bounds.rate.bps,
        "rtt_s": bounds.rtt.seconds,
        "packets": bounds.packets,
    }
