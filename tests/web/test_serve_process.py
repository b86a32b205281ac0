"""The server as a process: how it begins, how it ends, what it leaves behind."""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kills
import pytest

from rushhour.files import cache

SERVE = [sys.executable, "-m", "rushhour", "serve"]
LONG = {
    "kernel": "debian-6.12",
    "rate": "100mbit",
    "rtt": "10ms",
    "duration": "30s",
    "flow": [{"cc": "cubic"}],
}


@contextmanager
def server(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*SERVE, "--port", "0", "--json", *words]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with kills.at_the_end(started) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["url"]


def said(*words: str) -> tuple[int, str]:
    done = subprocess.run([*SERVE, *words], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def offspring(parent: int) -> set[int]:
    """All processes below this one, by /proc."""
    above = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            above[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found: set[int] = set()
    while new := {child for child, its in above.items() if its in found | {parent}} - found:
        found |= new
    return found


def running(url: str, process: subprocess.Popen[str]) -> tuple[subprocess.Popen[bytes], set[int]]:
    """A long experiment that has begun: who asks for it, and the processes of its guest."""
    script = (
        "import sys, urllib.request\n"
        "kind = {'Content-Type': 'application/json'}\n"
        "request = urllib.request.Request(sys.argv[1], sys.argv[2].encode(), kind)\n"
        "urllib.request.urlopen(request)"
    )
    asking = subprocess.Popen(
        [sys.executable, "-c", script, f"{url}api/play", json.dumps(LONG)], stderr=subprocess.DEVNULL
    )
    while not any(command(child).startswith("./linux") for child in offspring(process.pid)):
        assert asking.poll() is None
        time.sleep(0.02)
    return asking, offspring(process.pid)


def command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def gone(processes: set[int]) -> bool:
    end = time.monotonic() + 30
    while any(command(one) for one in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.virtual
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_asked_to_and_leaves_nothing(number: signal.Signals) -> None:
    with server() as (process, url):
        asking, guests = running(url, process)
        folders = set(cache.folder("play", "any").parent.iterdir())
        process.send_signal(number)
        assert process.wait(30) == 0
        asking.wait(30)
        assert gone(guests)
        assert process.stderr is not None
        assert process.stderr.read() == f"Rush Hour is at {url} (Ctrl-C ends it)\nEnded.\n"
        assert folders - set(cache.folder("play", "any").parent.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_nobody_is_there(number: signal.Signals) -> None:
    with server() as (process, _):
        process.send_signal(number)
        assert process.wait(30) == 0


@pytest.mark.virtual
def test_a_visitor_who_leaves_ends_the_run_without_a_word() -> None:
    with server() as (process, url):
        asking, guests = running(url, process)
        asking.kill()
        asking.wait(30)
        assert gone(guests)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert process.stderr is not None
        said = process.stderr.read()
        assert "Traceback" not in said
        assert "rror" not in said


@pytest.mark.virtual
def test_it_leaves_no_guest_behind_when_it_is_killed() -> None:
    with server() as (process, url):
        asking, guests = running(url, process)
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
        asking.wait(30)
        assert gone(guests)


def test_it_says_what_stands_in_its_way(tmp_path: Path) -> None:
    with server() as (_, url):
        port = url.rstrip("/").rpartition(":")[2]
        code, error = said("--port", port)
        assert code == 2
        assert "Address already in use" in error
        assert f"--port {int(port) % 65535 + 1}" in error
    code, error = said("--host", "0.0.0.0", "--port", "0")
    assert (code, "can be reached by others" in error) == (2, True)
    token = tmp_path / "token"
    token.write_text("x" * 24)
    code, error = said("--host", "192.0.2.1", "--port", "0", "--token-file", str(token))
    assert (code, "cannot listen there" in error) == (2, True)
    code, error = said("--host", "no-such-host.invalid", "--port", "0", "--token-file", str(token))
    assert (code, "is no address" in error) == (2, True)


def test_others_need_the_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("correct-horse-battery\n")
    with server("--host", "0.0.0.0", "--token-file", str(token)) as (_, url):
        here = f"http://127.0.0.1:{url.rstrip('/').rpartition(':')[2]}"
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"{here}/api/kernels")
        assert error.value.code == 401
        error.value.close()
        request = urllib.request.Request(
            f"{here}/api/kernels", headers={"Authorization": "Bearer correct-horse-battery"}
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
