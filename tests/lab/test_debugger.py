"""`rushhour debug`: a run under gdb has the same bytes, and what gdb shows is what the run recorded."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import kills
import numpy as np
import pytest
from commandline import rush
from typing_at import Typist

from mutants.relink import Relinker
from rushhour.debug import Asked, debug
from rushhour.errors import KernelError, RecordError, UsageError
from rushhour.lab import debugger
from rushhour.lab import kernel as kernels
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.virtual

SCENARIO = """
title = "Debugged"
question = "What does gdb see?"
duration = "2s"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "20ms", buffer = "20p" }
sweep = { cc = ["cubic", "reno"] }
[[flow]]
name = "long"
kind = "tcp"
"""


@pytest.fixture(scope="module")
def symbols() -> kernels.Kernel:
    """The kernel with its symbols: found in the cache, or compiled once."""
    return kernels.build("debian:6.12", files=["symbols"])


@pytest.fixture(scope="module")
def runs(symbols: kernels.Kernel, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """CUBIC's run and Reno's, on the kernel without symbols."""
    folder = tmp_path_factory.mktemp("debugged")
    (folder / "debugged.toml").write_text(SCENARIO)
    plain = kernels.find("debian-6.12")
    assert plain.identity["image_sha256"] == symbols.identity["image_sha256"]
    done = rush("run", "debugged.toml", "--kernel", plain.name, "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return ResultSet.open(folder / "out").folders()


def gdb(run: Path, *words: str) -> str:
    done = rush("debug", str(run), *words, "--batch")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "with the bytes of the record" in done.stderr
    return done.stdout


def with_paths() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def commands(*texts: str) -> list[str]:
    return [word for text in texts for word in ("--command", text)]


def test_the_image_is_the_same_with_and_without_symbols(symbols: kernels.Kernel) -> None:
    plain = kernels.find("debian-6.12")
    assert symbols.identity["image_sha256"] == plain.identity["image_sha256"]
    assert kernels.default().name != symbols.name


def test_a_function_stops_as_often_as_it_is_called_and_the_bytes_stay(runs: list[Path]) -> None:
    said = gdb(
        runs[0],
        "--break",
        "tcp_cwnd_reduction",
        *commands("bt 3", "ignore 3 1000000", "continue", "info breakpoints"),
    )
    assert re.search(r"#1 .* in (tcp_cong_control|tcp_ack)\b", said)
    hits = re.search(r"already hit (\d+) times", said)
    assert hits is not None
    assert int(hits[1]) > 10


def test_what_is_shown_at_an_instant_is_what_was_recorded_then(runs: list[Path]) -> None:
    said = gdb(
        runs[0],
        "--at",
        "1s",
        *commands("rush time", "rush flows", "rush qdisc", "rush timers", "rush skbs long"),
    )
    assert re.search(r"^1\.000\d{3} s \(", said, re.MULTILINE)
    record = Record.open(runs[0])
    # The kernel's table of sockets has no order: the receiver may come first.
    rows = [line.split() for line in said.splitlines() if line.startswith("long ")]
    row = next(row for row in rows if row[1] != "(receiver)")
    probe = record.frame("tcp_probe").to_pandas()
    last = probe[probe["t_ns"] < 1_000_000_000].iloc[-1]
    assert row[1:3] == ["ESTABLISHED", "cubic"]
    assert int(row[4]) == int(last["snd_cwnd"])
    assert float(row[-2]) == pytest.approx(last["srtt"] / 1000, rel=0.01)
    queues = record.frame("qdisc").to_pandas()
    sampled = queues[(queues["t_ns"] - 1_000_000_000).abs() < 10_000]
    backlog = int(sampled[sampled["kind"] == "tbf"]["qlen"].max())
    shown = [
        int(line.split()[4]) for line in said.splitlines() if re.match(r"\S+ +(bfifo|pfifo|tbf|netem) ", line)
    ]
    assert max(shown) == pytest.approx(backlog, abs=1)
    assert re.search(r"^long +retransmission +\d+ ms", said, re.MULTILINE)
    sent = [line.split() for line in said.splitlines() if line.startswith("sent ")]
    ends = np.array([(int(row[1]), int(row[2])) for row in sent])
    assert (ends[1:, 0] == ends[:-1].sum(axis=1)).all()


def test_a_flow_and_a_line_are_told_apart(runs: list[Path]) -> None:
    said = gdb(runs[0], "--break", "tcp_v4_rcv", "--flow", "long", *commands("bt 1"))
    assert "tcp_v4_rcv" in said
    said = gdb(
        runs[0],
        "--break",
        "tcp_ack",
        "--flow",
        "long",
        *commands("rush tcp long", "print ((struct inet_connection_sock *)sk)->icsk_ca_ops->name"),
    )
    assert '"cubic' in said
    assert re.search(r"^snd_cwnd +\d+$", said, re.MULTILINE)
    assert "struct bictcp" in said


def test_an_algorithm_and_a_discipline_show_their_own_memory(tmp_path: Path) -> None:
    """BIC and CUBIC have structures of one name: each is shown with its own fields."""
    text = SCENARIO.replace('"cubic", "reno"', '"bic", "cubic"')
    (tmp_path / "debugged.toml").write_text(text)
    words = ("--kernel", "debian-6.12", "--no-report", "--out", "out")
    assert rush("run", "debugged.toml", *words, cwd=tmp_path).returncode == 0
    bic, cubic = (
        gdb(run, "--at", "1s", *commands("rush tcp long", "rush qdisc right"))
        for run in ResultSet.open(tmp_path / "out").folders()
    )
    fields = [set(re.findall(r"^(\w+) +\d+$", said, re.MULTILINE)) for said in (bic, cubic)]
    assert "delayed_ack" in fields[0] - fields[1]
    assert "bic_K" in fields[1] - fields[0]
    assert re.search(r"^right +tbf +1: +root +\d+ ", cubic, re.MULTILINE)
    assert re.search(r"^right +pfifo +10: +1:1 +\d+ ", cubic, re.MULTILINE)
    # What tc computes of a rate of 10 Mbit/s is in the queue's own memory.
    assert re.search(r"^rate\.rate_bytes_ps +1250000$", cubic, re.MULTILINE)
    assert re.search(r"^tokens +-?\d+$", cubic, re.MULTILINE)


def test_the_last_call_until_an_instant_is_found_again(runs: list[Path]) -> None:
    looks = commands("rush time", "continue", "rush time")
    said = gdb(runs[0], "--at", "1s", "--last", "tbf_dequeue", *looks)
    last, following = (float(now) for now in re.findall(r"^(\d+\.\d+) s \(", said, re.MULTILINE))
    assert 0.9 < last < 1 <= following


def test_of_several_functions_the_one_that_is_called_last_stops(runs: list[Path]) -> None:
    words = (
        "--at",
        "1s",
        "--last",
        "tcp_v4_connect",
        "--last",
        "no_such_function",
        "--last",
        "tcp_cwnd_reduction",
    )
    alone = gdb(runs[0], *words[:4], *commands("rush time", "bt 1"))
    both = gdb(runs[0], *words, *commands("rush time", "bt 1"))
    first, last = (float(re.findall(r"^(\d+\.\d+) s \(", said, re.MULTILINE)[0]) for said in (alone, both))
    assert first < last < 1
    assert "tcp_v4_connect" in alone
    assert "tcp_cwnd_reduction" in both


def test_the_last_call_until_a_divergence_may_be_what_parts(runs: list[Path]) -> None:
    words = ("--divergence", str(runs[0]), "--last", "tcp_ack", "--flow", "long", "--batch")
    done = rush("debug", str(runs[1]), *words, *commands("rush time", "continue", "rush time"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.search(r"^At (\d+\.\d+) s", done.stderr, re.MULTILINE)
    assert told is not None, done.stderr
    last, following = (float(now) for now in re.findall(r"^(\d+\.\d+) s \(", done.stdout, re.MULTILINE))
    assert last <= float(told[1]) + 1e-6 < following


@pytest.mark.parametrize(
    ("function", "message"),
    [("no_such_function", "finds no such function"), ("tcp_v6_rcv", "is not called until then")],
)
def test_a_last_call_that_there_is_not_is_told(runs: list[Path], function: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        debug(runs[0], Asked(at="1s", last=[function]))


def test_two_runs_part_where_it_is_said(runs: list[Path]) -> None:
    done = rush("debug", str(runs[1]), "--divergence", str(runs[0]), "--batch", *commands("rush time"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.search(r"^At (\d+\.\d+) s", done.stderr, re.MULTILINE)
    now = re.search(r"^(\d+\.\d+) s \(", done.stdout, re.MULTILINE)
    assert told is not None, done.stderr
    assert now is not None, done.stdout + done.stderr
    assert float(now[1]) == pytest.approx(float(told[1]), abs=1e-6)


def test_who_quits_lets_it_go_on_to_its_end(runs: list[Path]) -> None:
    command = [sys.executable, "-m", "rushhour", "debug", str(runs[0]), "--at", "1s"]
    done = subprocess.run(
        command, input="quit\n", capture_output=True, text=True, check=False, timeout=300, env=with_paths()
    )
    assert done.returncode == 0, done.stderr
    assert "with the bytes of the record" in done.stderr


def test_another_debugger_is_served(runs: list[Path], tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "rushhour",
        "debug",
        str(runs[0]),
        "--break",
        "tcp_ack",
        "--listen",
        str(port),
    ]
    with kills.at_the_end(
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=with_paths())
    ) as server:
        script = tmp_path / f"rushhour-{port}.gdb"
        for _ in range(600):
            if script.is_file() and script.read_text().endswith("\n"):
                break
            time.sleep(0.1)
        words = [
            "gdb",
            "-q",
            "-nx",
            "-batch",
            "-x",
            str(script),
            "-ex",
            "bt 1",
            "-ex",
            "delete",
            "-ex",
            "continue",
        ]
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert "tcp_ack" in said.stdout, said.stderr
        assert server.wait(120) == 0
        assert server.stderr is not None
        assert "with the bytes of the record" in server.stderr.read()
    assert not script.exists()


@pytest.fixture(scope="module")
def warning(symbols: kernels.Kernel) -> Iterator[kernels.Kernel]:
    """A kernel that warns at the first loss and nowhere before, linked of the objects there are."""
    relinker = Relinker(symbols)
    name, begin = "net/ipv4/tcp_input.c", "void tcp_enter_recovery(struct sock *sk, bool ece_ack)\n{\n"
    text = relinker.text(name)
    assert text.count(begin) == 1
    made = relinker.build({name: text.replace(begin, f"{begin}WARN_ON(sk);")}, "warns-at-recovery", {})
    assert made is not None
    yield made
    kernels.remove(made.folder.name)


def test_a_run_that_failed_stops_at_the_line_that_the_kernel_complains_of(
    warning: kernels.Kernel, tmp_path: Path
) -> None:
    (tmp_path / "debugged.toml").write_text(SCENARIO)
    words = ("--kernel", warning.name, "--no-report", "--out", "out")
    assert rush("run", "debugged.toml", *words, cwd=tmp_path).returncode == 1
    run = str(tmp_path / "out")
    done = rush("debug", run, "--complaint", "--batch", *commands("rush flows"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the kernel complains" in done.stderr
    assert re.search(
        r"^(#\d+ .*)?\btcp_enter_recovery .*\bat \S*net/ipv4/tcp_input\.c:\d+", done.stdout, re.MULTILINE
    )
    assert re.search(r"^long +ESTABLISHED ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked(at="1s", divergence=Path()), "both name an instant"),
        (Asked(at="soon"), "--at"),
        (Asked(at="3s"), "after the run's end"),
        (Asked(functions=["tcp_ack; shell"]), "is no function"),
        (Asked(functions=["tcp_ack"], flow="short"), 'no flow "short"'),
        (Asked(at="1s", last=["tcp_ack; shell"]), "is no function"),
        (Asked(last=["tcp_ack"]), "--last needs an instant"),
        (Asked(at="1s", last=["tcp_ack"], functions=["tcp_ack"]), "--last and --break both"),
    ],
)
def test_what_makes_no_sense_is_refused(runs: list[Path], asked: Asked, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        debug(runs[0], asked)


def test_a_kernel_without_symbols_and_several_runs_are_told(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RecordError, match="2 runs here"):
        debug(runs[0].parent.parent, Asked())
    plain = [one for one in kernels.installed() if "symbols" not in str(one.identity["source"])]
    monkeypatch.setattr(kernels, "installed", lambda: plain)
    with pytest.raises(KernelError, match="no symbols") as told:
        debug(runs[0], Asked())
    assert "rushhour kernel build debian:6.12 --with symbols" in str(told.value)


def test_a_debugger_that_fails_lets_the_guest_go(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: debugger.Gdb, _pid: int, _sandbox: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(debugger.Gdb, "serve", fails)
    before = children()
    with pytest.raises(KeyboardInterrupt):
        debug(runs[0], Asked())
    assert children() == before


def children() -> set[str]:
    """The processes that this one has started and not waited for."""
    return {word for path in Path("/proc/self/task").glob("*/children") for word in path.read_text().split()}


def test_a_guest_that_stands_still_goes_with_its_controller(runs: list[Path], tmp_path: Path) -> None:
    """Killed, `rushhour debug` leaves no launcher that waits for a guest to begin."""
    code = (
        "import os, signal; from pathlib import Path; from rushhour.debug import Asked, debug; "
        "from rushhour.lab.debugger import Gdb; "
        "Gdb.serve = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        f"debug(Path({str(runs[0])!r}), Asked())"
    )
    # Its folder stays, as nothing can remove what SIGKILL interrupts: here, where pytest removes it.
    marked = with_paths() | {"RUSHHOUR_MARK": str(runs[0]), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=marked, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    for _ in range(100):
        left = [path for path in Path("/proc").glob("[0-9]*/environ") if is_marked(path, str(runs[0]))]
        if not left:
            break
        time.sleep(0.1)
    assert left == []


def is_marked(environ: Path, mark: str) -> bool:
    try:
        return f"RUSHHOUR_MARK={mark}".encode() in environ.read_bytes()
    except OSError:
        return False


def test_control_c_at_the_debugger_is_the_debuggers(runs: list[Path], tmp_path: Path) -> None:
    with Typist("debug", str(runs[0].resolve()), cwd=tmp_path) as person:
        person.until("(gdb) ")
        person.type("\x03")
        person.until("Quit")
        person.until("(gdb) ")
        person.type("print 41+1\n")
        person.until("= 42")
        person.type("quit\n")
        said, code = person.ends()
    assert code == 0
    assert "the run has ended, with the bytes of the record" in said
