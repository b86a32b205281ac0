"""The hosts lab on a real path: sshd at both ends, one record of both, and nothing left behind."""

from __future__ import annotations

import json
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import kills
import pytest
from beds import sshd
from beds.path import path
from click.testing import CliRunner

from rushhour.cli import cli
from rushhour.errors import HostError, RushHourError
from rushhour.lab.host.inventory import between
from rushhour.lab.hosts import HostsLab
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.spec.load import parse_scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from beds.sshd import Hosts

pytestmark = [pytest.mark.host, pytest.mark.alone]

RATE_BPS, RTT_NS = 40_000_000, 10_000_000
SCENARIO = """\
title = "Two machines"
duration = "1s"
sample = "20ms"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "5ms"
[[flow]]
name = "file"
bytes = "600kB"
cc = "cubic"
[[flow]]
name = "voice"
kind = "udp"
rate = "1mbit"
packet = "200B"
duration = "500ms"
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """alice and bob at the ends of a path of 40 Mbit/s and 10 ms; bob's clock is an hour ahead.

    Its queue holds the whole file: a datagram that a full one drops is no fault of who counts.
    """
    with path(rate="40mbit", rtt="10ms", buffer="200ms") as laid:
        ends = {"alice": laid.nodes["a"].path, "bob": laid.nodes["b"].path}
        with sshd.hosts(tmp_path_factory.mktemp("lab"), ends, clock_s={"bob": 3600}) as found:
            yield found


def lab(**more: Any) -> HostsLab:
    return HostsLab(between(s1="alice", r1="bob", **more))


def lowered(text: str = SCENARIO) -> Any:
    return lower(parse_scenario(text), 1)


@pytest.fixture(scope="module")
def record(hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Record:
    with lab() as found:
        return Record.open(found.measure(lowered(), tmp_path_factory.mktemp("record") / "run"))


def test_both_ends_count_the_same_bytes(record: Record) -> None:
    record.verify()
    flow = {one["id"]: one for one in record.result["flows"]}[0]
    assert flow["bytes_sent"] == flow["bytes_received"] == 600_000
    assert flow["error"] is None
    voice = record.context.flow("voice").outcome
    assert voice.packets_sent == voice.packets_received
    # Each end tells of its own socket.
    assert all(len(record.tcp_info("file", side)[0]) for side in (0, 1))


def test_the_path_is_what_it_is_and_the_record_says_so(record: Record) -> None:
    assert record.valid
    assert any("the path as found" in text for text in record.manifest["warnings"])
    flow = record.context.flow("file")
    assert flow.base_rtt_ns is not None
    assert flow.base_rtt_ns >= RTT_NS
    assert flow.bottleneck_bps is None
    span = flow.active_ns
    assert span is not None
    # What the bucket of 250 µs lets through at once is little of it.
    assert 600_000 * 8e9 / (span[1] - span[0]) <= 1.1 * RATE_BPS


def test_stamps_of_two_clocks_are_brought_to_one(record: Record) -> None:
    clock = record.manifest["hosts"]["r1"]["clock"]
    # bob was started an hour ahead.
    assert clock["offset_ns"] == pytest.approx(3600e9, abs=60e9)
    error = clock["error_ns"] + record.manifest["hosts"]["s1"]["clock"]["error_ns"]
    assert 0 < error < 500_000_000
    rows = record.table("udp", flow="voice")
    assert len(rows) > 100
    # Half of the round trip at least, as far as the clocks are known.
    assert (rows["rx_ns"] - rows["tx_ns"]).min() >= RTT_NS // 2 - error
    assert rows["tx_ns"].min() >= 0
    (delay,) = [one for one in record.metrics() if one.metric == "one_way_delay_mean_us"]
    assert delay.note is not None
    assert delay.note.startswith("by two clocks, compared to ±")


def test_the_manifest_names_machines_and_no_secret(record: Record, hosts: Hosts) -> None:
    told = record.manifest["hosts"]
    assert (told["s1"]["place"], told["r1"]["place"]) == ("alice", "bob")
    assert told["s1"]["address"] == "10.77.1.2"
    assert (told["r1"]["device"], told["r1"]["mtu"]) == ("eth0", 1500)
    assert record.manifest["lab"] == "hosts"
    text = json.dumps(record.manifest) + json.dumps(record.plan) + json.dumps(record.result)
    assert str(hosts.config) not in text
    assert "IdentityFile" not in text


def test_nothing_is_left_at_the_machines(record: Record, hosts: Hosts) -> None:
    assert {name: host.leftovers() for name, host in hosts.items()} == {"alice": [], "bob": []}


def test_runs_of_one_lab_share_their_sessions(hosts: Hosts, tmp_path: Path) -> None:
    # Time for a SYN that is lost: it is repeated after a second.
    short = SCENARIO.replace('"1s"', '"2s"').replace('"500ms"', '"100ms"').replace("600kB", "20kB")
    with lab() as found:
        records = [Record.open(found.measure(lowered(short), tmp_path / str(n))) for n in range(3)]
        opened = {name: session.hello["pid"] for name, session in found.company.sessions().items()}
        again = {name: session.hello["pid"] for name, session in found.company.sessions().items()}
    assert opened == again
    assert len({one.key for one in records}) == 3
    assert [one.result["flows"][0]["bytes_received"] for one in records] == [20_000] * 3


def test_an_agent_that_is_killed_is_named_and_the_other_machine_stops(hosts: Hosts, tmp_path: Path) -> None:
    long = SCENARIO.replace('"1s"', '"200s"')
    started = time.monotonic()

    def kill() -> None:
        deadline = time.monotonic() + 60
        while not hosts["bob"].processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.5)
        for pid in hosts["bob"].processes():
            kills.send(pid)

    timer = Thread(target=kill)
    with lab() as found:
        timer.start()
        with pytest.raises(HostError) as caught:
            found.measure(lowered(long), tmp_path / "run")
    timer.join()
    # Far less than the experiment would have taken.
    assert time.monotonic() - started < 60
    assert str(caught.value.where).startswith("r1 (bob)")
    assert list(tmp_path.iterdir()) == []
    assert [hosts[name].leftovers() for name in ("alice", "bob")] == [[], []]


def test_what_a_command_of_a_user_does(hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO)
    Path("hosts.toml").write_text('[host.s1]\nat = "alice"\n[host."r*"]\nat = "bob"\n')
    words = ["run", "two.toml", "--lab", "hosts", "--hosts", "hosts.toml", "--out", "out", "--repeat", "2"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "nothing of the drawing was made" in done.output
    page = Path("out/report.html").read_text()
    assert "hosts: s1 at alice, r* at bob" in page
    assert "virtual time" not in page
    assert len(list(Path("out/runs").iterdir())) == 2
    about = json.loads(Path("out/set.json").read_text())
    assert about["lab"] == "hosts"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "s1=alice", "--host", "r1=nobody-of-that-name"], "r1 (nobody-of-that-name)"),
        (["--host", "s1=alice"], "two machines"),
        (["--host", "s1=alice", "--host", "x=bob"], "no machine is named for r1"),
    ],
)
def test_mistakes_are_told_by_name(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO)
    try:
        done = CliRunner().invoke(
            cli, ["run", "two.toml", "--lab", "hosts", *words], standalone_mode=False, catch_exceptions=False
        )
        text = done.output
    except RushHourError as error:
        text = str(error)
    assert said in text
