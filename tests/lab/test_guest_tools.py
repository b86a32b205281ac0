"""Programs for the guest: found, identified, whole."""

import os
import stat
from pathlib import Path

import pytest

from rushhour.errors import LabError
from rushhour.lab import agent, tools


def test_a_program_comes_with_all_it_loads() -> None:
    tool = tools.find("tc")
    names = [place for place, _ in tool.files]
    assert "tools/tc" in names
    assert any("libc.so" in name for name in names)
    assert any("ld-linux" in name or "ld-musl" in name for name in names)
    assert tool.version.startswith("tc utility")
    assert len(tool.sha256) == 64
    assert tools.find("tc") == tool


def test_a_program_that_is_missing_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(tools, "_SYSTEM", ())
    with pytest.raises(LabError, match="tc") as caught:
        tools.find("tc")
    assert caught.value.hint == "apt-get install iproute2"


def test_not_every_program_may_come_in() -> None:
    with pytest.raises(LabError, match="bash"):
        tools.find("bash")


def test_content_is_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tools.find("dash")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    program = dict(real.files)["tools/dash"]
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
    assert files == {"init", *(place for place, _ in tools.find("dash").files)}
    assert all(stat.S_IMODE((root / name).stat().st_mode) == 0o555 for name in files)
