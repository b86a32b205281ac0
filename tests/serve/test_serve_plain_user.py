"""An agent that a user without any privilege has started: what goes, goes, and what does not is said."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import kills
import pytest
from beds.net import Namespace

from rushhour.lab import agent

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.host, pytest.mark.alone]

NOBODY = 65534
MS = 10**6


class Speaker:
    """Says one thing after the other to an agent of `nobody` in a namespace."""

    def __init__(self, node: Namespace, program: Path) -> None:
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
        self.process = subprocess.Popen(
            node.words(*user, str(program), "serve"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Closes its input, which ends it.
        with self.process as process:
            process.communicate(timeout=30)

    def say(self, verb: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": 1, "do": verb, **arguments}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        self.say(verb, **arguments)
        return self.hear()


@contextmanager
def pair() -> Iterator[tuple[Namespace, Namespace]]:
    a, b = Namespace("a"), Namespace("b")
    try:
        a.ip(f"link add eth0 type veth peer name eth0 netns {b.path}")
        for node, last in ((a, 1), (b, 2)):
            node.ip(f"address add 10.9.0.{last}/24 dev eth0", "link set eth0 up")
        yield a, b
    finally:
        a.close()
        b.close()


@pytest.fixture(name="program")
def a_program_that_everybody_may_run() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        program = Path(shutil.copy(agent.find().binary, folder / "agent"))
        program.chmod(0o755)
        yield program
    finally:
        shutil.rmtree(folder)


def flow(number: int, kind: str, **more: Any) -> dict[str, Any]:
    ends = {"from": "a", "to": "b", "src": "10.9.0.1", "dst": "10.9.0.2"}
    ports = {"sport": 33000 + number, "dport": 5001 + number}
    return {"id": number, "name": kind, "kind": kind, "start_ns": 0, **ends, **ports, **more}


def plan(*flows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "format": "rushhour-plan/1",
        "seed": 1,
        "duration_ns": 400 * MS,
        "sample_ns": 100 * MS,
        "nodes": [{"name": "a"}, {"name": "b"}],
        "links": [],
        "flows": list(flows),
        "readings": {"tcp_probe": True, "tcp_info": True, "qdisc": True, "interface": True},
        "watch": [{"node": "a", "dev": "eth0", "end": 0}],
        **more,
    }


@pytest.mark.parametrize("pings", [True, False])
def test_a_plain_user_sends_and_receives(program: Path, *, pings: bool) -> None:
    with pair() as nodes, Speaker(nodes[0], program) as one, Speaker(nodes[1], program) as other:
        for node in nodes:
            node.sysctl("net.ipv4.ping_group_range", f"0 {NOBODY}" if pings else "1 0")
        speakers = [one, other]
        hello = speakers[0].ask("hello")["value"]
        assert (hello["uid"], hello["capabilities"]) == (NOBODY, [])
        path = {"from": "a", "to": "b", "src": "10.9.0.1", "dst": "10.9.0.2", "pings": 2, "size": 56}
        asked = plan(
            flow(0, "tcp", bytes=100_000, rate_bps=4_000_000, rcvbuf=1 << 30, sndbuf=4096),
            flow(1, "crr", count=3, request_bytes=1, response_bytes=1),
            # There at the last sample, however late a busy machine makes the others.
            flow(3, "tcp", rate_bps=1_000_000),
            *([flow(2, "ping", count=2, interval_ns=50 * MS)] if pings else []),
            calibration={"paths": [path], "trains": []},
            duration_ns=2_000 * MS,  # a listener goes with the run: so late a busy machine may begin a flow
        )
        named = zip(speakers, "ab", strict=True)
        ready = [speaker.ask("prepare", plan=asked, here=name) for speaker, name in named]
        warned = [" ".join(answer["value"]["warnings"]) for answer in ready]
        assert "cannot be traced" in warned[0]
        assert ("ping_group_range" in warned[0]) is not pings
        assert "net.core.rmem_max limits them" in warned[1]
        start = time.monotonic_ns() + 1_000 * MS  # on a loaded machine the way to the agents takes 200 ms
        for speaker in speakers:
            speaker.say("run", start_clock_ns=start)
        results = [speaker.hear()["value"] for speaker in speakers]
        assert [end["error"] for result in results for end in result["flows"]] == [None] * (8 if pings else 6)
        assert results[1]["flows"][0]["bytes_received"] == 100_000
        if pings:
            assert min(results[0]["calibration"]["pings"][0]["rtt_ns"]) > 0
            assert results[0]["flows"][3]["packets_received"] == 2
        tables = [table["name"] for table in speakers[0].ask("tables")["value"]["tables"]]
        assert {"raw/tcp_info.rh", "raw/qdisc.rh", "raw/interface.rh"} <= set(tables)
        for speaker in speakers:
            speaker.ask("bye")
            assert speaker.process.wait(20) == 0


def test_what_takes_a_privilege_says_which(program: Path) -> None:
    with pair() as (a, _), Speaker(a, program) as one:
        a.sysctl("net.ipv4.ping_group_range", "1 0")
        answer = one.ask("prepare", plan=plan(flow(0, "ping", count=1)), here="a")
        assert "CAP_NET_RAW" in answer["error"]["hint"]
        egress = [{"node": "a", "dev": "eth0", "end": 3, "qdiscs": ["root handle 1: pfifo"]}]
        error = one.ask("prepare", plan=plan(egress=egress), here="a")["error"]
        assert "root" in error["message"] + error["hint"]
        one.ask("bye")
        assert one.process.wait(20) == 0


def test_a_killed_agent_of_a_plain_user_leaves_no_folder(program: Path) -> None:
    with pair() as (a, _), Speaker(a, program) as one:
        pid = one.ask("hello")["value"]["pid"]
        assert scratches(pid)
        one.ask("prepare", plan=plan(flow(0, "tcp")), here="a")
        kills.send(pid)
        end = time.monotonic() + 20
        while scratches(pid):
            assert time.monotonic() < end, "its folder is left"
            time.sleep(0.02)


def scratches(pid: int) -> list[Path]:
    places = [Path("/dev/shm"), Path("/tmp"), Path("/var/tmp")]
    return [path for place in places for path in place.glob(f"rushhour-agent-*{pid}")]
