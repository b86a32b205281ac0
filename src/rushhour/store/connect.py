"""Connections: from a path or URL to an engine whose errors are ours, and whose passwords are nobody's.

One writer at a time: SQLite takes its write lock when a transaction begins, PostgreSQL an advisory lock.
Whoever waits longer than `wait_s` is told so.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import create_engine, event, exc, inspect
from sqlalchemy.engine import URL, make_url

from rushhour.errors import StoreError, UsageError
from rushhour.extras import need
from rushhour.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

WAIT_S = 30.0
_CONNECT_S = 10
# An arbitrary number; whoever writes to the tables holds this advisory lock.
_WRITER = 0x72757368
_SECRETS = ("password", "sslpassword", "passfile")
_SCHEMES = {"sqlite": "sqlite", "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}

# By the names of SQLite's result codes: what it means, what to do.
_COPY = "restore a copy, or import the result folders into a new one"
_SQLITE = {
    "SQLITE_BUSY": ("another program is writing to it and did not finish", "give the command again"),
    "SQLITE_LOCKED": ("another program is writing to it and did not finish", "give the command again"),
    "SQLITE_READONLY": ("it cannot be written to", "name another with --db, or ask who owns it"),
    "SQLITE_FULL": ("the disk is full; nothing of this was stored", "make room and import again"),
    "SQLITE_NOTADB": ("this is no database", "name another file with --db"),
    "SQLITE_CORRUPT": ("the database is damaged", _COPY),
    "SQLITE_CANTOPEN": ("it cannot be opened", "is there such a folder, and may you write to it?"),
    "SQLITE_IOERR": ("it cannot be read or written", "is there space left? is the disk sound?"),
}
# By PostgreSQL's SQLSTATE, or the class that its first two digits are.
_POSTGRES = {
    "55P03": ("another program is writing to it and did not finish", "give the command again"),
    "53100": ("its disk is full; nothing of this was stored", "make room there and import again"),
    "25006": ("it takes no changes (a replica, or read-only)", "name the primary server"),
    "42501": ("this user may not do that", "ask for the right to create and change tables"),
    "57": ("the server was stopped, or ended the connection", "give the command again when it is back"),
}
_REFUSED = (
    "the server does not let this user in",
    "check user, password (PGPASSWORD, ~/.pgpass) and the name of the database (createdb makes one)",
)
_GONE = ("the server cannot be reached", "does it run, and is the address right?")


def parse(where: str | Path) -> URL:
    """The URL of a path (SQLite) or of a `postgresql://` word.

    Raises:
        UsageError: it is of no database that we know.
    """
    word = str(where)
    if "://" not in word:
        return URL.create("sqlite", database=str(Path(word).expanduser()))
    try:
        url = make_url(word)
    except (exc.ArgumentError, ValueError):
        # Its own words might hold a password.
        raise UsageError("this is not the URL of a database", hint=_HOW) from None
    scheme = url.drivername.partition("+")[0]
    if scheme not in _SCHEMES or (scheme == "sqlite" and not url.database):
        raise UsageError(f"{scheme!r} is not a database that can be used", hint=_HOW)
    return url.set(drivername=_SCHEMES[scheme])


_HOW = "write a path for SQLite, or postgresql://USER@HOST/DATABASE (password: PGPASSWORD or ~/.pgpass)"


def shown(url: URL) -> str:
    """The URL as it may be shown: without passwords; of SQLite the path."""
    if url.drivername == "sqlite":
        return str(url.database)
    query = {key: value for key, value in url.query.items() if key not in _SECRETS}
    return url.set(drivername="postgresql", query=query).render_as_string(hide_password=True)


def engine(url: URL, wait_s: float, *, create: bool) -> Engine:
    """An engine for a database that is there, or (`create`) may be made.

    Raises:
        StoreError: there is none.
        ExtraError: there is no driver for it.
    """
    if url.drivername == "sqlite":
        return _sqlite(url, wait_s, create=create)
    need("postgres", shown(url))
    made = create_engine(
        url,
        pool_pre_ping=True,
        connect_args={"connect_timeout": _CONNECT_S, "application_name": "rushhour"},
    )

    @event.listens_for(made, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, int(wait_s * 1000))}")
        if connection.get_execution_options().get("writes"):
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITER})")

    return made


def _sqlite(url: URL, wait_s: float, *, create: bool) -> Engine:
    path = Path(str(url.database))
    if not path.exists():
        _room_for(path, create=create)
    # Nobody who may not write to it needs the files beside it that WAL would make.
    frozen = path.exists() and not create and not os.access(path.parent, os.W_OK)
    if frozen and not Path(f"{path}-wal").exists():
        url = URL.create(
            "sqlite", database=f"file:{quote(str(path))}", query={"immutable": "1", "uri": "true"}
        )
    made = create_engine(url, connect_args={"timeout": wait_s})

    @event.listens_for(made, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # Python would otherwise begin and commit by rules of its own.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        if create:
            # Two who make it at once: one of them is refused, and finds it done.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
            # After a loss of power the last transactions may be missing, whole; they are imported again.
            connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(made, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return made


def _room_for(path: Path, *, create: bool) -> None:
    """See that a database that is not there may be made at `path`, and make its folder."""
    if not create:
        raise StoreError(
            "there is no results database here yet",
            where=str(path),
            hint="to store results in it: rushhour db import FOLDER",
        )
    # SQLite would make the file that it leads to, wherever a stranger meant that to be.
    if path.is_symlink():
        raise StoreError(
            f"the database is a link to {path.readlink()}, and there is nothing",
            where=str(path),
            hint="remove the link, or make the empty file that it leads to",
        )
    _folder(path.parent)


def _folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder of the database cannot be made: {error.strerror}",
            where=str(path),
            hint="name another place with --db or RUSHHOUR_DB",
        ) from error


def prepare(made: Engine, url: URL, *, create: bool) -> None:
    """Check that this is a database of ours, of this version; make or migrate it if that is allowed.

    Raises:
        StoreError: it belongs to something else, or to a newer program.
    """
    with made.connect() as connection:
        found = _version(connection, url)
    if found == len(schema.MIGRATIONS):
        return
    if not create:
        what = "is of an older version" if found else "has no tables yet"
        raise StoreError(f"the database {what}", where=shown(url), hint="`rushhour db info` prepares it")
    with made.connect().execution_options(writes=True) as connection, connection.begin():
        # Another process may have done it while this one waited for the lock.
        for step in schema.MIGRATIONS[_version(connection, url) :]:
            step(connection)
        schema.set_version(connection, len(schema.MIGRATIONS))


def _version(connection: Connection, url: URL) -> int:
    there = inspect(connection).get_table_names()
    if schema.about.name not in there:
        if there:
            raise StoreError(
                f"this database belongs to something else: it has a table {min(there)!r}",
                where=shown(url),
                hint="name an empty database, or a new file",
            )
        return 0
    found = schema.version(connection)
    if found > len(schema.MIGRATIONS):
        raise StoreError(
            f"the database has version {found}; this program knows up to {len(schema.MIGRATIONS)}",
            where=shown(url),
            hint="use the newer rushhour that made it; it was not changed",
        )
    return found


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Tell the errors of the database in our words.

    Raises:
        StoreError: instead of any error of SQLAlchemy, or of a driver that reads what is damaged.
    """
    try:
        yield
    except exc.SQLAlchemyError as error:
        message, hint = _words(getattr(error, "orig", None), error)
        raise StoreError(message, where=shown(url), hint=hint) from error
    except (ValueError, OverflowError) as error:
        # What stands in a damaged file is neither text nor JSON, or the driver cannot say what it is.
        raise StoreError("the database is damaged", where=shown(url), hint=_COPY) from error


def _words(original: object, error: exc.SQLAlchemyError) -> tuple[str, str]:
    name = getattr(original, "sqlite_errorname", None)
    if name:
        known = next((words for code, words in _SQLITE.items() if name.startswith(code)), None)
        return known or (f"the database says: {original}", "`rushhour db info` looks at it")
    if hasattr(original, "sqlstate"):
        state = original.sqlstate
        if state is None:
            first = next(iter(str(original).strip().splitlines()), "no answer")
            # Nothing but its words says whether the server was there and refused.
            message, hint = _REFUSED if "FATAL" in first or "password" in first else _GONE
            return f"{message}: {first}", hint
        known = _POSTGRES.get(state) or _POSTGRES.get(state[:2])
        first = str(original).splitlines()[0]
        return known or (f"the database says: {first} ({state})", "`rushhour db info` looks at it")
    return f"the database could not be used: {type(error).__name__}", "`rushhour db info` looks at it"
