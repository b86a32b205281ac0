"""Databases for tests: a SQLite file, and a PostgreSQL server that is started once and gone afterwards."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "s3cret/&word"


def programs() -> Path | None:
    """The folder of the newest PostgreSQL server's programs on this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    there = shutil.which("initdb")
    return Path(there).parent if there else None


class Server:
    """A PostgreSQL server of our own on a free port of the loopback interface."""

    def __init__(self, folder: Path) -> None:
        bin_folder = programs()
        assert bin_folder is not None
        self.bin = bin_folder
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # The server refuses to run as root.
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def init(self) -> None:
        """Make the cluster; its one user has a password."""
        words = self.folder / "password"
        words.write_text(PASSWORD)
        words.chmod(0o644)
        self._run(
            "initdb", "-D", self.data, "-U", "lab", "-A", "scram-sha-256", f"--pwfile={words}", "-E", "UTF8"
        )

    def start(self, *settings: str) -> None:
        """Start it and wait until it answers."""
        options = [
            f"-c port={self.port}", "-c listen_addresses=127.0.0.1",
            f"-c unix_socket_directories={self.folder}", "-c fsync=off",
            *(f"-c {setting}" for setting in settings),
        ]  # fmt: skip
        self._run(
            "pg_ctl", "-D", self.data, "-w", "-l", self.folder / "log", "-o", " ".join(options), "start"
        )

    def stop(self) -> None:
        """Stop it at once."""
        self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str, password: str = PASSWORD) -> str:
        """The URL of one of its databases, password and all."""
        quoted = password.replace("/", "%2F").replace("&", "%26")
        return f"postgresql://lab:{quoted}@127.0.0.1:{self.port}/{database}"

    def create(self) -> str:
        """A new empty database; its name."""
        name = f"test_{secrets.token_hex(4)}"
        self.say("postgres", f'CREATE DATABASE "{name}"')
        return name

    def say(self, database: str, statement: str) -> list[Any]:
        """Carry out one statement as a client of its own; the rows it gives."""
        import psycopg  # noqa: PLC0415 - only where a server is

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    def _run(self, program: str, *words: str | Path) -> None:
        done = subprocess.run(
            [self.bin / program, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
            **self.user,
        )  # fmt: skip
        assert done.returncode == 0, f"{program}: {done.stderr}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this session."""
    with tempfile.TemporaryDirectory(prefix="rushhour-postgres-") as folder:
        server = Server(Path(folder))
        server.init()
        server.start()
        yield server
        server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.database)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new empty database of either kind, by its path or URL."""
    if request.param == "sqlite":
        return str(tmp_path / "results.db")
    server = request.getfixturevalue("postgres")
    assert isinstance(server, Server)
    return server.url(server.create())
