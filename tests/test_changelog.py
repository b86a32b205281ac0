"""The changelog is made of fragments, and the version it begins with is the one everywhere."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import rushhour

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CHANGELOG.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
KINDS = [one["directory"] for one in PROJECT["tool"]["towncrier"]["type"]]
FRAGMENTS = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]


def build(root: Path, *words: str) -> str:
    """What towncrier says of this folder's fragments."""
    command = [sys.executable, "-m", "towncrier", "build", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


def test_a_fragment_is_named_by_what_it_is_for() -> None:
    assert KINDS == ["added", "changed", "fixed"]
    name = re.compile(r"\+[a-z0-9-]+\.(" + "|".join(KINDS) + r")\.md")
    assert [path.name for path in FRAGMENTS if not name.fullmatch(path.name)] == []
    page = (ROOT / "changes/README.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == KINDS


def test_every_fragment_is_in_the_next_section() -> None:
    section = " ".join(build(ROOT, "--draft", "--version", "next").split())
    for path in FRAGMENTS:
        said = " ".join(path.read_text("utf-8").split())
        assert said, path.name
        assert said in section, path.name


def test_a_release_takes_the_fragments_into_the_changelog(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "changes").mkdir()
    fragment = tmp_path / "changes/+links.fixed.md"
    fragment.write_text("Links carry what they were told.\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    build(tmp_path, "--yes", "--version", "99.0.0", "--date", "2030-01-02")
    made = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## .*", made, re.MULTILINE) == [
        "## 99.0.0 (2030-01-02)", *re.findall(r"^## .*", TEXT, re.MULTILINE)
    ]  # fmt: skip
    assert "### What was wrong\n\n- Links carry what they were told.\n" in made
    assert not fragment.exists()
    assert made.endswith(TEXT.partition("<!-- released -->\n")[2].lstrip("\n"))


def test_nothing_is_kept_in_the_changelog_that_is_not_released() -> None:
    heads = re.findall(r"^## (.*)", TEXT, re.MULTILINE)
    assert heads[0].split()[0] == rushhour.__version__
    assert "Unreleased" not in heads
    before = TEXT.partition("<!-- released -->")[2].partition("\n## ")[0]
    assert not before.strip(), "a line for the changelog is a file in changes/ (changes/README.md)"
    newest = TEXT.partition(f"## {heads[0]}")[2].partition("\n## ")[0]
    assert len(newest.split()) <= 650, "a section that people read; what is longer belongs into the documents"


def test_the_version_is_one() -> None:
    crate = tomllib.loads((ROOT / "agent/Cargo.toml").read_text("utf-8"))["package"]["version"]
    lock = tomllib.loads((ROOT / "agent/Cargo.lock").read_text("utf-8"))["package"]
    locked = [one["version"] for one in lock if one["name"] == "rushhour-agent"]
    assert [PROJECT["project"]["version"], crate, *locked] == [rushhour.__version__] * 3
