"""Programs of this machine: what they load is found, what is kept from others is not taken."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rushhour.errors import LabError
from rushhour.lab import loading, packages, programs
from rushhour.lab.agent import Agent
from rushhour.lab.base import Job
from rushhour.lab.kernel import Kernel
from rushhour.lab.system import in_guest
from rushhour.lab.tools import Tool
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.plan.programs import FOREIGN
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.plan_file import PlanFile
from rushhour.spec import parse_scenario


def find(word: str | Path) -> Tool:
    return programs.find(f"{FOREIGN}{word}")


def test_a_program_comes_with_its_libraries_below_usr() -> None:
    tool = find("sh")
    assert any("libc.so" in name or "ld-musl" in name for name in tool.files)
    assert not any(name.startswith(("lib/", "lib64/", "bin/")) for name in tool.files)
    assert tool.links["tools/sh"].startswith("/usr/")
    assert find("sh").sha256 == tool.sha256


def test_a_script_comes_with_what_its_first_line_names(tmp_path: Path) -> None:
    script = tmp_path / "s"
    script.write_text("#!/usr/bin/env -S sh -e\n")
    tool = find(script)
    assert {in_guest(str(script).lstrip("/")), "usr/bin/env"} <= set(tool.files)
    shell = shutil.which("sh")
    assert shell is not None
    assert in_guest(shell.lstrip("/")) in tool.files


def test_what_a_link_leads_to_lies_where_it_is_and_loads_what_is_beside_it(tmp_path: Path) -> None:
    """As Java does, whose name is a link and whose libraries stand beside the program itself."""
    home, names = tmp_path / "home/bin", tmp_path / "names"
    (tmp_path / "home/lib").mkdir(parents=True)
    for folder in (home, names):
        folder.mkdir(parents=True)
    (home.parent / "lib.c").write_text("int beside(void) { return 0; }")
    (home.parent / "main.c").write_text("int beside(void); int main(void) { return beside(); }")
    library, program = home.parent / "lib/libbeside.so", home / "program"
    subprocess.run(["cc", "-shared", "-o", library, home.parent / "lib.c"], check=True)
    link = f"-Wl,-rpath,{'$ORIGIN'}/../lib"
    subprocess.run(["cc", "-o", program, home.parent / "main.c", library, link], check=True)
    (names / "name").symlink_to(program)
    tool = find(names / "name")
    assert tool.links == {f"host{names}/name": f"/host{program}"}
    assert {program, library} <= {*tool.files.values()}
    assert f"host{library}" in tool.files


def test_another_content_is_another_program(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("a")
    first = find(data).sha256
    data.write_text("bb")
    assert find(data).sha256 != first


def test_what_others_may_not_read_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "key"
    secret.write_text("s")
    secret.chmod(0o600)
    with pytest.raises(LabError, match="kept from others"):
        find(secret)
    monkeypatch.chdir(tmp_path)
    assert find(secret).files


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small/one").write_text("x")
    (tmp_path / "packages/deep").mkdir(parents=True)
    for number in range(3):
        (tmp_path / f"packages/deep/{number}").write_text("x" * 4_000_000)
    monkeypatch.setattr(programs, "_MOST_FILES", 3)
    with pytest.raises(LabError, match="more than 1 GiB or 3 files") as told:
        find(tmp_path)
    assert f"most of it is in {tmp_path}/packages/deep;" in str(told.value.hint)


def test_a_file_more_in_a_folder_is_another_folder(tmp_path: Path) -> None:
    (tmp_path / "deep/deeper").mkdir(parents=True)
    (tmp_path / "deep/deeper/a").write_text("a")
    first = find(tmp_path / "deep")
    assert find(tmp_path / "deep") is first
    (tmp_path / "deep/beside").mkdir()
    (tmp_path / "deep/beside/b").write_text("b")
    theirs = {name for name in find(tmp_path / "deep").files if name.startswith("host/")}
    assert {Path(name).name for name in theirs} == {"a", "b"}


def test_a_lab_takes_a_program_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def found(name: str) -> Tool:
        asked.append(name)
        return find("sh")

    monkeypatch.setattr("rushhour.lab.uml.require", lambda: None)
    lab = UmlLab(given=Agent("1", "2", Path()), find=found)
    job = Job(
        read(PlanFile, {"tools": ["a", "b"]}, "plan"), ContextFile(), Kernel("k", Path(), "6", {}, Path()), {}
    )
    first = lab.programs(job)
    assert lab.programs(job) == first
    assert asked == ["a", "b"]


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(LabError, match="needs no-such-program, and it is not on this machine"):
        find("no-such-program")


def test_all_that_is_not_there_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        duration = "1s"
        topology = { preset = "dumbbell", rate = "2mbit", rtt = "10ms" }
        [[program]]
        node = "s1"
        command = "sh"
        needs = ["no-such-program", "nginx", "/no/such/file"]
        """
    lowered = lower(parse_scenario(text), 1)
    monkeypatch.setattr(loading, "search_path", lambda: "/nowhere")
    monkeypatch.setattr(packages, "here", lambda: packages.described("ID=debian\n", lambda _: None))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    job = Job(lowered.plan, lowered.context, Kernel("k", Path(), "6", {}, Path()), {})
    with pytest.raises(LabError) as fault:
        UmlLab(given=Agent("1", "2", Path()), find=programs.find).programs(job)
    assert fault.value.message == (
        "this scenario needs /no/such/file, nginx, no-such-program and sh, and they are not on this machine"
    )
    hint = "apt-get install nginx; install what brings no-such-program, sh; correct /no/such/file\n"
    assert str(fault.value.hint).startswith(hint)


def test_what_is_mounted_over_in_a_guest_lies_elsewhere() -> None:
    assert in_guest("tmp/x/y") == "host/tmp/x/y"
    assert in_guest("bin/sh") == "usr/bin/sh"
    assert in_guest("opt/a") == "opt/a"


def test_a_program_that_was_missing_is_looked_for_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    plan = read(PlanFile, {"tools": [f"{FOREIGN}{data}"]}, "plan")
    job = Job(plan, ContextFile(), Kernel("k", Path(), "6", {}, Path()), {})
    lab = UmlLab(given=Agent("1", "2", Path()))
    with pytest.raises(LabError, match="not on this machine"):
        lab.programs(job)
    data.write_text("a")
    assert len(lab.programs(job)) == 1
