"""The pages of the browser and the API: both are made of the same values."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request  # noqa: TC002 - starlette looks at the signature
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from rushhour.web.answers import RefusedError, document, inline
from rushhour.web.browse import history, lists, run, sets, tags, verdicts, versus
from rushhour.web.browse.asked import Asked, asked
from rushhour.web.browse.files import content, zipped
from rushhour.web.browse.glance import spark
from rushhour.web.browse.shelf import NothingStoredError, Shelf
from rushhour.web.section import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from rushhour.web.answers import Pages

    Values = Callable[..., dict[str, object]]

_KINDS = {".json": "application/json", ".log": "text/plain; charset=utf-8"}
_SAFE = re.compile(r"[^A-Za-z0-9._-]+")


def section(where: str | None = None) -> Section:
    """The browser of a database; by default the one that `RUSHHOUR_DB` names, or the user's own."""
    views = _Views(Shelf(where))
    routes = [
        *views.both("/results", lists.news, (), "news.html"),
        *views.both("/runs", lists.runs, lists.RUNS, "runs.html", also=views.runs_page),
        *views.both("/sets", lists.sets, lists.SETS, "sets.html"),
        *views.both("/comparisons", lists.comparisons, lists.COMPARISONS, "comparisons.html"),
        *views.both("/baselines", lists.baselines, (), "baselines.html"),
        Route("/compare", views.versus),
        Route("/api/compare", partial_api(views, versus.document, versus.NAMES)),
        Route("/compare/report", views.compared_report),
        Route("/history", views.history),
        Route("/api/history", partial_api(views, lists.history, lists.HISTORY)),
        Route("/api/scenarios", partial_api(views, lists.scenarios, lists.PAGED)),
        Route("/api/verdicts", partial_api(views, lists.verdicts, lists.VERDICTS)),
        Route("/runs/{key}", views.run),
        Route("/api/runs/{key}", views.run_document),
        Route("/runs/{key}/series", views.series),
        Route("/runs/{key}/report", views.report),
        Route("/runs/{key}/spark.svg", views.spark),
        Route("/sets/{digest}/report", views.set_report),
        Route("/runs/{key}/record.zip", views.archive),
        Route("/runs/{key}/files/{name:path}", views.file),
        Route("/comparisons/{digest}", views.comparison),
        Route("/api/comparisons/{digest}", views.comparison_document),
        Route("/comparisons/{digest}/{name}", views.stored),
        Route("/tags", views.tag, methods=["POST"]),
        Route("/api/tags", views.tag, methods=["POST"]),
    ]
    return Section("Results", "/results", routes, end=views.shelf.close)


def partial_api(views: _Views, values: Values, names: Collection[str]) -> Callable[..., Any]:
    """What answers with a document."""

    async def api(request: Request) -> Response:
        return document(await views.ask(values, asked(request.query_params, names)))

    return api


