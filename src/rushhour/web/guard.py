"""What every request passes before anything looks at it, and what every answer carries.

In this order: the `Host` header must be a name of this server (a page of another name that was rebound to our
address is turned away), a request that changes or costs something must not come from another site's page, the
visitor must have shown the token if there is one, and the body must not be larger than it may be.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from asyncio import CancelledError
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from rushhour.web.answers import RefusedError, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rushhour.web.section import Section
    from rushhour.web.settings import Settings

COOKIE = "rushhour"
OPEN = ("/login", "/static/", "/health")
"""What is given without a token."""
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Guard:
    """The middleware around the application."""

    def __init__(self, app: ASGIApp, settings: Settings, sections: Sequence[Section] = ()) -> None:
        self.app = app
        self.sections = sections
        self.settings = settings
        self.names = {name.lower() for name in _names(settings)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it with the reason why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        try:
            self._check(scope, headers)
        except RefusedError as error:
            await refusal(scope, error)(scope, receive, _with_headers(send))
            return
        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await _with_headers(send)(message)

        try:
            await self.app(scope, _measured(receive, self.settings.bounds.body.bytes), answer)
        except ClientDisconnect:
            return  # whoever asked has left before all was said: no fault, and nobody to be told
        except CancelledError:
            # Nobody cancels but the server, when it ends and has waited long enough for its answers.
            if not begun:
                ended = RefusedError(503, "the server ends", hint="try again when it is back")
                await refusal(scope, ended)(scope, receive, answer)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = _host(headers.get("host", ""))
        if host not in self.names and not (self._anywhere and _is_address(host)):
            raise RefusedError(
                421,
                f"this server is not called {host or 'nothing'!r}",
                hint="start it with --name, if it should be",
            )
        if scope["method"] not in SAFE:
            _check_origin(headers)
        elif headers.get("sec-fetch-site") == "cross-site":
            _check_destination(headers)
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > self.settings.bounds.body.bytes:
            raise _too_large(self.settings.bounds.body.bytes)
        if self.settings.token is not None and not scope["path"].startswith(OPEN):
            _check_token(scope, headers, self.settings.token)

    @property
    def _anywhere(self) -> bool:
        # With a token, by any address of this machine: a rebound name is no address.
        return not self.settings.loopback


def session(token: str) -> str:
    """What the cookie holds: proof that the token was shown, not the token."""
    return hmac.new(token.encode(), b"rushhour session", hashlib.sha256).hexdigest()


def same(given: str, wanted: str) -> bool:
    """Compare secrets in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(), wanted.encode())


def _names(settings: Settings) -> list[str]:
    own = [settings.host.strip("[]"), *settings.names]
    if settings.loopback:
        return [*own, "localhost", "127.0.0.1", "::1"]
    return [*own, socket.gethostname(), "localhost"]


def _host(header: str) -> str:
    """The name in a `Host` header, without port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_origin(headers: Headers) -> None:
    """Refuse what another site's page sends. Programs send neither header."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    foreign = origin is not None and _place(origin) != headers.get("host", "").lower()
    if foreign or site not in (None, "same-origin", "none"):
        raise RefusedError(
            403, "this was sent by a page of another site", hint="use the pages of this server"
        )


def _place(origin: str) -> str | None:
    """Host and port of an origin; None where the text is not an origin."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # a bracket that is never closed
        return None


def _check_destination(headers: Headers) -> None:
    """Another site may lead to our pages; as its picture or script they would only cost something."""
    if headers.get("sec-fetch-dest", "document") != "document":
        raise RefusedError(403, "this was asked for by a page of another site", hint="open it by itself")


def _check_token(scope: Scope, headers: Headers, token: str) -> None:
    word, _, given = headers.get("authorization", "").partition(" ")
    if word.lower() == "bearer" and same(given.strip(), token):
        return
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        cookie = None
    if cookie is not None and same(cookie.value, session(token)):
        return
    path, query = scope["path"], scope["query_string"].decode("latin-1")
    there = quote(f"{path}?{query}" if query else path, safe="")
    raise RefusedError(
        401,
        "this server asks for a token",
        hint="send it as `Authorization: Bearer TOKEN`, or open /login in a browser",
        login=f"/login?next={there}",
    )


def _too_large(most: int) -> RefusedError:
    return RefusedError(413, f"the request is larger than {most} bytes", hint="nothing here needs as much")


def _measured(receive: Receive, most: int) -> Receive:
    """Receive a body of no declared size, up to what it may have."""
    got = 0

    async def count() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            raise _too_large(most)
        return message

    return count


def _with_headers(send: Send) -> Send:
    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return add
