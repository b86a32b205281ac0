from __future__ import annotations

from typing import TYPE_CHECKING

from beds import sshd

if TYPE_CHECKING:
    from pathlib import Path


def test_a_host_sees_what_is_kept_and_nothing_else_of_ours(tmp_path: Path) -> None:
    """The program under test may lie in /tmp or /root, where a host has files of its own."""
    for name in ("one", "other", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    kept = [tmp_path / "one", tmp_path / "other"]
    with sshd.hosts(tmp_path, ["alice"], kept=kept) as hosts:
        alice = hosts["alice"]
        assert alice.run("cat", str(kept[0] / "file"), str(kept[1] / "file")) == "oneother"
        assert sorted(alice.run("ls", str(tmp_path)).split()) == ["one", "other"]
        assert alice.files() == []
