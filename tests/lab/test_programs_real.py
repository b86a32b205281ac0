"""Programs that people have, in a virtual kernel: each does its work, and twice the same to the byte.

Those of the catalogue's topic run as they ship, with less to carry. What each needs is in the table of
docs/programs.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import cpus
import pytest

from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import expand, lower
from rushhour.record.record import Record
from rushhour.spec import load_scenario
from rushhour.spec.load import parse_scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.kernel import Kernel
    from rushhour.spec import Scenario

pytestmark = pytest.mark.virtual

# The interpreter itself, not that of the environment: its modules would come along.
PYTHON = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
RTT = 0.1
TOP = 'duration = "20s"\ntopology = { preset = "dumbbell", rate = "2mbit", rtt = "100ms" }\n'
TOOLS = """
[[program]]
name = "dns"
node = "r1"
command = "dnsmasq -k -R -h --port=53 --user=root --pid-file= --address=/example.org/192.0.2.7"
ready = 53
[[program]]
name = "dig"
node = "s1"
command = "dig @r1 example.org +short"
after = "dns"
until = "exit"
[[program]]
name = "ping"
node = "s1"
command = "ping -c 3 -i 0.2 r1"
after = "dns"
until = "exit"
[[program]]
name = "redis"
node = "r1"
command = "redis-server --port 6379 --save '' --protected-mode no"
ready = 6379
[[program]]
name = "benchmark"
node = "s1"
command = "redis-benchmark -h r1 -c 1 -n 5 -t set --csv"
after = "redis"
until = "exit"
[[program]]
name = "iperf3d"
node = "r1"
command = "iperf3 -s -1"
ready = 5201
[[program]]
name = "iperf3"
node = "s1"
command = "iperf3 -c r1 -n 100K"
after = "iperf3d"
until = "exit"
"""


@pytest.fixture
def kernel() -> Kernel:
    """One is enough: it is the programs that are tried here."""
    return kernels.find("debian-6.12")


@pytest.fixture
def twice(kernel: Kernel, tmp_path: Path) -> Callable[[Scenario], Record]:
    """Runs a scenario twice; both records have to be equal, and all programs to have ended well."""

    def run(scenario: Scenario) -> Record:
        lowered = lower(scenario, 1)
        job = Job(lowered.plan, lowered.context, kernel, {})
        places = [tmp_path / "first", tmp_path / "second"]
        first, second = (Record.open(UmlLab().run(job, place, cpus.own())) for place in places)
        failed = {one.name: one.error for one in first.result.programs if one.error}
        assert not failed, [line.text for line in first.output()]
        assert first.manifest.files == second.manifest.files
        return first

    return run


def said(record: Record, name: str) -> str:
    """What a program printed."""
    number = next(one.id for one in record.result.programs if one.name == name)
    return "\n".join(line.text for line in record.output() if line.program == number)


def took_s(record: Record, name: str) -> float:
    one = next(one for one in record.result.programs if one.name == name)
    assert one.started_ns is not None
    assert one.ended_ns is not None
    return (one.ended_ns - one.started_ns) / 1e9


def cell(name: str, *sets: str, **factors: str) -> Scenario:
    """A cell of the catalogue."""
    (found,) = (
        one for one in expand(load_scenario(name, sets)) if factors.items() <= {
            key.rpartition(".")[2]: str(value) for key, value in one.factors.items()}.items()
    )  # fmt: skip
    return found.scenario


def test_tools_of_every_administrator(twice: Callable[[Scenario], Record]) -> None:
    record = twice(parse_scenario(TOP + TOOLS))
    assert said(record, "dig") == "192.0.2.7"
    times = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", said(record, "ping"))]
    assert len(times) == 3
    assert min(times) >= 1e3 * RTT
    latency_ms = float(said(record, "benchmark").splitlines()[-1].split('","')[4])
    assert 1e3 * RTT <= latency_ms < 1e3 * RTT + 600, "behind iperf3's 100 kB at most"
    assert "iperf Done." in said(record, "iperf3")
    groups = {flow.group for flow in record.flows()}
    assert {"r1:53", "r1:6379", "r1:5201"} <= groups


@pytest.mark.parametrize(
    ("http", "kind", "handshakes"), [("1.1", "tcp", 6), ("2", "tcp", 1), ("3", "udp", 1)]
)
def test_a_page_by_each_version_of_http(
    http: str, kind: str, handshakes: int, twice: Callable[[Scenario], Record]
) -> None:
    few = ("program.nginx.environment.OBJECTS=12", "program.page.environment.OBJECTS=12", "topology.loss=1%")
    record = twice(cell("programs/http-versions", *few, http=http))
    opened = [flow for flow in record.flows(kind) if not flow.group.endswith(".back")]
    assert len(opened) == handshakes
    back = [flow.outcome.bytes_received or 0 for flow in record.flows(kind) if flow.group.endswith(".back")]
    assert 12 * 25_000 < sum(back) < 12 * 25_000 * 1.1
    # A handshake, TLS where TCP has none of its own, the request; and the rate of 10 Mbit/s.
    least = (3 if kind == "tcp" else 2) * RTT + 12 * 25_000 * 8 / 10e6
    assert least <= took_s(record, "page") < least + 2


def test_a_film_and_its_player(twice: Callable[[Scenario], Record]) -> None:
    short = ("program.player.environment.SECONDS=10", "topology.queue=fq_codel", "flow.download.count=1")
    python = [f'program.{name}.command="{PYTHON} video/{file}.py"' for name, file in
              (("film", "serve"), ("player", "play"))]  # fmt: skip
    record = twice(cell("programs/video-beside-downloads", *short, *python))
    assert "stood still for 0.00 s" in said(record, "player")
    assert 10 < took_s(record, "player") < 12


@pytest.mark.parametrize(("buffer", "least", "most"), [("8", 3.0, 10.0), ("24", 0.0, 0.5)])
def test_a_film_stands_still_where_an_outage_lasts_longer_than_its_buffer(
    buffer: str, least: float, most: float, twice: Callable[[Scenario], Record]
) -> None:
    python = f'program.player.command="{PYTHON} video/play.py"'
    factors = {"BUFFER": buffer, "CHOICE": "throughput", "line": "outage of 12 s"}
    record = twice(cell("programs/when-video-stands-still", python, **factors))
    words = re.search(r"stood still for ([\d.]+) s \((0 times|1 time)\)", said(record, "player"))
    assert words is not None
    still = float(words[1])
    assert least <= still <= most
    assert took_s(record, "player") == pytest.approx(80 + still, abs=0.5), "and what the first segment takes"


@pytest.mark.parametrize(
    ("redis", "how"),
    [
        ("patient", None),
        ("impatient", "Partial resynchronization request"),
        ("impatient, forgets", "for lack of backlog"),
    ],
)
def test_a_replica_catches_up_after_an_outage(
    redis: str, how: str | None, twice: Callable[[Scenario], Record]
) -> None:
    record = twice(cell("programs/redis-replica-after-an-outage", outage="5 s", redis=redis))
    assert said(record, "caught-up").split() == ["OK", "1"], "one replica has all that was written"
    primary = said(record, "primary")
    assert primary.count("asks for synchronization") == (1 if how is None else 2)
    assert how is None or how in primary
    # After 10 s of writes nothing arrives for 5 s; TCP was silent for no longer than that again.
    assert RTT / 2.5 <= took_s(record, "caught-up") <= 10


PRIMARY = """
set -e
initdb -D /tmp/data -U postgres --no-sync > /dev/null
echo "host all all all trust\nhost replication all all trust" >> /tmp/data/pg_hba.conf
exec postgres -D /tmp/data -k /tmp -c listen_addresses='*' -c fsync=off
"""
REPLICA = """
set -e
pg_basebackup -h s1 -U postgres -D /tmp/copy -R -X stream -c fast
postgres -D /tmp/copy -k /tmp -p 5433 -c fsync=off &
psql -q -h s1 -U postgres -c 'create table t as select generate_series(1, 100)'
until psql -h /tmp -p 5433 -U postgres -Atc 'select count(*), pg_is_in_recovery() from t'; do sleep 0.2; done
"""


def test_postgresql_with_a_replica(twice: Callable[[Scenario], Record], tmp_path: Path) -> None:
    """A server that refuses root, forks, and shares memory in System V's way."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    for name, text in (("primary", PRIMARY), ("replica", REPLICA)):
        (tmp_path / f"{name}.sh").write_text(f"export PATH={programs}:$PATH\n{text}")
    needs = [str(programs.parent), "/usr/share/postgresql", "sh", "setpriv", "sleep"]
    scenario = 'duration = "60s"\ntopology = { preset = "dumbbell", rate = "50mbit", rtt = "20ms" }\n'
    for name, node, more in (
        ("primary", "s1", "ready = 5432"), ("replica", "r1", 'after = "primary"\nuntil = "exit"')
    ):  # fmt: skip
        scenario += f"""
[[program]]
name = "{name}"
node = "{node}"
command = "setpriv --reuid=65534 --regid=65534 --clear-groups sh {name}.sh"
files = "{name}.sh"
needs = {needs}
{more}
"""
    record = twice(parse_scenario(scenario, folder=tmp_path))
    assert "100|t" in said(record, "replica").splitlines()


