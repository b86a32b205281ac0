"""Doctor: what it says where everything is there, and where one thing after the other is taken away."""

import errno
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from filters import CONTAINER, under
from guests import without_namespaces

from rushhour.errors import DOCTOR, KernelError, LabError
from rushhour.lab import agent, kernel, packages
from rushhour.lab import doctor as doctors
from rushhour.lab.doctor import Check, Report, State, calls, labs, machine, software, tell

ROOT = Path(__file__).parents[2]
CHECKS = ["cpu", "memory", "files", "confine", "seccomp", "python", "agent", "tools", "kernels"]
NOBODY = 65534


def doctor(
    *words: str,
    before: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    enter: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-m", "rushhour", "doctor", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **(env or {})},
        preexec_fn=enter,
        capture_output=True,
        text=True,
        check=False,
    )


def found(**how: Any) -> dict[str, dict[str, Any]]:
    done = doctor("--json", **how)
    document = json.loads(done.stdout)
    assert document["format"] == "rushhour-doctor/1"
    assert [one["name"] for one in document["checks"]] == CHECKS
    assert [one["name"] for one in document["labs"]] == ["uml", "netns", "hosts"]
    assert done.returncode == (0 if document["labs"][0]["ready"] else 1)
    return {one["name"]: one for one in document["checks"] + document["labs"]}


@pytest.mark.virtual
def test_a_machine_where_all_is_there() -> None:
    here = found()
    assert here["kernels"]["state"] == "ok"
    assert all(one["boots"] for one in here["kernels"]["facts"]["kernels"])
    assert here["uml"]["ready"]
    assert here["cpu"]["facts"]["extended_state"] >= 512
    assert here["confine"]["facts"]["mount"] is None


@pytest.mark.virtual
def test_it_fits_a_terminal_and_a_pipe() -> None:
    done = doctor(env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert all(len(line) <= 80 or line.lstrip().startswith("> ") for line in lines)
    assert "\033" not in done.stdout
    assert len([line for line in lines if re.match(r"(ok|less|no|\?) ", line)]) == len(CHECKS) + 3


def test_a_machine_without_an_agent(tmp_path: Path) -> None:
    here = found(env={"RUSHHOUR_AGENT": str(tmp_path / "none")})
    assert here["agent"]["state"] == "bad"
    assert here["agent"]["mend"][-1] == "make agent"
    assert here["uml"]["facts"]["lacks"] == ["agent"]
    assert "agent" in here["hosts"]["facts"]["lacks"]
    assert doctor("--lab", "hosts", env={"RUSHHOUR_AGENT": "/none"}).returncode == 1


def test_a_machine_without_a_kernel(tmp_path: Path) -> None:
    here = found(env={"XDG_CACHE_HOME": str(tmp_path)})
    assert here["kernels"]["says"].startswith("there is none yet")
    assert "rushhour kernel build debian:6.12" in here["uml"]["mend"]


def test_a_machine_without_compilers(tmp_path: Path) -> None:
    here = found(env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)})
    assert "no kernel can be built: no gcc, ld, make" in here["tools"]["says"]
    assert here["tools"]["mend"][0] == packages.advice(*here["tools"]["facts"]["lacking"])
    # What has to be there before a kernel can be built comes first.
    assert here["uml"]["mend"][0] == here["tools"]["mend"][0]
    assert here["hosts"]["mend"] == [packages.advice("ssh")]


@pytest.mark.virtual
def test_a_kernel_that_does_not_boot_is_told_with_the_reason(tmp_path: Path) -> None:
    broken = kernel.default()
    folder = tmp_path / "rushhour/kernels" / broken.folder.name
    shutil.copytree(broken.folder, folder)
    (folder / "linux").write_text("#!/bin/sh\necho 'Kernel panic - not syncing: a fault'; exit 1\n")
    here = found(env={"XDG_CACHE_HOME": str(tmp_path)})
    assert here["kernels"]["state"] == "bad"
    assert not here["uml"]["ready"]
    assert here["uml"]["facts"]["lacks"] == ["kernels"]
    assert broken.name in here["kernels"]["says"]


