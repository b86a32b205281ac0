"""The playground with the kernel itself: short experiments, exact results."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from visitor import TestClient, visitor

import rushhour
from rushhour.lab.base import Job
from rushhour.lab.confine import Ending, Limits
from rushhour.lab.console import explain
from rushhour.lab.uml import UmlLab
from rushhour.report import embed
from rushhour.web.answers import RefusedError
from rushhour.web.play import section
from rushhour.web.play.answer import raw_sha256
from rushhour.web.play.desk import Desk
from rushhour.web.play.setup import from_query
from rushhour.web.settings import Bounds

pytestmark = pytest.mark.virtual
SHORT = {
    "kernel": "debian-6.12",
    "duration": "400ms",
    "rate": "5mbit",
    "rtt": "10ms",
    "flow": [{"cc": "reno"}],
}
# Long enough in any case to be still under way when it is given up.
LONG = "kernel=debian-6.12&rate=100mbit&rtt=10ms&duration=30s&flow=cubic"


class Counted(UmlLab):
    """The lab, with the number of runs that it carried out."""

    runs = 0
    cancelled = 0

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        Counted.runs += 1
        return super().run(job, destination, cpu)

    def cancel(self) -> None:
        if self._guests:
            Counted.cancelled += 1
        super().cancel()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):  # of a run that failed it would never come
        while not true():  # noqa: ASYNC110 - what is waited for happens in threads
            await asyncio.sleep(0.01)


@pytest.fixture
def bounds() -> Bounds:
    return Bounds.parse(["runs=2"])


@pytest.fixture
def client(bounds: Bounds) -> TestClient:
    return visitor(sections=[section(bounds)])


def test_an_experiment_has_numbers_words_and_curves(client: TestClient) -> None:
    answer = client.post("/api/play", json=SHORT).json()
    assert answer["valid"] is True
    totals = {one["metric"]: one["value"] for one in answer["totals"]}
    assert 3e6 < totals["goodput_bps"] < 5e6
    header, columns = embed.unpack(answer["series"])
    panels = {panel["id"]: panel for panel in header["panels"]}
    assert {"cwnd", "rtt", "queue", "goodput"} <= panels.keys()
    places = panels["cwnd"]["facets"][0]["traces"][0]["columns"]
    times, windows = (columns[places[name]] for name in ("t", "v"))
    assert len(times) == len(windows) > 5
    assert windows.max() > 10
    assert header["why"][0]["said"][0]["says"].startswith("reno")
    assert answer["query"] == "kernel=debian-6.12&rate=5mbit&rtt=10ms&duration=400ms&flow=reno"


def test_the_same_address_gives_the_same_bytes_on_another_server(bounds: Bounds) -> None:
    first, second = (
        visitor(sections=[section(bounds)]).post("/api/play", json=SHORT).json() for _ in range(2)
    )
    own = ("elapsed_s", "cached")
    assert {key: first[key] for key in first if key not in own} == {
        key: second[key] for key in second if key not in own
    }
    assert (first["cached"], second["cached"]) == (False, False)


def test_an_exported_scenario_gives_the_same_record(client: TestClient, tmp_path: Path) -> None:
    answer = client.post("/api/play", json=SHORT).json()
    file = client.get(f"/play/scenario.toml?{answer['query']}")
    assert file.headers["content-disposition"] == 'attachment; filename="playground.toml"'
    (tmp_path / "playground.toml").write_text(file.text)
    results = rushhour.run(
        tmp_path / "playground.toml", kernels=["debian-6.12"], out=tmp_path / "out", fresh=True, jobs=1
    )
    (record,) = results
    assert record.key == answer["key"]
    assert raw_sha256(record) == answer["raw_sha256"]


def test_equal_experiments_run_once_and_are_known_afterwards(bounds: Bounds) -> None:
    Counted.runs = 0
    desk = Desk(bounds, Counted)
    setup = from_query("kernel=debian-6.12&rate=3mbit&duration=300ms&flow=cubic&seed=77")

    async def three() -> list[tuple[Any, bool]]:
        return [*await asyncio.gather(desk.ask(setup), desk.ask(setup)), await desk.ask(setup)]

    answers = asyncio.run(three())
    desk.close()
    assert Counted.runs == 1
    assert [known for _, known in answers] == [False, False, True]
    assert len({found.document["key"] for found, _ in answers}) == 1


def test_a_run_that_nobody_waits_for_is_ended(bounds: Bounds) -> None:
    Counted.cancelled = 0
    desk = Desk(bounds, Counted)

    async def leave() -> None:
        asking = asyncio.create_task(desk.ask(from_query(LONG)))
        await until(lambda: any(getattr(flight.lab, "_guests", None) for flight in desk._going))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(lambda: not desk._going)

    asyncio.run(leave())
    assert Counted.cancelled == 1
    assert desk._room is not None
    assert not any(desk._room.folder.iterdir())
    desk.close()
    assert not desk._room.folder.exists()


def test_more_than_may_wait_are_turned_away() -> None:
    desk = Desk(Bounds.parse(["runs=1", "waiting=1"]), UmlLab)

    async def crowd() -> list[Any]:
        setups = [from_query(f"{LONG}&seed={seed}") for seed in range(3)]
        asked = [asyncio.create_task(desk.ask(setup)) for setup in setups]
        done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        return [task.exception() for task in done]

    (refused,) = asyncio.run(crowd())
    desk.close()
    assert isinstance(refused, RefusedError)
    assert (refused.status, refused.message) == (503, "2 experiments before this one")


class Unstarted(UmlLab):
    """On a machine so busy that no kernel starts in time."""

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        ending = Ending("timeout", exit=None, signal=9, elapsed_s=0.2, warnings=())
        raise explain(ending, destination.with_name("none"), "here", begun=False)


@pytest.mark.parametrize("lab", [UmlLab, Unstarted])
def test_a_run_that_takes_too_long_is_ended_with_a_sentence(lab: type[UmlLab]) -> None:
    bounds = Bounds.parse(["runs=1", "seconds=1"])
    make = partial(lab, Limits(timeout_s=0.2, stall_s=0.2))
    answer = visitor(sections=[section(bounds, make)]).get(f"/play/report?{LONG}")
    assert answer.status_code == 422
    assert answer.json()["hint"] == "shorten it, or lower the rate"


def test_an_end_of_the_server_ends_its_runs(bounds: Bounds) -> None:
    desk = Desk(bounds, UmlLab)
    ended = threading.Event()

    async def ask() -> None:
        with pytest.raises(RefusedError, match="ended before it was done"):
            await desk.ask(from_query(LONG))
        ended.set()

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(asyncio.run, ask())
        while not any(getattr(flight.lab, "_guests", None) for flight in desk._going):
            assert not asking.done()
        desk.close()
        asking.result(timeout=60)
    assert ended.is_set()


def test_the_report_of_a_run_may_show_itself(client: TestClient) -> None:
    page = client.get("/play/report?kernel=debian-6.12&rate=5mbit&rtt=10ms&duration=400ms&flow=reno")
    assert "From the playground" in page.text
    assert "script-src 'sha256-" in page.headers["content-security-policy"]


def test_a_kernel_is_asked_what_it_offers(client: TestClient) -> None:
    offer = client.get("/api/kernels/debian-6.12").json()
    assert {"reno", "cubic", "bbr"} <= set(offer["congestion_controls"])
    assert {"fifo", "fq_codel", "red", "cake"} <= set(offer["qdiscs"])
    assert "netem" not in offer["qdiscs"]
    for queue in offer["qdiscs"]:
        asked = SHORT | {"queue": queue, "duration": "100ms"}
        assert client.post("/api/play", json=asked).json().get("valid"), queue
    listed = client.get("/api/kernels").json()["kernels"]
    assert {"debian-6.12"} <= {one["name"] for one in listed}
    assert sum(one["default"] for one in listed) == 1


def test_what_a_kernel_lacks_is_said(client: TestClient) -> None:
    answer = client.post("/api/play", json=SHORT | {"flow": [{"cc": "nonsense"}]})
    assert answer.status_code == 422
    assert 'no congestion control "nonsense"' in answer.json()["error"]
    words = client.post("/api/play", json=SHORT | {"queue": "fq_codel targt 5ms"})
    assert words.status_code == 422
    assert "unknown word 'targt'" in words.json()["error"]
    unknown = client.post("/api/play", json=SHORT | {"kernel": "none-such"})
    assert unknown.status_code == 422
    assert "there is no kernel" in unknown.json()["error"]
