"""Sessions: questions and answers, in any order; and what is said when the other side goes."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rushhour.errors import HostError
from rushhour.lab.host import session as sessions
from rushhour.lab.host.place import Place
from rushhour.lab.host.session import Session
from rushhour.lab.host.transport import Transport

FAKE = Path(__file__).with_name("fake_serve.py")


@contextmanager
def fake(*, patience_s: int = 30) -> Iterator[Session]:
    transport = Transport([sys.executable, str(FAKE)], {})
    with Session(Place.parse("alice"), transport, patience_s=patience_s) as session:
        yield session
    assert transport.process.returncode is not None


def test_questions_are_answered_in_any_order() -> None:
    with fake() as session:
        assert session.hello["hostname"] == "fake"
        slow = session.begin("sleep", seconds=1)
        assert session.call("echo", words=["ä", 1])["words"] == ["ä", 1]
        assert not slow.done()
        assert slow.result(10) == {"slept": 1}
        timed = session.timed("echo")
        assert timed.sent_ns < timed.received_ns <= time.monotonic_ns()


def test_many_threads_may_ask() -> None:
    with fake() as session:
        answers: list[int] = []

        def ask(number: int) -> None:
            answers.append(session.call("echo", number=number)["number"])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == list(range(20))


def test_tables_come_whole(tmp_path: Path) -> None:
    with fake() as session:
        assert session.fetch("0") == b""
        assert session.fetch("300") == bytes(range(256)) + bytes(44)
        assert session.download("5000000", tmp_path / "t") == 5_000_000
        assert (tmp_path / "t").stat().st_size == 5_000_000
        assert session.call("echo", x=1)["x"] == 1


def test_a_table_that_cannot_be_written_does_not_disturb_the_rest() -> None:
    with fake() as session:
        with pytest.raises(OSError, match="No space"):
            session.download("5000000", Path("/dev/full"))
        assert session.call("echo", x=1)["x"] == 1


def test_a_refusal_says_what_where_and_what_to_do() -> None:
    with fake() as session:
        with pytest.raises(HostError) as caught:
            session.call("refuse")
        error = caught.value
        assert (error.where, error.kind, error.hint) == ("alice", "busy", "choose another")
        assert error.message == "eth1: port 5001 is in use"
        assert session.lost is None


@pytest.mark.parametrize(
    ("verb", "told"),
    [("die", "a last word"), ("cut", "exit code 3"), ("babble", "the agent's answer cannot be read")],
)
def test_whoever_waits_hears_that_the_other_side_went(verb: str, told: str) -> None:
    with fake() as session:
        long = session.begin("sleep", seconds=60)
        with pytest.raises(HostError) as caught:
            session.call(verb)
        assert told in caught.value.message
        assert "sleep" in caught.value.message
        assert caught.value.where == "alice"
        with pytest.raises(HostError) as again:
            long.result(10)
        assert again.value is caught.value
        with pytest.raises(HostError):
            session.call("echo")


def test_silence_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SILENCE_S", 2.0)
    with fake(patience_s=2) as session:
        # What goes on in silence is not silent: the session asks whether the other side is alive.
        assert session.call("sleep", seconds=2.5) == {"slept": 2.5}
        with pytest.raises(HostError, match=r"said nothing for .* while it did: freeze"):
            session.call("freeze")


def test_no_answer_in_time() -> None:
    with fake() as session:
        with pytest.raises(HostError, match=r"no answer to `sleep` within 0\.2 s"):
            session.call("sleep", seconds=1, timeout_s=0.2)
        assert session.call("echo", x=1)["x"] == 1


def test_what_speaks_otherwise_is_refused() -> None:
    transport = Transport(
        ["sh", "-c", """read -r _; echo '{"id":1,"ok":true,"value":{"format":"x/2"}}'"""], {}
    )
    with pytest.raises(HostError, match="speaks 'x/2'"):
        Session(Place.parse("alice"), transport)
    transport = Transport(["sh", "-c", "exit 4"], {})
    with pytest.raises(HostError, match="exit code 4"):
        Session(Place.parse("local"), transport)
    assert transport.process.returncode == 4