@pytest.mark.virtual
def test_a_machine_that_forbids_namespaces_is_ready_with_less() -> None:
    here = found(before=(*without_namespaces("user mnt pid net ipc"),))
    assert here["confine"]["state"] == "warn"
    assert "user.max_user_namespaces" in here["confine"]["facts"]["knobs"]
    assert any("sysctl -w user.max_user_namespaces=" in command for command in here["confine"]["mend"])
    assert "with a warning" in here["confine"]["says"]
    assert here["seccomp"]["state"] == "ok"


@pytest.mark.host
def test_a_container_with_the_usual_filter() -> None:
    here = found(enter=under(CONTAINER))
    refused = here["seccomp"]["facts"]["refused"]
    assert refused == {"personality": "EPERM", "unshare": "EPERM", "clone3": "ENOSYS"}
    assert "a filter is active; refused, without harm:" in here["seccomp"]["says"]
    assert here["seccomp"]["state"] == "ok"
    assert here["confine"]["state"] == "warn"
    assert "held by a root directory of its own and Landlock" in here["confine"]["says"]
    assert "no namespaces" in here["confine"]["says"]
    assert here["netns"]["facts"]["lacks"] == ["namespaces"]


@pytest.mark.host
def test_a_machine_that_forbids_tracing_and_filters() -> None:
    here = found(enter=under({"ptrace": errno.EPERM, "memfd_create": errno.EACCES}))
    assert "cannot be traced (EPERM)" in here["cpu"]["says"]
    assert here["seccomp"]["facts"]["refused"] == {"memfd_create": "EACCES", "ptrace": "EPERM"}


@pytest.mark.host
def test_a_machine_without_proc_and_sys() -> None:
    script = 'umount -l /proc && mount -t tmpfs none /sys && exec "$@"'
    here = found(before=("unshare", "--mount", "sh", "-c", script, "sh"))
    assert here["files"]["facts"]["lacking"] == ["/proc", "/sys"]
    assert "mount -t proc proc /proc" in here["files"]["mend"]
    assert here["kernels"]["state"] == "ok"
    assert here["memory"]["state"] == "ok"


@pytest.mark.host
def test_a_machine_without_shared_memory() -> None:
    script = 'mount -t tmpfs -o noexec,size=64m none /dev/shm && exec "$@"'
    here = found(before=("unshare", "--mount", "sh", "-c", script, "sh"))
    assert here["memory"]["facts"]["shm"]["size"] == 64 << 20
    assert here["memory"]["state"] == "ok"
    assert here["kernels"]["state"] == "ok"


def test_an_ordinary_user_is_told_how_to_get_the_real_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", [str(ROOT / ".venv/bin/rushhour"), "doctor"])
    one = labs.netns({})
    assert one.says == "not ready: it takes root"
    # By its path: sudo does not look where the user's programs are.
    assert one.mend[0].endswith(f" {ROOT / '.venv/bin/rushhour'} run SCENARIO --lab netns")


