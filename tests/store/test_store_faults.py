"""What can be wrong with a database: each said with what to do, nothing lost, no password shown."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from databases import PASSWORD, Server
from result_sets import result_set

from rushhour.cli import cli
from rushhour.errors import ExtraError, RushHourError, StoreError
from rushhour.history import history
from rushhour.store import Store, keep
from rushhour.store.connect import parse, shown

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return result_set(tmp_path / "20261121-090000").path


def refused(where: str, folder: Path | None = None, **options: Any) -> StoreError:
    """The error of opening a database, and importing into it."""
    with pytest.raises(StoreError) as caught:
        _use(where, folder, **options)
    assert caught.value.where
    assert caught.value.hint
    assert PASSWORD not in str(caught.value)
    return caught.value


def _use(where: str, folder: Path | None, **options: Any) -> None:
    with Store.open(where, **options) as store:
        if folder is not None:
            store.import_folder(folder)
        for run in store.runs():
            store.metrics(run.id)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to have a header\n" * 100)
    assert "no database" in refused(str(tmp_path / "notes.txt")).message
    assert (tmp_path / "notes.txt").read_text().startswith("no database at all")


def test_a_damaged_database(tmp_path: Path, results: Path) -> None:
    place = tmp_path / "results.db"
    with Store.open(place) as store:
        store.import_folder(results)
    with place.open("r+b") as file:
        for page in range(4, place.stat().st_size // 4096, 2):
            file.seek(4096 * page)
            file.write(b"\xff" * 4096)

    with pytest.raises(StoreError, match="damaged"):
        _use(str(place), results)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be made" in refused(str(tmp_path / "file/results.db")).message


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    assert "cannot be opened" in refused(str(tmp_path)).message


@pytest.mark.parametrize("create", [True, False])
def test_a_link_to_nothing_makes_nothing(tmp_path: Path, create: bool) -> None:
    target, place = tmp_path / "elsewhere" / "made", tmp_path / "results.db"
    target.parent.mkdir()
    for link in (str(target), "elsewhere/made", str(tmp_path / "no/folder/file"), "results.db"):
        place.symlink_to(link)
        refused(str(place), create=create)
        place.unlink()
    assert [path.name for path in tmp_path.rglob("*")] == ["elsewhere"]
    place.symlink_to(target)
    assert str(target) in refused(str(place)).message
    target.touch()  # an empty file that is there is ours to fill, by whatever name
    Store.open(str(place)).close()
    assert target.stat().st_size


def test_reading_makes_no_database(tmp_path: Path) -> None:
    assert "no results database here yet" in refused(str(tmp_path / "results.db"), create=False).message
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    if os.system(f"mount -t tmpfs -o size=600k rushhour-test {place}") != 0:
        pytest.skip("a small file system cannot be mounted")
    yield place
    assert os.system(f"umount {place}") == 0


@pytest.mark.host
def test_a_full_disk_loses_nothing_that_was_there(tmp_path: Path, small_disk: Path) -> None:
    first = result_set(tmp_path / "first", scenario="suite/first").path
    second = result_set(tmp_path / "second", scenario="suite/second", repeat=20).path
    place = small_disk / "results.db"
    with Store.open(place) as store:
        store.import_folder(first)
        (small_disk / "ballast").write_bytes(bytes(os.statvfs(small_disk).f_bavail * 4096 - 30_000))

        with pytest.raises(StoreError, match="disk is full"):
            store.import_folder(second)

        assert {run.scenario for run in store.runs()} == {"suite/first"}
        (small_disk / "ballast").unlink()
        store.import_folder(second)
        assert len(store.runs()) == 42


@pytest.mark.host
def test_what_cannot_be_written_can_be_read(small_disk: Path, results: Path) -> None:
    place = small_disk / "results.db"
    with Store.open(place) as store:
        store.import_folder(results)
    assert os.system(f"mount -o remount,ro {small_disk}") == 0

    with Store.open(place, create=False) as store:
        assert len(history(store, "goodput_bps")) == 2
    refused(str(place), results)


@pytest.mark.database
def test_a_server_that_is_not_there(postgres: Server, results: Path) -> None:
    port = postgres.port
    postgres.port = 1
    try:
        url = postgres.url("x")
    finally:
        postgres.port = port
    error = refused(url)
    assert "cannot be reached" in error.message
    assert "lab:***@" in str(error.where)

    # At the end of a run the results are whole without: it is only said.
    words = keep([results], url)
    assert words is not None
    assert f"rushhour db import {results}" in words
    assert PASSWORD not in words


@pytest.mark.database
def test_a_server_that_goes_and_comes_back(postgres: Server, results: Path) -> None:
    url = postgres.url(postgres.create())
    with Store.open(url) as store:
        store.import_folder(results)
        postgres.stop()
        try:
            with pytest.raises(StoreError) as caught:
                store.runs()
        finally:
            postgres.start()
        assert PASSWORD not in str(caught.value)
        assert len(store.runs()) == 2


@pytest.mark.database
def test_who_may_not_come_in_is_told(postgres: Server) -> None:
    name = postgres.create()
    error = refused(postgres.url(name, password="wrong"))
    assert "wrong" not in str(error)
    assert "PGPASSWORD" in str(error.hint)
    error = refused(postgres.url("not_there"))
    assert "not_there" in error.message
    assert "createdb" in str(error.hint)


@pytest.mark.database
def test_a_server_that_takes_no_changes_can_be_read(postgres: Server, results: Path) -> None:
    name = postgres.create()
    with Store.open(postgres.url(name)) as store:
        store.import_folder(results)
    postgres.say("postgres", f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')

    assert "takes no changes" in refused(postgres.url(name), result_set(results.parent / "more").path).message
    with Store.open(postgres.url(name), create=False) as store:
        assert len(store.runs()) == 2


def test_without_its_driver_postgresql_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ExtraError, match=r"pip install .psycopg\[binary\]"):
        Store.open("postgresql://me@127.0.0.1:1/x")


@pytest.mark.database
def test_a_password_is_shown_and_written_nowhere(postgres: Server, results: Path, tmp_path: Path) -> None:
    url = postgres.url(postgres.create())
    words = []
    for command in (["db", "import", str(results)], ["db", "info"], ["db", "info", "--json"],
                    ["history", "goodput_bps", "--json"]):  # fmt: skip
        done = CliRunner(env={"RUSHHOUR_DB": url}).invoke(cli, command, catch_exceptions=False)
        assert done.exit_code == 0
        words.append(done.output)
    assert not any(PASSWORD in word or "s3cret" in word for word in words)
    assert json.loads(words[2])["where"].startswith("postgresql://lab:***@127.0.0.1")
    for path in results.rglob("*"):
        assert path.is_dir() or b"s3cret" not in path.read_bytes()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("postgresql://me:s3cret@host/db", "postgresql://me:***@host/db"),
        ("postgres://host/db?password=s3cret&sslmode=require", "postgresql://host/db?sslmode=require"),
        ("~/results.db", str(Path.home() / "results.db")),
        ("sqlite:////tmp/x.db", "/tmp/x.db"),
    ],
)
def test_what_is_shown_of_a_database(word: str, said: str) -> None:
    assert shown(parse(word)) == said


def test_keep_says_what_it_could_not_read(tmp_path: Path) -> None:
    words = keep([tmp_path], str(tmp_path / "results.db"))
    assert words is not None
    assert "no records here" in words


def test_every_error_is_one_of_ours(tmp_path: Path) -> None:
    for word in (
        "",
        "://",
        "postgresql://",
        "http://x",
        str(tmp_path / "a\0b"),
        "sqlite:///" + str(tmp_path),
    ):
        with pytest.raises(RushHourError):
            Store.open(word, create=False)