def test_git_clones_over_ssh(twice: Callable[[Scenario], Record]) -> None:
    small = ("program.server.environment.BYTES=200000", "topology.rtt=20ms", "topology.loss=0%")
    record = twice(cell("programs/git-clone-far-away", *small, tcp_congestion_control="cubic"))
    received = next(flow for flow in record.flows("tcp") if flow.group == "clone.back").outcome.bytes_received
    assert received is not None
    assert received > 200_000
    assert record.result.found is not None
    assert record.result.ended_ns is not None
    last = max(flow.last_ns for flow in record.result.found.flows)
    assert last < record.result.ended_ns + 1e9, "what is open lasts until the programs end the experiment"
    # TCP, ssh's versions, keys, login, channel; git's versions and wants.
    assert took_s(record, "clone") > 8 * 0.02


def test_what_prints_without_end_is_bounded(kernel: Kernel, tmp_path: Path) -> None:
    scenario = parse_scenario(TOP.replace("20s", "20ms") + '[[program]]\nnode = "s1"\ncommand = "yes"\n')
    lowered = lower(scenario, 1)
    record = Record.open(
        UmlLab().run(Job(lowered.plan, lowered.context, kernel, {}), tmp_path / "run", cpus.own())
    )
    (program,) = record.result.programs
    assert program.bytes == 2 * program.lines
    assert program.dropped_bytes > 2**20
    assert (record.path / "raw/output.jsonl").stat().st_size <= 2**24
