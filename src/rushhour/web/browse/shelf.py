"""The database as the server has it: opened when first asked, and again when its file is another one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import StoreError
from rushhour.files import places
from rushhour.lab import clock
from rushhour.store import Store
from rushhour.store.connect import parse, shown

if TYPE_CHECKING:
    from rushhour.store import ComparisonRow, SetRow

# A page that waits longer than that for another program to finish says so.
WAIT_S = 5.0
_CHOICES_S = 10.0


class NothingStoredError(StoreError):
    """There is no database yet: nobody has stored anything."""


class Shelf:
    """The results database of a server, which may come later, go, and come back.

    `shown` is its path or URL without a password.
    """

    def __init__(self, where: str | None = None) -> None:
        self.where = where or places.database()
        self._url = parse(self.where)
        self.shown = shown(self._url)
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._choices: tuple[float, dict[str, list[str]]] = (float("-inf"), {})

    def store(self) -> Store:
        """The open database.

        Raises:
            NothingStoredError: it is not there yet.
            StoreError: it was there and is gone, or cannot be used.
        """
        with self._lock:
            found = self._identity()
            if self._store is None or found != self._file:
                self.close()
                self._store, self._file = Store.open(self.where, create=False, wait_s=WAIT_S), found
            return self._store

    def _identity(self) -> tuple[int, int] | None:
        """Which file it is: a database that was deleted and made again is another one."""
        url = self._url
        if url.drivername != "sqlite":
            return None
        try:
            facts = Path(str(url.database)).stat()
        except OSError as error:
            if self._store is None:
                raise NothingStoredError(
                    "there is no results database yet",
                    hint="store results in it: rushhour db import results/*/*",
                ) from error
            raise StoreError(
                "the results database is gone", hint="put it back, or import the result folders again"
            ) from error
        return facts.st_dev, facts.st_ino

    def close(self) -> None:
        """Close its connections; the next question opens it again."""
        if self._store is not None:
            self._store.close()
        self.changed()

    def choices(self) -> dict[str, list[str]]:
        """What can be filtered by, at most some seconds old."""
        store = self.store()
        at, known = self._choices
        if clock.monotonic() - at > _CHOICES_S:
            known = store.choices()
            self._choices = (clock.monotonic(), known)
        return known

    def changed(self) -> None:
        """What can be filtered by is another: this server has just written it."""
        self._choices = (float("-inf"), {})

    def set_of(self, digest: str) -> SetRow | None:
        """A result set by its digest."""
        return next(iter(self.store().sets(digest=digest, limit=1)), None)

    def comparison_of(self, digest: str) -> ComparisonRow | None:
        """A comparison by its digest."""
        return next(iter(self.store().comparisons(digest=digest, limit=1)), None)

    def thing(self, kind: object, digest: object) -> SetRow | ComparisonRow | None:
        """A set or comparison."""
        if not isinstance(digest, str):
            return None
        if kind == "set":
            return self.set_of(digest)
        return self.comparison_of(digest) if kind == "comparison" else None
