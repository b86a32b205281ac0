"""The barrier: everybody meets, or everybody hears why not."""

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import kills
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushhour.errors import UsageError
from rushhour.lab.barrier import BarrierError, Meeting, meet

PARTIES = ("client", "server", "router")


def open_port() -> tuple[socket.socket, int]:
    server = socket.create_server(("127.0.0.1", 0))
    return server, server.getsockname()[1]


def party(me: str, port: int, *, seconds: float = 20, **more: Any) -> Meeting:
    listens = me == PARTIES[0]
    plain = {"name": "ready", "parties": PARTIES, "host": "127.0.0.1", "says": "", "failed": False}
    return Meeting(me=me, port=port, listens=listens, seconds=seconds, **{**plain, **more})


def together(meetings: list[Meeting], server: socket.socket) -> list[dict[str, str] | str]:
    def one(meeting: Meeting) -> dict[str, str] | str:
        try:
            return meet(meeting, server if meeting.listens else None)
        except BarrierError as error:
            return error.message

    with ThreadPoolExecutor(len(meetings)) as pool:
        return [*pool.map(one, meetings)]


def test_all_meet_and_hear_what_each_has_to_say() -> None:
    server, port = open_port()
    found = together([party(me, port, says=f"logs of {me}") for me in PARTIES], server)
    assert found == [{me: f"logs of {me}" for me in ("client", "server", "router")}] * 3


def test_whoever_comes_before_the_barrier_is_open_waits() -> None:
    server, port = open_port()
    server.close()
    with ThreadPoolExecutor(3) as pool:
        early = [pool.submit(meet, party(me, port)) for me in PARTIES[1:]]
        late = pool.submit(meet, party("client", port))
        assert all(set(one.result()) == set(PARTIES) for one in (*early, late))


def test_one_that_fails_makes_all_fail_at_once() -> None:
    server, port = open_port()
    meetings = [party("client", port), party("server", port, failed=True, says="no space left")]
    assert together(meetings, server) == ["server failed: no space left"] * 2


def test_who_does_not_come_is_named_to_all() -> None:
    server, port = open_port()
    found = together([party("client", port, seconds=0.5), party("router", port, seconds=10)], server)
    assert found == ["server did not come in 0.5 s"] * 2


def test_a_party_that_is_killed_while_it_waits_makes_the_others_fail() -> None:
    server, port = open_port()
    script = (
        "from rushhour.lab.barrier import Meeting; "
        f"sent = Meeting('ready', {PARTIES!r}, 'server', '127.0.0.1', {port}, False, 60); "
        "import socket; line = socket.create_connection((sent.host, sent.port)); "
        "line.sendall(sent.line()); print('there', flush=True); line.recv(1)"
    )
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(together, [party("client", port, seconds=60)], server)
        with kills.at_the_end(
            subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        ) as doomed:
            assert doomed.stdout is not None
            assert doomed.stdout.readline() == b"there\n"
            doomed.kill()
        assert waiting.result() == ["server broke off"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"name": "done"}, "this is the barrier 'ready', not 'done'"),
        ({"parties": ("client", "stranger"), "who": "stranger"}, "'stranger' is not awaited here"),
    ],
)
def test_strangers_are_refused_and_the_others_meet(other: dict[str, Any], words: str) -> None:
    server, port = open_port()
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(together, [party(me, port) for me in PARTIES[:2]], server)
        with pytest.raises(BarrierError, match=words):
            meet(party(str(other.pop("who", "router")), port, **other))
        assert set(meet(party("router", port))) == set(PARTIES)
        assert all(isinstance(one, dict) for one in waiting.result())


@settings(max_examples=20)
@given(st.binary(max_size=300))
def test_noise_does_not_disturb_a_meeting(noise: bytes) -> None:
    server, port = open_port()
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(together, [party(me, port) for me in PARTIES[:2]], server)
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(noise + b"\n")
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(noise)
            assert set(meet(party("router", port))) == set(PARTIES)
        assert all(isinstance(one, dict) for one in waiting.result())


def test_a_meeting_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="not one of the parties"):
        party("nobody", 1)
    with pytest.raises(UsageError, match="named twice"):
        party("client", 1, parties=("client", "client"))
    with pytest.raises(UsageError, match="not a port"):
        party("client", 70_000)


def test_the_command_tells_what_the_others_said() -> None:
    server, port = open_port()
    server.close()
    command = [
        sys.executable, "-m", "rushhour", "barrier", "ready", "--parties", "a,b", "--at", f"127.0.0.1:{port}",
        "--timeout", "30", "--json",
    ]  # fmt: skip
    both = [
        subprocess.Popen([*command, "--me", me, "--say", f"{me}.log"], stdout=subprocess.PIPE, text=True)
        for me in ("b", "a")
    ]
    assert [json.loads(one.communicate()[0]) for one in both] == [{"a": "a.log", "b": "b.log"}] * 2
    assert [one.returncode for one in both] == [0, 0]
