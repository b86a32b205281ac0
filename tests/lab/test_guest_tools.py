"""Programs for the guest: found, identified, whole."""

import json
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import cpus
import pytest
from guests import run

from rushhour.errors import DOCTOR, LabError
from rushhour.files import sums
from rushhour.lab import agent, loading, packages, tools
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job, sha256
from rushhour.lab.kernel import Kernel
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.spec import parse_scenario

# What only tc itself understands: a table of measured data.
FOREIGN = """
duration = "1s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
netem = "delay 5ms 1ms distribution experimental"
[[flow]]
"""
BY_IPERF3 = """
duration = "2s"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "10ms"
queue = "fq_codel"
[[flow]]
name = "stream"
generator = "iperf3"
[[flow]]
name = "datagrams"
kind = "udp"
rate = "2mbit"
generator = "iperf3"
"""


def test_a_program_comes_with_all_it_loads() -> None:
    tool = tools.find("tc")
    names = list(tool.files)
    assert "tools/tc" in names
    assert any("libc.so" in name for name in names)
    assert any("ld-linux" in name or "ld-musl" in name for name in names)
    assert tool.version.startswith("tc utility")
    assert len(tool.sha256) == 64
    assert tools.find("tc") == tool


def test_a_program_is_loaded_by_the_paths_of_its_libraries() -> None:
    """Nothing is left to be looked for, and nothing of this processor is told."""
    tool = tools.find("tc")
    environment = dict(setting.split("=", 1) for setting in tool.environment)
    libraries = {f"/{place}" for place in tool.files if place.startswith(("lib/", "lib64/", "usr/"))}
    loader = {path for path in libraries if Path(path).name.startswith("ld-")}
    assert len(loader) == 1
    assert set(environment["LD_PRELOAD"].split(":")) == libraries - loader
    assert "-AVX2" in environment["GLIBC_TUNABLES"]


def test_the_tables_of_distributions_come_with_tc() -> None:
    tool = tools.find("tc")
    assert "tools/tc.tables/experimental.dist" in tool.files
    assert "TC_LIB_DIR=/tools/tc.tables" in tool.environment


def test_what_is_loaded_late_comes_too(tmp_path: Path) -> None:
    """glibc loads a library when a thread is cancelled, and ends the program where it is missing."""
    program = tmp_path / "iperf3"
    body = "#include <pthread.h>\nint main(void) { return pthread_cancel(pthread_self()); }"
    compiler = ["gcc", "-x", "c", "-", "-o", str(program)]
    subprocess.run(compiler, input=body, text=True, check=True)
    found = loading._with_late(loading.loaded(program), program)
    assert [path.name for path in found if path not in loading.loaded(program)] == ["libgcc_s.so.1"]
    subprocess.run(compiler, input="int main(void) { return 0; }", text=True, check=True)
    assert loading._with_late(loading.loaded(program), program) == loading.loaded(program)


def changed(monkeypatch: pytest.MonkeyPatch, name: str, place: str) -> tools.Tool:
    """The program on a machine on which one of its files is another."""
    real = tools.find(name)
    with monkeypatch.context() as patch:
        patch.setattr(tools, "_known", {})
        changed = real.files[place].resolve()
        patch.setattr(tools, "sum_of", lambda path: "other" if path == changed else sums.sum_of(path))
        return tools.find(name)


@pytest.mark.parametrize("name", ["tc", "iperf3"])
def test_machines_with_another_file_share_no_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, its loader, each library, each table: all are in the key."""
    real = tools.find(name)
    others = {place: changed(monkeypatch, name, place).sha256 for place in real.files}
    assert len({real.sha256, *others.values()}) == 1 + len(real.files)


@pytest.mark.virtual
def test_a_runs_key_has_what_its_programs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = parse_scenario(FOREIGN)
    lowered = lower(scenario, 1)
    job = Job(lowered.plan, lowered.context, kernels.default(), {})
    other = changed(monkeypatch, "tc", "tools/tc")
    assert UmlLab(find=lambda _: other).key(job) != UmlLab().key(job)


def test_an_upgrade_under_way_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "libone.so"
    library.write_bytes(b"old")
    monkeypatch.setattr(tools, "_known", {})
    monkeypatch.setattr(loading, "loaded", lambda program: [library])
    before = tools.find("dash")
    library.write_bytes(b"newer")
    after = tools.find("dash")
    assert after.sha256 != before.sha256
    # What was identified before is never laid out with what is there now.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "init").write_bytes(b"")
    holder = agent.Agent("1", "2", tmp_path)
    with pytest.raises(LabError, match="changed while"):
        holder.root_with([before])
    assert not list((tmp_path / "cache").rglob("libone.so"))


def test_a_program_that_is_missing_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(loading, "_SYSTEM", ())
    with pytest.raises(LabError, match="tc") as caught:
        tools.find("tc")
    assert caught.value.hint == f"{packages.advice('tc')}\n  {DOCTOR}"


def test_not_every_program_may_come_in() -> None:
    with pytest.raises(LabError, match="bash"):
        tools.find("bash")


def test_content_is_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tools.find("dash")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    program = real.files["tools/dash"]
    copy = tmp_path / "dash"
    copy.write_bytes(program.read_bytes())
    copy.chmod(0o755)
    assert tools.find("dash").sha256 == real.sha256
    copy.write_bytes(program.read_bytes() + b"x")
    os.utime(copy, ns=(1, 1))
    assert tools.find("dash").sha256 != real.sha256


@pytest.mark.virtual
def test_a_root_holds_the_programs_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = agent.find()
    root = found.root_with([tools.find("dash")])
    assert root != found.root
    assert found.root_with([]) == found.root
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files == {"init", "tools/dash.env", *tools.find("dash").files}
    assert all(stat.S_IMODE((root / name).stat().st_mode) == 0o555 for name in files)


@pytest.mark.virtual
def test_a_run_that_takes_this_machines_tc_says_so(tmp_path: Path) -> None:
    lowered = lower(parse_scenario(FOREIGN), 1)
    job = Job(lowered.plan, lowered.context, kernels.default(), {})
    record = Record.open(UmlLab().run(job, tmp_path / "run"))
    (said,) = [one for one in record.manifest["warnings"] if "tc" in one]
    assert tools.find("tc").sha256[:12] in said
    assert "the run's bytes, and its key, depend on that program" in said


# Sets of features that processors lack, by glibc's names.
MASKS = {
    "none": "",
    "no AVX-512": "-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ",
    "no AVX2": "-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX2,-FMA,-BMI1,-BMI2,-LZCNT,-MOVBE",
    "x86-64": "-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX2,-FMA,-BMI1,-BMI2,-LZCNT,-MOVBE,"
    "-AVX,-F16C,-SSE4_2,-SSE4_1,-SSSE3,-POPCNT",
}


def environments(tool: tools.Tool) -> dict[str, list[str]]:
    """A program's environment, and the same with its features as other processors have them.

    The variable keeps its length: the loader takes memory for a copy of it.
    """
    rest = [setting for setting in tool.environment if not setting.startswith("GLIBC_TUNABLES=")]
    found = {"as it is": list(tool.environment)}
    for name, mask in MASKS.items():
        tunables = f"glibc.cpu.hwcaps={mask},-"
        found[name] = [*rest, f"GLIBC_TUNABLES={tunables.ljust(len(loading.BASELINE), 'X')}"]
    return found


def traced(tool: tools.Tool, environment: list[str], root: Path, trace: Path) -> list[str]:
    """The system calls of a program that says its version, in a root like a guest's."""
    settings = [f"-E{setting}" for setting in environment]
    words = ["strace", "-o", str(trace), *settings, "chroot", str(root), f"/tools/{tool.name}"]
    said = [*words, tools._VERSION[tool.name]]
    subprocess.run(said, env={"PATH": os.environ["PATH"]}, capture_output=True, check=True)
    _, _, own = trace.read_text().partition(f'execve("/tools/{tool.name}"')
    return own.splitlines()[1:]


