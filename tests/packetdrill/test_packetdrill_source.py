"""A source of packetdrill → its program: by content, once, with the compiler's errors and git's version."""

import subprocess
from pathlib import Path

import pytest

from rushhour.errors import BuildError, UsageError
from rushhour.lab import drill

TREE = Path(__file__).parent / "tree"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv(drill.VARIABLE, raising=False)


def copied(folder: Path) -> Path:
    """A source of its own; the folder of the program's files."""
    inside = folder / drill.INSIDE
    inside.mkdir(parents=True)
    for path in (TREE / drill.INSIDE).rglob("*.*"):
        copy = inside / path.relative_to(TREE / drill.INSIDE)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return inside


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_a_source_is_built_once_and_only_read(tmp_path: Path) -> None:
    inside = copied(tmp_path / "one")
    before = {path: path.stat().st_mtime_ns for path in inside.iterdir()}
    said: list[str] = []
    first, again = (drill.build(str(tmp_path / "one"), said.append) for _ in range(2))
    assert first == again
    assert len(said) == 1, "the second time nothing is compiled"
    assert {path: path.stat().st_mtime_ns for path in inside.iterdir()} == before
    assert first.version == ""
    assert set(first.identity()) == {"name", "source_sha256", "sha256"}
    # The folder of the program itself does as well; products of a build and documents are nothing.
    (inside / "parser.c").write_text("nonsense")
    (inside / "README").write_text("words")
    assert drill.build(str(inside), said.append) == first
    assert len(said) == 1


def test_the_same_source_elsewhere_gives_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(tmp_path / "one")
    first = drill.build(str(tmp_path / "one")).identity()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another/and/longer"))
    assert drill.build(str(tmp_path / "one")).identity() == first


def test_what_changed_is_another_program(tmp_path: Path) -> None:
    inside = copied(tmp_path / "one")
    first = drill.build(str(tmp_path / "one"))
    (inside / "part.h").write_text('#define PART "something else"\n')
    assert drill.build(str(tmp_path / "one")).identity()["sha256"] != first.identity()["sha256"]


def test_what_was_built_before_is_not_taken_unasked(tmp_path: Path) -> None:
    copied(tmp_path / "one")
    drill.build(str(tmp_path / "one"))
    with pytest.raises(UsageError, match="no packetdrill is named"):
        drill.find(None, None, [])


def test_git_tells_the_version_and_has_revisions(tmp_path: Path) -> None:
    inside = copied(tmp_path / "clone")
    git(tmp_path / "clone", "init", "-q")
    git(tmp_path / "clone", "add", ".")
    git(tmp_path / "clone", "commit", "-q", "-m", "first")
    git(tmp_path / "clone", "tag", "-a", "v1", "-m", "one")
    first = drill.build(str(tmp_path / "clone"))
    assert first.version.startswith("v1-0-g")
    (inside / "part.h").write_text('#define PART "second"\n')
    assert drill.build(str(tmp_path / "clone")).version.endswith("-dirty")
    revision = drill.build(f"{tmp_path / 'clone'}@v1")
    assert (revision.version, revision.source_sha256) == (first.version, first.source_sha256)
    with pytest.raises(UsageError, match="no revision 'v2'"):
        drill.build(f"{tmp_path / 'clone'}@v2")


def test_another_repository_around_it_is_not_its_version(tmp_path: Path) -> None:
    copied(tmp_path / "mine/third/packetdrill")
    git(tmp_path / "mine", "init", "-q")
    git(tmp_path / "mine", "commit", "-q", "--allow-empty", "-m", "mine")
    assert drill.build(str(tmp_path / "mine/third/packetdrill")).version == ""


def test_what_does_not_compile_is_told_in_the_compilers_words(tmp_path: Path) -> None:
    (copied(tmp_path / "one") / "part.h").write_text("int wrong(;\n")
    with pytest.raises(BuildError, match=r"part\.h:1:\d+: error") as refused:
        drill.build(str(tmp_path / "one"))
    log = Path(str(refused.value.hint).rpartition(" ")[2])
    assert "part.h" in log.read_text()


def test_what_is_no_source_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no source of packetdrill"):
        drill.build(str(tmp_path))
    with pytest.raises(UsageError, match="no such file or folder"):
        drill.build(str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="one of them is enough"):
        drill.find(TREE, str(TREE), [])
    with pytest.raises(UsageError, match="none is in PATH, and the scripts lie in no clone"):
        drill.find(None, None, [])
    monkeypatch.setenv(drill.VARIABLE, str(TREE))
    assert drill.find(None, None, []).source_sha256
