"""Tags: words that people give to result sets and comparisons."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from rushhour.web.answers import RefusedError

if TYPE_CHECKING:
    from starlette.requests import Request

    from rushhour.web.browse.shelf import Shelf

_TAG = re.compile(r"\w[\w.:+@/ -]{0,63}")
KEYS = ("kind", "digest", "tag", "act")


async def read(request: Request) -> dict[str, Any]:
    """What a form or a program sends: `kind`, `digest`, `tag`, `act` (`add`, `remove`).

    Raises:
        RefusedError: 400, it is neither; 415, of another type.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    body = await request.body()
    if kind == "application/x-www-form-urlencoded":
        try:
            form = parse_qs(body.decode(), max_num_fields=8)
        except ValueError as error:
            raise RefusedError(400, "the form cannot be read") from error
        return {name: values[0] for name, values in form.items()}
    if kind != "application/json":
        raise RefusedError(415, "a tag is given by a form or with Content-Type: application/json")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "the body is not JSON") from error
    if not isinstance(found, dict):
        raise RefusedError(400, "the body is not a table", hint='send {"kind": …, "digest": …, "tag": …}')
    return found


def change(shelf: Shelf, wanted: dict[str, Any]) -> str:
    """Add or remove a tag; the kind of what was changed.

    Raises:
        RefusedError: 404, there is no such thing; 422, this is not a tag.
    """
    tag, act = wanted.get("tag"), wanted.get("act", "add")
    if not isinstance(tag, str) or not _TAG.fullmatch(tag.strip()):
        raise RefusedError(
            422, "this is not a tag",
            hint="a tag has up to 64 letters, digits and . : + @ / _ - and spaces, and begins with a letter",
        )  # fmt: skip
    if act not in ("add", "remove"):
        raise RefusedError(422, f"{str(act)[:20]!r} cannot be done to a tag", hint="act is add or remove")
    thing = shelf.thing(wanted.get("kind"), wanted.get("digest"))
    if thing is None:
        raise RefusedError(
            404, "the set or comparison to be tagged is not stored", hint="kind is set or comparison"
        )
    store = shelf.store()
    (store.tag if act == "add" else store.untag)(thing, tag.strip())
    shelf.changed()
    return str(wanted["kind"])