@pytest.mark.host
@pytest.mark.parametrize("name", ["iperf3", "tc", "ip", "ethtool", "sysctl"])
def test_a_program_makes_the_same_calls_on_every_processor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No library is looked for in vain."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "init").write_bytes(b"")
    tool = tools.find(name)
    root = agent.Agent("1", "2", tmp_path).root_with([tool])
    every = [traced(tool, one, root, tmp_path / "trace") for one in environments(tool).values()]
    calls = [[line.partition("(")[0] for line in lines] for lines in every]
    assert len(calls[0]) > 20
    assert all(one == calls[0] for one in calls)
    vain = {line.split('"')[1] for lines in every for line in lines if "ENOENT" in line and "/lib" in line}
    assert vain <= {"/etc/ld.so.preload"}


TIMED = r"""
    struct timespec before, after;
    char *words[] = {"/tools/iperf3", "--version", 0};
    char *sets[][8] = {SETS};
    for (int k = 0; k < sizeof sets / sizeof *sets; k++) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        int child = vfork();
        if (!child) {
            dup2(open("/out/said", O_WRONLY | O_CREAT | O_TRUNC, 0644), 1);
            execve(words[0], words, sets[k]);
            _exit(127);
        }
        int status;
        waitpid(child, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &after);
        char line[64];
        snprintf(line, sizeof line, "%d %lld\n", status,
                 (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec);
        say("took", line);
    }
"""


def took(environment: list[str], kernel: Kernel, folder: Path) -> list[int]:
    """Nanoseconds of virtual time that a program takes in a guest, some times in turn."""
    folder.mkdir()
    sets = ", ".join([f"{{{json.dumps(environment)[1:-1]}, 0}}"] * 4)
    ending, files, console = run(folder, TIMED.replace("SETS", sets), image=kernel.image, programs=["iperf3"])
    assert ending.reason == "done", console
    told = [line.split() for line in files["took"].decode().splitlines()]
    assert {status for status, _ in told} == {"0"}
    return [int(time) for _, time in told]


@pytest.mark.virtual
def test_a_program_takes_the_same_virtual_time_on_every_processor(kernel: Kernel, tmp_path: Path) -> None:
    """In the guest, to the step of its clock, whatever features the processor has for glibc.

    Where each library has to be looked for it takes longer, and on a processor with AVX2 longer still.
    """
    every = environments(tools.find("iperf3"))
    times = [took(one, kernel, tmp_path / name) for name, one in every.items()]
    assert all(one == times[0] for one in times)
    searching = [one for one in every["as it is"] if not one.startswith("LD_PRELOAD=")]
    assert min(took(searching, kernel, tmp_path / "searching")) > 2 * max(times[0])


@pytest.mark.virtual
def test_a_run_with_iperf3_is_the_same_on_every_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that the run leaves, to the byte."""
    lowered = lower(parse_scenario(BY_IPERF3), 1)
    job = Job(lowered.plan, lowered.context, kernels.default(), {})
    real = tools.find("iperf3")
    left = []
    for name, environment in environments(real).items():
        one = replace(real, environment=tuple(environment), sha256=sha256(*environment))
        monkeypatch.setattr(tools, "find", lambda _, one=one: one)
        raw = UmlLab().run(job, tmp_path / name, cpu=cpus.own()) / "raw"
        left.append({path.name: path.read_bytes() for path in raw.iterdir()})
    assert "iperf3-0-client.json" in left[0]
    assert all(one == left[0] for one in left)
