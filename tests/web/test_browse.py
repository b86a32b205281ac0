"""The results browser: what is stored is shown, found by its key, handed out, and nothing beside it."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import verdict_documents as verdicts
from browsed import PAGE, browser, compared, filled
from report_records import make_set
from result_sets import result_set

from rushhour.record.record import Record
from rushhour.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from visitor import TestClient

PAGES = ("/results", "/runs", "/sets", "/comparisons", "/compare", "/history", "/baselines")


RUNS, OWN = 32, 8


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database that all tests may look at."""
    place = tmp_path_factory.mktemp("stored")
    filled(place, repeat=8)
    return place


@pytest.fixture(scope="module")
def client(stored: Path) -> TestClient:
    return browser(str(stored / "results.db"))


@pytest.fixture
def own(tmp_path: Path) -> TestClient:
    """A client of a database in `tmp_path`, to be changed."""
    return browser(filled(tmp_path))


def runs(client: TestClient, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/runs", params=query).json()["runs"]
    return found


def folder_of(where: str, key: str) -> Path:
    with Store.open(where) as store:
        folder = store.record_folder(key)
    assert folder is not None
    return folder


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_there(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=PAGE)
    assert answer.status_code == 200
    assert 'aria-current="page"' in answer.text


def test_runs_are_filtered_by_what_the_address_says(client: TestClient) -> None:
    assert len(runs(client)) == RUNS
    assert {run["kernel"] for run in runs(client, kernel="next")} == {"next"}
    assert {run["factors"]["cc"] for run in runs(client, where="cc=reno")} == {"reno"}
    assert len(runs(client, tag="nightly")) == RUNS
    assert runs(client, tag="weekly") == runs(client, until="2026-11-20") == runs(client, lab="netns") == []
    assert len(runs(client, since="2026-11-21", until="2026-11-21")) == RUNS
    seeds = [run["seed"] for run in runs(client, sort="-seed")]
    assert seeds == sorted(seeds, reverse=True)
    assert len(set(seeds)) > 1


def test_runs_are_found_by_the_verdict_on_their_kernel(client: TestClient) -> None:
    [one] = client.get("/api/comparisons").json()["comparisons"]
    assert {run["kernel"] for run in runs(client, verdict="worse")} == {one["candidate"]} == {"next"}
    assert {run["cell"] for run in runs(client, verdict="worse")} == {0}
    assert runs(client, verdict="better") == []


def test_pages_follow_each_other_without_gap(client: TestClient) -> None:
    first = client.get("/api/runs", params={"limit": 5}).json()
    second = client.get("/api/runs", params={"limit": 5, "offset": first["next"]}).json()
    keys = [run["key"] for run in first["runs"] + second["runs"]]
    assert keys == [run["key"] for run in runs(client, limit=10)]
    assert (first["before"], first["next"], second["before"], second["next"]) == (None, 5, 0, 10)
    assert len(set(keys)) == 10
    assert f"offset={first['next']}" in client.get("/runs?limit=5", headers=PAGE).text


def test_a_run_is_found_by_its_key_with_its_numbers(client: TestClient, stored: Path) -> None:
    run = runs(client)[0]
    answer = client.get(f"/api/runs/{run['key']}").json()
    record = Record.open(folder_of(str(stored / "results.db"), run["key"]))
    expected = {(value.metric, value.scope): value.value for value in record.metrics()}
    assert {(one["metric"], one["scope"]): one["value"] for one in answer["metrics"]} == expected
    assert "manifest.json" in [file["name"] for file in answer["files"]]
    page = client.get(f"/runs/{run['key']}", headers=PAGE).text
    assert "rushhour run" in page
    assert run["key"] in page
    assert client.get(f"/runs/{'0' * 64}").status_code == 404
    assert client.get(f"/runs/{run['key'][:20]}").status_code == 404


def test_no_path_of_this_machine_is_told(client: TestClient, stored: Path) -> None:
    run = runs(client)[0]
    for path in ("/runs", f"/runs/{run['key']}", "/results", "/sets", "/comparisons", "/baselines"):
        assert str(stored) not in client.get(path, headers=PAGE).text
        assert str(stored) not in client.get(f"/api{path}").text
    assert str(stored) not in client.get("/api/compare?base=stable&candidate=next").text


def test_a_record_is_handed_out_whole_and_in_parts(client: TestClient, stored: Path) -> None:
    key = runs(client)[0]["key"]
    folder = folder_of(str(stored / "results.db"), key)
    answer = client.get(f"/runs/{key}/record.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        found = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == files
    assert client.get(f"/runs/{key}/record.zip").content == answer.content
    for name, content in files.items():
        single = client.get(f"/runs/{key}/files/{name}")
        assert single.content == content
        assert "attachment" in single.headers["content-disposition"]


def test_links_in_a_record_lead_nowhere(own: TestClient, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/word").write_text("the secret word")
    key = runs(own)[0]["key"]
    folder = folder_of(str(tmp_path / "results.db"), key)
    (folder / "link").symlink_to(tmp_path / "secret/word")
    (folder / "folder").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    up = ("../../secret/word", "..%2f..%2fsecret%2fword", "raw/../link")
    for name in ("link", "folder/word", "pipe", *up, "%00", ""):
        answer = own.get(f"/runs/{key}/files/{name}")
        assert answer.status_code == 404, name
        assert "the secret" not in answer.text
    assert b"the secret" not in own.get(f"/runs/{key}/record.zip").content
    assert "link" not in [file["name"] for file in own.get(f"/api/runs/{key}").json()["files"]]


def test_two_kernels_are_compared_from_what_is_stored(client: TestClient) -> None:
    verdict = client.get("/api/compare", params={"base": "stable", "candidate": "next"}).json()
    assert verdict["verdict"] == "worse"
    [cubic, reno] = verdict["cells"]
    assert (cubic["seeds"], reno["seeds"]) == ([*range(1, 800, 100)],) * 2
    goodput = next(one for one in cubic["metrics"] if one["metric"] == "goodput_bps")
    assert goodput["change"] == pytest.approx(-0.25, abs=0.002)
    same = client.get("/api/compare", params={"base": "stable", "candidate": "stable"}).json()
    assert same["verdict"] == "same"
    assert all(cell["identical"] for cell in same["cells"])
    page = client.get("/compare", params={"base": "stable", "candidate": "next"}, headers=PAGE).text
    assert "Worse: 2 of 2 cells" in page
    report = client.get("/compare/report", params={"base": "stable", "candidate": "next"})
    assert "script-src 'sha256-" in report.headers["content-security-policy"]


def test_two_runs_are_compared_whatever_they_are_of(client: TestClient) -> None:
    one = runs(client, kernel="stable", where="cc=cubic")[0]["key"]
    two = runs(client, kernel="stable", where="cc=reno")[-1]["key"]
    verdict = client.get("/api/compare", params={"base": one, "candidate": two}).json()
    assert len(verdict["cells"]) == 1
    [cc] = [change for change in verdict["changed"] if change["key"] == "cc"]
    assert (cc["base"], cc["candidate"]) == ("cubic", "reno")
    page = client.get("/compare", params={"base": one, "candidate": two}, headers=PAGE).text
    assert '<h1 class="h-differs">cc: cubic → reno' in page
    assert "nconclusive" not in page
    assert 'id="series-0"' in page


def test_what_cannot_be_compared_is_said(client: TestClient) -> None:
    for base in ("nothing", "0" * 64):
        answer = client.get("/api/compare", params={"base": base, "candidate": "next"})
        assert answer.status_code == 404
        assert "nothing stored is called" in answer.json()["error"]
    assert client.get("/api/compare?base=stable").status_code == 400
    page = client.get("/compare?base=nothing&candidate=next", headers=PAGE)
    assert page.status_code == 200
    assert 'role="alert"' in page.text


def test_a_comparison_is_shown_with_its_report_aside(client: TestClient) -> None:
    [one] = client.get("/api/comparisons").json()["comparisons"]
    path = f"/comparisons/{one['digest']}"
    page = client.get(path, headers=PAGE).text
    assert "What it guards." in page
    assert [cell["verdict"] for cell in client.get(f"/api{path}?verdict=worse").json()["cells"]] == ["worse"]
    report = client.get(f"{path}/report.html")
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts;")
    assert client.get(f"{path}/verdict.json").json()["format"] == "rushhour-verdict/1"
    assert client.get(f"{path}/summary.md").status_code == 404
    assert client.get(f"{path}/other.txt").status_code == 404


def test_a_departure_is_called_one_on_pages(own: TestClient, tmp_path: Path) -> None:
    mere = verdicts.cell(0, metrics=[verdicts.metric(better="none")])
    (tmp_path / "mere").mkdir()
    (tmp_path / "mere/verdict.json").write_text(
        json.dumps(verdicts.document([mere], made="2099-01-01T00:00:00Z"))
    )
    with Store.open(str(tmp_path / "results.db")) as store:
        store.import_folder(tmp_path / "mere")
    one = own.get("/api/comparisons").json()["comparisons"][0]
    assert (one["verdict"], one["told"], one["departing"]) == ("worse", "departs", 1)
    for path in ("/comparisons", "/results"):
        assert 't-departs">1 departs<' in own.get(path, headers=PAGE).text
    page = own.get(f"/comparisons/{one['digest']}", headers=PAGE).text
    assert ">Departs</h1>" in page
    assert page.count('<span class="tag t-departs">departs</span>') == 2


def test_a_stored_page_that_is_a_link_is_not_given(own: TestClient, tmp_path: Path) -> None:
    [one] = own.get("/api/comparisons").json()["comparisons"]
    (tmp_path / "secret").write_text("the secret word")
    (tmp_path / "compared/report.html").unlink()
    (tmp_path / "compared/report.html").symlink_to(tmp_path / "secret")
    assert own.get(f"/comparisons/{one['digest']}/report.html").status_code == 404


def test_a_history_leads_to_its_runs(client: TestClient) -> None:
    query = {"metric": "goodput_bps", "scenario": "suite/start", "where": "cc=cubic"}
    [series] = client.get("/api/history", params=query).json()["series"]
    assert [point["kernel"] for point in series["points"]] == ["stable", "next"]
    page = client.get("/history", params=query, headers=PAGE).text
    link = "/runs?scenario=suite%2Fstart&amp;cell=0&amp;kernel=next&amp;lab=uml"
    assert link in page
    assert len(runs(client, scenario="suite/start", cell=0, kernel="next", lab="uml")) == 8
    nothing = client.get("/history", params=query | {"metric": "godput_bps"}, headers=PAGE)
    assert "did you mean goodput_bps?" in nothing.text
    assert client.get("/api/history", params=query | {"metric": "godput_bps"}).status_code == 404


def test_tags_are_given_and_taken(own: TestClient) -> None:
    [one] = own.get("/api/sets").json()["sets"]
    thing = {"kind": "set", "digest": one["digest"], "tag": "before 6.13"}
    assert own.post("/api/tags", json=thing).json() == {"done": True}
    own.post("/api/tags", json=thing)
    assert own.get("/api/sets").json()["sets"][0]["tags"] == ["before 6.13", "nightly"]
    answer = own.post("/tags", data=thing | {"act": "remove"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/runs?set={one['digest']}")
    assert own.get("/api/sets").json()["sets"][0]["tags"] == ["nightly"]


def test_tags_of_other_sites_and_senseless_ones_are_refused(own: TestClient) -> None:
    [one] = own.get("/api/sets").json()["sets"]
    thing = {"kind": "set", "digest": one["digest"], "tag": "x"}
    assert own.post("/api/tags", json=thing, headers={"origin": "http://evil.example"}).status_code == 403
    for wrong in ({"tag": ""}, {"tag": "a\0b"}, {"tag": "x" * 65}, {"tag": ["x"]}, {"act": "drop"}):
        assert own.post("/api/tags", json=thing | wrong).status_code == 422
    others: list[dict[str, Any]] = [{"digest": "0"}, {"digest": 7}, {"kind": "run"}, {"kind": []}]
    for other in others:
        assert own.post("/api/tags", json=thing | other).status_code == 404
    assert own.get("/api/sets").json()["sets"][0]["tags"] == ["nightly"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("kernle=x", "kernel"), ("limit=-1", "a number"), ("offset=99999999999999", "a number"),
        ("since=yesterday", "a date"), ("sort=colour", "made"), ("where=cubic", "a factor"),
        ("set=../..", "64 digits"), ("kernel=%00", None), ("kernel=" + "x" * 300, None),
        ("&".join(["where=a%3Db"] * 50), "less"), ("verdict=good", "worse"),
    ],
)  # fmt: skip
def test_a_senseless_address_is_refused_with_what_is_right(
    client: TestClient, query: str, said: str | None
) -> None:
    answer = client.get(f"/api/runs?{query}")
    assert answer.status_code == 400
    assert said is None or said in answer.json()["hint"]


def test_while_nothing_is_stored_it_says_what_to_do(tmp_path: Path) -> None:
    client = browser(str(tmp_path / "results.db"))
    for path in PAGES:
        page = client.get(path, headers=PAGE)
        assert page.status_code == 200
        assert "rushhour db import" in page.text
    assert client.get("/api/runs").status_code == 503
    assert not (tmp_path / "results.db").exists()
    filled(tmp_path)
    assert len(runs(client)) == OWN


def test_an_empty_database_says_what_to_do(tmp_path: Path) -> None:
    Store.open(tmp_path / "results.db").close()
    client = browser(str(tmp_path / "results.db"))
    assert "rushhour db import" in client.get("/results", headers=PAGE).text
    assert runs(client) == []


def test_a_database_that_goes_is_said_and_found_again(own: TestClient, tmp_path: Path) -> None:
    assert len(runs(own)) == OWN
    (tmp_path / "results.db").rename(tmp_path / "away.db")
    page = own.get("/runs", headers=PAGE)
    assert page.status_code == 503
    assert "the results database is gone" in page.text
    (tmp_path / "away.db").rename(tmp_path / "results.db")
    assert len(runs(own)) == OWN
    (tmp_path / "results.db").unlink()
    with Store.open(tmp_path / "results.db") as store:
        store.import_folder(compared(tmp_path / "again"))
    assert runs(own) == []


def test_a_database_that_another_program_holds_answers_503(own: TestClient, tmp_path: Path) -> None:
    assert len(runs(own)) == OWN
    [one] = own.get("/api/sets").json()["sets"]
    with sqlite3.connect(tmp_path / "results.db", isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert len(runs(own)) == OWN
        answer = own.post("/api/tags", json={"kind": "set", "digest": one["digest"], "tag": "x"})
        assert answer.status_code == 503
        assert "another program" in answer.json()["error"]
        holder.execute("ROLLBACK")
    again = own.post("/api/tags", json={"kind": "set", "digest": one["digest"], "tag": "x"})
    assert again.status_code == 200


def test_a_run_without_its_record_is_shown_as_far_as_it_is_stored(
    own: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    key = runs(own)[0]["key"]
    folder_of(str(tmp_path / "results.db"), key).rename(tmp_path / "elsewhere")
    sides = {"base": "stable", "candidate": "next"}
    assert own.get("/api/compare", params=sides).json()["notes"] == []
    for folder in (tmp_path / "20261121-090000/runs").iterdir():
        folder.rename(tmp_path / folder.name)
    assert any("no record" in note for note in own.get("/api/compare", params=sides).json()["notes"])
    page = own.get(f"/runs/{key}", headers=PAGE)
    assert page.status_code == 200
    assert "not on this machine" in page.text
    assert own.get(f"/runs/{key}/record.zip").status_code == 410


def test_a_row_of_the_list_says_what_came_of_its_run(client: TestClient) -> None:
    shown = runs(client, kernel="stable", where="cc=cubic")
    assert shown[0]["goodput"].endswith("Mbit/s")
    page = client.get("/runs", headers=PAGE).text
    assert shown[0]["goodput"] in page
    drawn = client.get(f"/runs/{shown[0]['key']}/spark.svg")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.text.startswith("<svg")


def test_settings_that_no_factor_names_are_said_where_they_differ(tmp_path: Path) -> None:
    where = str(tmp_path / "results.db")
    with Store.open(where) as store:
        for number, queue in enumerate(("fifo", "fq_codel")):
            folder = tmp_path / f"2026112{number}-090000"
            result_set(folder, factors=[{}], revision=str(number), resolved={"topology": {"queue": queue}})
            store.import_folder(folder)
    shown = browser(where).get("/api/runs").json()["runs"]
    assert sorted(run["differs"] for run in shown) == [
        [["topology.queue", "fifo"]], [["topology.queue", "fq_codel"]],
    ]  # fmt: skip


def test_a_set_has_its_figures_and_its_report(client: TestClient) -> None:
    [one] = client.get("/api/sets").json()["sets"]
    page = client.get("/runs", params={"set": one["digest"]}, headers=PAGE).text
    assert 'class="compare swept"' in page
    assert f"/sets/{one['digest']}/report" in page
    assert client.get(f"/sets/{'0' * 64}/report").status_code == 404


def test_a_sweep_of_two_factors_has_its_map_and_a_report(tmp_path: Path) -> None:
    where, folder = str(tmp_path / "results.db"), tmp_path / "20261121-090000"
    cells = [{"cc": cc, "topology.loss": loss} for cc in ("cubic", "reno") for loss in ("0%", "1%")]
    make_set(folder, cells, seconds=6)
    with Store.open(where) as store:
        store.import_folder(folder)
    visitor = browser(where)
    [one] = visitor.get("/api/sets").json()["sets"]
    assert '<table class="map">' in visitor.get("/runs", params={"set": one["digest"]}, headers=PAGE).text
    report = visitor.get(f"/sets/{one['digest']}/report", headers=PAGE)
    assert report.status_code == 200
    assert "script-src 'sha256-" in report.headers["content-security-policy"]
