"""Static files: scripts, styles and pictures of the package; the address changes with the content."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - starlette looks at the signature
from starlette.responses import Response

from rushhour.report.shell import FIGURES, PLOTS

if TYPE_CHECKING:
    from collections.abc import Sequence

# Files that reports carry inline serve here, too.
SHARED = {
    **{name.rpartition("/")[2]: name for name in (*PLOTS, *FIGURES)},
    "uPlot.min.css": "uplot/uPlot.min.css",
    "verdict.js": "verdict.js",
    "report.css": "report.css",
    "verdict.css": "verdict.css",
    "history.css": "history.css",
}
_KEPT = "public, max-age=31536000, immutable"


def address(name: str) -> str:
    """Where a file is found; another content has another address."""
    return f"/static/{name}?v={_read(name)[1]}"


def scripts(names: Sequence[str]) -> list[str]:
    """Where the scripts of reports are found."""
    return [address(name.rpartition("/")[2]) for name in names]


async def static(request: Request) -> Response:
    """One file."""
    name = request.path_params["name"]
    try:
        content, tag = _read(name)
    except (OSError, ValueError):
        raise HTTPException(404) from None
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {
        "etag": f'"{tag}"',
        "cache-control": _KEPT if request.query_params.get("v") == tag else "no-cache",
    }
    if request.headers.get("if-none-match") == f'"{tag}"':
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=kind)


@cache
def _read(name: str) -> tuple[bytes, str]:
    if name in SHARED:
        found = files("rushhour.report").joinpath(f"assets/{SHARED[name]}")
    elif all(part and not part.startswith(".") for part in name.split("/")):
        found = files("rushhour.web").joinpath(f"static/{name}")
    else:
        raise FileNotFoundError(name)
    content = found.read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:12]
