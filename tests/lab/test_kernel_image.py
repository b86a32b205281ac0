"""What is kept of a build: the image without its symbols, these beside it; and what the rest takes."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from little_tree import MAKEFILE, make_tree, starts

from rushhour.cli import cli
from rushhour.files.regular import checksum
from rushhour.lab import boot
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import image, store


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def symbols(path: Path) -> str:
    return subprocess.run(["nm", path], capture_output=True, text=True, check=False).stdout


def compiled(place: Path) -> Path:
    place.mkdir()
    (place / "one.c").write_text("int noticed = 7;\nint main(void) { return noticed - 7; }\n")
    subprocess.run(["gcc", "-static", "-o", "linux", "one.c"], cwd=place, check=True)
    return place


def test_an_image_loses_its_symbols_and_runs(tmp_path: Path) -> None:
    place = compiled(tmp_path / "a")
    whole = (place / "linux").read_bytes()
    files = image.stripped(place, place / "log")
    assert files.keys() == {"linux", "linux.debug"}
    assert "noticed" in symbols(files["linux.debug"])
    assert symbols(files["linux"]) == ""
    assert files["linux"].stat().st_size < len(whole)
    assert subprocess.run([files["linux"]], check=False).returncode == 0
    assert (place / "linux").read_bytes() == whole  # make goes by it
    again = image.stripped(compiled(tmp_path / "b"), tmp_path / "log")
    assert checksum(again["linux"]) == checksum(files["linux"])


def test_the_identity_is_of_what_is_kept(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    recipe = '(cat one.c; echo "$$KBUILD_BUILD_TIMESTAMP $$KBUILD_BUILD_USER$$LOCALVERSION") > $(O)/linux'
    assert recipe in MAKEFILE
    (tree / "Makefile").write_text(MAKEFILE.replace(recipe, "gcc -static -o $(O)/linux one.c"))
    (tree / "one.c").write_text("int noticed;\nint main(void) { return noticed; }\n")
    built = kernels.build(str(tree))
    assert symbols(built.image) == ""
    assert "noticed" in symbols(built.folder / "linux.debug")
    assert built.identity["image_sha256"] == checksum(built.image)
    assert kernels.build(str(tree)) == built


def test_from_nothing_everything_is_made_and_told_again(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    first = kernels.build(str(tree))
    assert first.origin()["from_nothing"] is True
    (tree / "more").touch()
    second = kernels.build(str(tree))
    assert (second.origin()["from_nothing"], second.origin()["objects"]) == (False, 0)
    log = second.folder / "build.log"
    assert "one.o" not in log.read_text()
    whole = kernels.build(str(tree), from_nothing=True)
    assert whole == second
    assert (whole.origin()["from_nothing"], whole.origin()["objects"]) == (True, 1)
    assert "one.o" in log.read_text()


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, ["kernel", *words])
    assert done.exit_code == 0, done.output
    return done.stderr + done.stdout


def test_what_sources_and_builds_take_is_told_and_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boot, "boot", starts)
    for name in ("one", "two"):
        tree = make_tree(tmp_path / name)
        (tree / "large").write_bytes(name.encode() * 1_000_000)
        (tree / "notes").write_text(name)
        assert f"to free it: rushhour kernel clean {name}" in run("build", str(tree))
    assert "Sources and builds of 2 trees take 6 MB" in run("list")
    assert "removed sources and builds of 1 tree, 3 MB" in run("clean", "one")
    assert "Sources and builds of 1 tree take 3 MB" in run("list")
    assert [one.name for one in kernels.installed()] == ["two", "one"]
    assert not store.cache("sources", kernels.find("one").origin()["key"]).exists()
    assert store.cache("sources", kernels.find("two").origin()["key"]).is_dir()
    assert (tmp_path / "one/large").is_file()  # what is people's own stays
    run("clean")
    assert kernels.trees() == {}
    assert "there was nothing to remove" in run("clean")
    (tmp_path / "one/more").touch()
    assert "compiling" in run("build", str(tmp_path / "one"))