def test_a_user_without_a_home_is_told_where_the_cache_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    here = found(env={"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert "the cache cannot be written" in here["files"]["says"]
    assert here["files"]["mend"][0].startswith("export XDG_CACHE_HOME=")
    assert here["uml"]["facts"]["lacks"] == ["agent", "files", "kernels"]


def test_a_user_whom_the_machine_does_not_know_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert "no folder for the cache" in machine.files().says
    with pytest.raises(KernelError, match="no folder for the cache"):
        kernel.installed()


def test_broken_packages_are_named(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('libblas.so.3: cannot open shared object file')\n")
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"}
    here = found(env=environment)
    assert here["python"]["state"] == "bad"
    assert "numpy" in here["python"]["says"]
    assert "ImportError: libblas.so.3: cannot open" in here["python"]["says"]
    assert here["python"]["says"].count("libblas") == 1  # others need it, too
    assert here["uml"]["facts"]["lacks"] == ["python"]
    (tmp_path / "numpy.py").write_text("import os; os.kill(os.getpid(), 9)\n")
    assert "an import: exit -9" in found(env=environment)["python"]["says"]


def test_it_works_without_the_package_that_the_command_line_needs(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ImportError('no click')\n")
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}", "RUSHHOUR_AGENT": "/none"}
    here = found(env=environment)
    assert "click" in here["python"]["facts"]["faults"]
    done = subprocess.run(
        [sys.executable, "-m", "rushhour", "list"],
        env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].endswith("missing or broken: no click")
    assert "rushhour doctor" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_package_that_breaks_under_a_command_is_told(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("raise ImportError('no pydantic')\n")
    done = subprocess.run(
        [sys.executable, "-m", "rushhour", "show", "window-scaling"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "missing or broken: no pydantic" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_imports_nothing_but_the_standard_library() -> None:
    code = "import sys; from rushhour.lab.doctor import tell; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not {"click", "numpy", "pyarrow", "pydantic", "rich", "arro3"} & loaded


def test_a_look_that_fails_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Check:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(machine, "memory", broken)
    monkeypatch.setattr(machine, "system", broken)
    monkeypatch.setattr(software, "kernels", lambda _checks: broken())
    report = doctors.examine()
    states = {one.name: one.state for one in report.checks}
    assert states["memory"] == states["kernels"] == State.UNKNOWN
    assert not report.ready("uml")
    assert "Input/output error" in tell.text(report, 80)


def test_apparmors_knob_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    knob = "kernel.apparmor_restrict_unprivileged_userns"
    refusals = {calls.user_namespace: None} | dict.fromkeys((calls.apart, calls.world, calls.cage), "EPERM")
    monkeypatch.setattr(calls, "refusal", lambda attempt: refusals[attempt])
    monkeypatch.setattr(machine, "_sysctl", lambda name: "1" if name == knob else "")
    one = machine.apart()
    assert one.state is State.WARN
    assert knob in one.says
    assert one.mend[0].endswith(f"sysctl -w {knob}=0")


def test_a_processor_with_a_large_state_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "answer", lambda _attempt: f"10752 {0x602E7}")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    one = machine.cpu()
    assert one.facts["amx"] is True
    assert (
        "extended state 10752 bytes, more than the 2696 that kernels before 6.13 know of, with AMX"
        in one.says
    )


def test_other_processors_have_the_labs_in_real_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    good = Check("x", State.OK, "")
    bad = Check("kernels", State.BAD, "there is none yet", ("rushhour kernel build debian:6.12",))
    one = labs.uml({"kernels": bad, "agent": good, "python": good, "files": good, "tools": good})
    assert one.state is State.BAD
    assert "aarch64" in one.says
    assert one.mend == ()


def test_calls_that_kill_or_hang_are_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls.refusal(lambda: os.kill(os.getpid(), signal.SIGSYS)) == "killed by SIGSYS"
    assert calls.refusal(lambda: sys.exit(3)) == "SystemExit: 3"
    monkeypatch.setattr(calls, "_LIMIT_S", 1)
    assert calls.refusal(lambda: time.sleep(60)) == "no answer"


def test_colour_is_for_terminals() -> None:
    report = Report("x", "1", (Check("cpu", State.WARN, "slow", ("faster",)),), ())
    assert "\033[33mless \033[0mcpu" in tell.text(report, 80, colour=True)
    assert tell.text(report, 80).rstrip().splitlines()[2:] == [
        "less cpu       slow",
        "               > faster",
    ]


def test_the_agents_absence_points_to_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(agent.VARIABLE, "/none")
    with pytest.raises(LabError) as caught:
        agent.find()
    assert str(caught.value.hint).endswith(DOCTOR)
