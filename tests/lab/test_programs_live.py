"""Programs in a virtual kernel: a server and its client, order, ends, output; the same bytes each time."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from commandline import rush

from rushhour.explain import explain
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.report import embed
from rushhour.series.sharing import sharing
from rushhour.spec.load import load_scenario

pytestmark = pytest.mark.virtual

DOCUMENT = Path(__file__).parents[2] / "docs" / "programs.md"
# The interpreter itself, not that of the environment: its modules would come along.
PYTHON = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
TOP = 'duration = "10s"\ntopology = { preset = "dumbbell", rate = "2mbit", rtt = "100ms" }\n'
GET = "import urllib.request as u; print(len(u.urlopen('http://r1:8000/page.html').read()))"
WEB = f"""
[[program]]
name = "server"
node = "r1"
command = ["{PYTHON}", "-m", "http.server", "8000"]
ready = 8000
files = "page.html"
[[program]]
name = "client"
node = "s1"
command = ["{PYTHON}", "-c", "{GET}"]
after = "server"
until = "exit"
"""
SHELL = """
[[program]]
name = "says"
node = "s1"
command = ["sh", "-c", "cat; echo $WORD; pwd; cat f.txt; sleep 1; echo go; sleep 1; echo late >&2; exit 3"]
input = "from input\\n"
environment = { WORD = "from outside" }
files = "f.txt"
needs = ["cat", "sleep"]
ready = "go"
exit = 3
[[program]]
name = "waits"
node = "r1"
command = "./script"
files = "script"
after = "says"
[[program]]
name = "fails"
node = "r1"
command = ["sh", "-c", "exit 7"]
[[program]]
name = "stopped"
node = "r1"
command = ["sh", "-c", "trap 'echo bye; exit 0' TERM; while :; do sleep 0.2; done"]
needs = "sleep"
stop = "1500ms"
[[program]]
name = "never"
node = "r1"
command = "sh"
after = "fails-not-ready"
[[program]]
name = "fails-not-ready"
node = "r1"
command = ["sh", "-c", "exit 0"]
ready = 99
"""


def run(text: str, folder: Path, place: str) -> Record:
    for name, content in {
        "page.html": "x" * 50_000,
        "f.txt": "from a file\n",
        "script": "#!/bin/sh\necho s\n",
    }.items():
        (folder / name).write_text(content)
    file = folder / "s.toml"
    file.write_text(TOP + text)
    lowered = lower(load_scenario(file), 1)
    job = Job(lowered.plan, lowered.context, kernels.find("debian-6.12"), {})
    return Record.open(UmlLab().run(job, folder / place))


def test_a_server_and_its_client_talk_in_virtual_time(tmp_path: Path) -> None:
    record = run(WEB, tmp_path, "a")
    server, client = record.result.programs
    assert (client.exit, client.error, server.error) == (0, None, None)
    assert server.stopped
    assert [line.text for line in record.output() if line.program == 1] == ["50000"]
    assert client.ended_ns is not None
    assert server.ready_ns is not None
    assert client.started_ns is not None
    assert client.started_ns >= server.ready_ns
    # A handshake, the request, and 50 kB from an initial window of ten on a rate of 2 Mbit/s.
    took_s = (client.ended_ns - client.started_ns) / 1e9
    assert 0.2 + 50_000 * 8 / 2e6 <= took_s < 1
    assert record.result.ended_ns == client.ended_ns
    # What they said to each other are flows like any: the request too brief for anything to limit it.
    flows = {flow.name: flow for flow in record.flows("tcp")}
    assert sorted(flows) == ["client.1", "client.back.1"]
    assert flows["client.1"].is_brief
    answer = flows["client.back.1"].outcome.bytes_received
    assert answer is not None
    assert 50_000 < answer < 50_500, "with the headers of HTTP"
    assert [one.flow for one in explain(record)] == ["client.back.1"]
    assert record.context.duration_ns == client.ended_ns
    # The server wrote all at once: of the last bytes' way it is not said that it was too slow.
    assert explain(record)[0].shares["application"] < 0.1
    assert sharing(record) == [flows["client.back.1"]], "a request takes nothing from its answer"
    again = run(WEB, tmp_path, "b")
    assert again.manifest.files == record.manifest.files


PLAIN = """
import ctypes, locale, os
libc = ctypes.CDLL(None, use_errno=True)
os.setgid(65534), os.setuid(65534)
open("/dev/null", "w").write("x"), open("/dev/zero", "rb").read(1)
print(locale.setlocale(locale.LC_ALL, ""))
print(libc.shmget(0, 4096, 0o1600) >= 0)
print(libc.syscall(240, b"q", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0)
print(libc.syscall(425, 8, ctypes.create_string_buffer(120)) >= 0)
"""


def test_servers_that_give_up_root_find_what_they_find_anywhere(tmp_path: Path) -> None:
    """PostgreSQL wants a user, its locale, /dev/null and shared memory; others message queues or io_uring."""
    (tmp_path / "plain.py").write_text(PLAIN)
    record = run(
        f'[[program]]\nnode = "s1"\ncommand = ["{PYTHON}", "plain.py"]\nfiles = "plain.py"\nuntil = "exit"\n',
        tmp_path, "a",
    )  # fmt: skip
    said = [line.text for line in record.output()]
    assert said[1:] == ["True"] * 3, record.result.programs
    assert said[0].replace("utf8", "UTF-8").endswith("C.UTF-8")


def test_programs_wait_print_end_and_are_ended(tmp_path: Path) -> None:
    record = run(SHELL, tmp_path, "a")
    named = {one.name: one for one in record.result.programs}
    texts = {
        name: [line.text for line in record.output() if line.program == one.id] for name, one in named.items()
    }
    assert texts["says"] == ["from input", "from outside", "/lab/says", "from a file", "go", "late"]
    assert texts["waits"] == ["s"]
    assert named["says"].error is None
    assert named["waits"].started_ns is not None
    assert 1e9 <= named["waits"].started_ns < 1.1e9
    assert named["fails"].error == "ended with status 7, not 0"
    assert texts["stopped"][-1] == "bye", "its shell says first what became of sleep"
    assert named["stopped"].stopped
    assert named["stopped"].ended_ns is not None
    assert 1.5e9 <= named["stopped"].ended_ns < 1.8e9
    assert named["never"].started_ns is None
    assert "did not begin: fails-not-ready was never ready" in str(named["never"].error)
    values = {(one.metric, one.scope): one.value for one in record.metrics()}
    assert values["program_exit", "program:fails"] == 7
    time_s = values["program_time_s", "program:says"]
    assert time_s is not None
    assert 2 <= time_s < 2.01


def test_a_program_sees_its_network_and_nothing_of_the_agents(tmp_path: Path) -> None:
    look = "import os, socket; print(os.listdir('/out'), os.listdir('/sys/class/net'), socket.gethostname())"
    record = run(f'[[program]]\nnode = "s1"\ncommand = ["{PYTHON}", "-c", "{look}"]\n', tmp_path, "a")
    (line,) = record.output()
    assert line.text.startswith("[] ")
    assert "'lo'" in line.text
    assert line.text.endswith("] s1")


def test_each_program_finds_its_nodes_name_as_the_hosts(tmp_path: Path) -> None:
    ask = 'command = ["sh", "-c", "read -r name < /proc/sys/kernel/hostname; echo $name"]\n'
    text = "".join(f'[[program]]\nnode = "{node}"\n{ask}' for node in ("s1", "r1", "left"))
    record = run(text, tmp_path, "a")
    assert {line.program: line.text for line in record.output()} == {0: "s1", 1: "r1", 2: "left"}


def test_exec_gives_output_and_status(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(TOP + "[[flow]]\n")
    command = ("sh", "-c", "echo out; echo err >&2; exit 5")
    done = rush("exec", str(file), "s1", "--kernel", "debian-6.12", "--", *command)
    assert (done.returncode, done.stdout, done.stderr) == (5, "out\n", "err\n")


def test_exec_holds_a_run_against_what_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(TOP + "[[flow]]\n[[expect]]\nmetric = 'goodput_bps'\nmin = 1e9\n")
    words = ("exec", str(file), "s1", "--kernel", "debian-6.12", "--needs", "sleep")
    kept = ("--expect", "goodput of tcp1 > 1 mbit", "--expect", "program_time of sh >= 3s")
    shell = ("--", "sh", "-c")
    done = rush(*words, *kept, *shell, "sleep 3")
    assert (done.returncode, done.stderr) == (0, ""), "what the scenario itself expects is not asked"
    broken = ("--expect", "goodput of tcp1 > 3mbit", "--expect", "program_time = 3s ± 10%")
    done = rush(*words, *broken, *shell, "sleep 3")
    assert done.returncode == 122
    (line,) = done.stderr.splitlines()
    assert line.startswith("not as expected: goodput_bps of flow:tcp1 is ")
    assert line.endswith("bit/s; expected > 3000000")
    done = rush(*words, *broken, *shell, "sleep 3; exit 9")
    assert done.returncode == 9, "the program's own status comes first"
    assert "not as expected" in done.stderr
    done = rush(*words, "--expect", "goodput > 3s", *shell, "sleep 3")
    assert done.returncode == 2
    assert '"s" cannot be converted to "bit/s"' in done.stderr


def test_the_documents_examples_of_exec_end_well(tmp_path: Path) -> None:
    text = DOCUMENT.read_text()
    scenario = text.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "web.toml").write_text("[[program]]".join(scenario.split("[[program]]")[:2]))
    (tmp_path / "page.html").write_text("x" * 100_000)
    examples = [line for line in text.splitlines() if line.startswith("rushhour exec web.toml")]
    assert [line for line in examples if "--expect" in line]
    assert [line for line in examples if "--expect" not in line]
    for line in examples:
        # The interpreter of an environment would bring all that is installed there.
        done = rush(*shlex.split(line)[1:], cwd=tmp_path, PATH="/usr/bin:/bin")
        assert (done.returncode, len(done.stdout), done.stderr) == (0, 100_000, "")


def test_the_page_of_a_sweep_has_what_programs_said_and_how_long_runs_lasted(tmp_path: Path) -> None:
    words = 'for i in $(seq 12); do echo line $i; done; sleep $LONG; echo "for $LONG s"; exit $(($LONG - 1))'
    (tmp_path / "net.toml").write_text(
        TOP
        + f"[[program]]\nnode = 's1'\nname = 'says'\ncommand = ['sh', '-c', '{words}']\n"
        + "needs = ['sleep', 'seq']\nuntil = 'exit'\nenvironment = { LONG = 1 }\n"
        + "[sweep]\n'program.says.environment.LONG' = [1, 3]\n"
    )
    done = rush("run", "net.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1, "one did not end well"
    assert done.stdout.count("program says ended with status 2, not 0") == 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert re.search(r"Duration</dt>\s*<dd>1\.0\d+ to 3\.0\d+ s<", page)
    packed = re.findall(r'id="series-\d+">([^<]*)<', page)
    first, second = (embed.unpack(text)[0]["programs"][0] for text in packed)
    assert (first["fault"], first["before"]) == ("", "The record has 5 lines before these.")
    assert [text for _, text in first["said"]] == [*(f"line {i}" for i in range(6, 13)), "for 1 s"]
    assert second["how"].endswith("exit 2")
    assert second["fault"]
    assert second["said"][-1][1] == "for 3 s"


def test_the_date_of_an_experiment_is_as_documented(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(TOP + "[[flow]]\n")
    said = rush("exec", "net.toml", "s1", "--", "date", "-u", "+on %F at %T UTC", cwd=tmp_path).stdout.strip()
    assert f"the experiment begins {said}" in DOCUMENT.read_text()


def test_a_program_that_computes_without_end_is_named(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(TOP + "[[flow]]\n")
    words = ("exec", str(file), "s1", "--kernel", "debian-6.12", "--", "sh", "-c", "while :; do :; done")
    done = rush(*words, RUSHHOUR_STALL="3")
    assert done.returncode == 2
    assert "virtual time stood still: a program computes without end" in done.stderr
    assert "(sh)" in done.stderr


def test_a_program_that_fills_its_machines_memory_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(TOP.replace("10s", "100ms") + "[[flow]]\n")
    code = "x = []\nwhile True: x.append(bytearray(10**7))"
    done = rush("exec", str(file), "s1", "--kernel", "debian-6.12", "--", PYTHON, "-c", code)
    assert done.returncode == 128 + 9
    assert "the memory of its machine was full" in done.stderr


def test_a_run_whose_program_fails_fails(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(TOP + '[[program]]\nnode = "s1"\ncommand = ["sh", "-c", "exit 7"]\n')
    out = str(tmp_path / "out")
    done = rush("run", str(file), "--kernel", "debian-6.12", "--out", out, "--json", "--no-report")
    assert done.returncode == 1
    (one,) = json.loads(done.stdout)["sets"][0]["runs"]
    assert [verdict["ok"] for verdict in one["expectations"]] == [False]