class _Views:
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    async def ask(self, values: Values, *words: Any) -> dict[str, Any]:
        """Ask the database, beside the loop."""
        return await asyncio.to_thread(values, self.shelf, *words)

    def both(
        self,
        path: str,
        values: Values,
        names: Collection[str],
        template: str,
        also: Callable[[Asked], dict[str, Any]] | None = None,
    ) -> list[Route]:
        """A page, and the API's document of the same values."""

        async def page(request: Request) -> Response:
            words = asked(request.query_params, names)
            try:
                found = await self.ask(values, words)
                more = await asyncio.to_thread(also, words) if also else {}
            except NothingStoredError:
                return self.nothing(request)
            return _pages(request).page(f"browse/{template}", **found, **more, asked=words)

        return [Route(path, page), Route(f"/api{path}", partial_api(self, values, names))]

    def nothing(self, request: Request) -> Response:
        """What is said while nothing is stored."""
        return _pages(request).page("browse/nothing.html", where=self.shelf.shown)

    def runs_page(self, words: Asked) -> dict[str, object]:
        """What the filters of the runs offer; of a set its figures."""
        digest = words.word("set")
        return {"choices": self.shelf.choices()} | (sets.page(self.shelf, digest) if digest else sets.NONE)

    async def set_report(self, request: Request) -> Response:
        """The report of a whole set."""
        return inline(await asyncio.to_thread(sets.report, self.shelf, request.path_params["digest"]))

    async def spark(self, request: Request) -> Response:
        """The small curve of a run."""
        key = _key(request)
        folder = await asyncio.to_thread(run.folder_of, self.shelf, key)
        drawn = await asyncio.to_thread(spark, folder, key)
        return Response(drawn, media_type="image/svg+xml", headers={"cache-control": "max-age=86400"})

    async def history(self, request: Request) -> Response:
        """Drawings of a metric over kernels or time."""
        words = asked(request.query_params, lists.HISTORY)
        try:
            found = await self.ask(history.values, words)
        except NothingStoredError:
            return self.nothing(request)
        return _pages(request).page("browse/history.html", **found, asked=words)

    async def versus(self, request: Request) -> Response:
        """Any two, compared."""
        words = asked(request.query_params, versus.NAMES)
        try:
            found = await self.ask(versus.values, words)
        except NothingStoredError:
            return self.nothing(request)
        return _pages(request).page("browse/versus.html", **found, asked=words)

    async def run(self, request: Request) -> Response:
        """One run."""
        key, words = _key(request), asked(request.query_params, ())
        found = await self.ask(run.run, words, key)
        record = await asyncio.to_thread(run.recorded, self.shelf, key)
        return _pages(request).page(
            "browse/run.html", **found | {"metrics": run.rows(found["metrics"])}, record=record, asked=words
        )

    async def run_document(self, request: Request) -> Response:
        """One run for a program."""
        words = asked(request.query_params, ())
        return document(await self.ask(run.run, words, _key(request)))

    async def series(self, request: Request) -> Response:
        """The curves of a run."""
        return PlainTextResponse(await asyncio.to_thread(run.series, self.shelf, _key(request)))

    async def report(self, request: Request) -> Response:
        """The report of a run."""
        return inline(await asyncio.to_thread(run.report, self.shelf, _key(request)))

    async def archive(self, request: Request) -> Response:
        """The record of a run as a zip file."""
        key = _key(request)
        folder = await asyncio.to_thread(run.folder_of, self.shelf, key)
        return _download(zipped(folder, key[:12]), f"{key[:12]}.zip", "application/zip")

    async def file(self, request: Request) -> Response:
        """One file of a record."""
        key, name = _key(request), request.path_params["name"]
        folder = await asyncio.to_thread(run.folder_of, self.shelf, key)
        pieces = content(folder, name)
        try:
            await asyncio.to_thread(next, pieces)
        except (FileNotFoundError, ValueError):
            raise RefusedError(404, "the record has no such file", hint=f"/runs/{key} lists them") from None
        kind = next((kind for end, kind in _KINDS.items() if name.endswith(end)), "application/octet-stream")
        return _download(pieces, name.rpartition("/")[2], kind)

    async def comparison(self, request: Request) -> Response:
        """One comparison."""
        words = asked(request.query_params, lists.CELLS)
        found = await self.ask(verdicts.comparison, words, request.path_params["digest"])
        return _pages(request).page("browse/comparison.html", **found, asked=words)

    async def comparison_document(self, request: Request) -> Response:
        """One comparison for a program."""
        words = asked(request.query_params, lists.CELLS)
        found = await self.ask(verdicts.comparison, words, request.path_params["digest"])
        return document({name: found[name] for name in found if name != "shown"})

    async def stored(self, request: Request) -> Response:
        """A file that the comparison wrote: its report, its document, its summary."""
        digest, name = request.path_params["digest"], request.path_params["name"]
        text, kind = await asyncio.to_thread(verdicts.stored, self.shelf, digest, name)
        return Response(text, media_type=kind, headers={"content-security-policy": verdicts.SANDBOX})

    async def compared_report(self, request: Request) -> Response:
        """The whole report of a comparison that was made just now."""
        words = asked(request.query_params, versus.NAMES)
        return inline(await asyncio.to_thread(versus.report, self.shelf, words))

    async def tag(self, request: Request) -> Response:
        """Add or remove a tag."""
        wanted = await tags.read(request)
        kind = await asyncio.to_thread(tags.change, self.shelf, wanted)
        if request.url.path.startswith("/api/"):
            return document({"done": True})
        digest = wanted["digest"]
        return RedirectResponse(f"/runs?set={digest}" if kind == "set" else f"/comparisons/{digest}", 303)


def _pages(request: Request) -> Pages:
    pages: Pages = request.app.state.pages
    return pages


def _key(request: Request) -> str:
    key: str = request.path_params["key"]
    if len(key) > 128 or not key.isascii() or not key.isprintable():
        raise lists.missing("run", "".join(letter for letter in key[:64] if letter.isprintable()))
    return key


def _download(pieces: Iterator[bytes], name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{_SAFE.sub("_", name)}"'}
    return StreamingResponse(iterate_in_threadpool(pieces), headers=headers, media_type=kind)
