"""A visitor of the server, without a socket."""

import warnings

with warnings.catch_warnings():
    # Starlette would have its own successor of httpx; httpx serves.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from rushhour.web.app import create
from rushhour.web.section import Section
from rushhour.web.settings import Settings

__all__ = ["HERE", "TestClient", "visitor"]

HERE = "http://127.0.0.1:8080"


def visitor(settings: Settings | None = None, *, sections: list[Section] | None = None) -> TestClient:
    """A client of a server with these settings; unexpected faults are answered, not raised."""
    app = create(settings or Settings(), sections)
    return TestClient(app, base_url=HERE, raise_server_exceptions=False, follow_redirects=False)
