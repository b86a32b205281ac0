"""A tree begun with its neighbour's build: only what differs is made, nothing that differs is missed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from little_tree import MAKEFILE, commit, git, make_tree

from rushhour.errors import BuildError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import store


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def steps_of(source: str, name: str = "k") -> tuple[kernels.Kernel, list[str]]:
    said: list[str] = []
    return kernels.build(source, name, lambda step: said.append(step.text)), said


def begun(said: list[str]) -> bool:
    return any(text.startswith("beginning with") for text in said)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    tree = make_tree(tmp_path / "little")
    (tree / "notes").write_text("of no use\n")
    git(tree, "init", "-q", "-b", "main")
    commit(tree, "one")
    return tree


@pytest.fixture
def clone(repository: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(repository), "clone")
    return tmp_path / "clone"


def test_an_equal_tree_of_another_repository_compiles_nothing(repository: Path, clone: Path) -> None:
    first, _ = steps_of(f"{repository}@main")
    commit(clone, "other notes", notes="better\n")
    second, said = steps_of(f"{clone}@main", "other")
    assert begun(said)
    assert second.origin()["objects"] == 0
    assert second.identity["image_sha256"] == first.identity["image_sha256"]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_differs_is_compiled_and_the_neighbour_is_left_as_it_is(repository: Path, clone: Path) -> None:
    first, _ = steps_of(f"{repository}@main")
    kept = store.cache("sources", first.origin()["key"])
    before = {path.name: (path.stat().st_mtime_ns, path.read_text()) for path in files(kept)}
    commit(clone, "another", one__c="int one = 1;\n")
    second, said = steps_of(f"{clone}@main")
    assert begun(said)
    assert second.origin()["objects"] == 1
    assert "int one = 1" in second.image.read_text()
    assert {path.name: (path.stat().st_mtime_ns, path.read_text()) for path in files(kept)} == before


def test_going_on_from_a_shared_tree_rewrites_only_what_differs(repository: Path, clone: Path) -> None:
    """Links change a file's time of change; git must not take that for a change of content."""
    steps_of(f"{repository}@main")
    steps_of(f"{clone}@main")
    commit(repository, "another", notes="better\n")
    again, said = steps_of(f"{repository}@main")
    assert not begun(said)
    assert again.origin()["objects"] == 0


def test_files_of_the_neighbour_that_are_not_the_trees_go(repository: Path, clone: Path) -> None:
    steps_of(f"{repository}@main")
    git(clone, "rm", "-q", "notes")
    commit(clone, "no notes")
    second, _ = steps_of(f"{clone}@main")
    assert not (store.cache("sources", second.origin()["key"]) / "notes").exists()


def test_an_archive_is_dated_by_content(repository: Path, tmp_path: Path) -> None:
    """An archive's dates are older than any object: what differs must not be taken for made."""
    steps_of(f"{repository}@main")
    for name, text in {"same": "int one;\n", "other": "int one = 2;\n"}.items():
        shutil.copytree(repository, tmp_path / name, ignore=shutil.ignore_patterns(".git"))
        (tmp_path / name / "one.c").write_text(text)
        os.utime(tmp_path / name / "one.c", (1, 1))
        archive = tmp_path / f"{name}.tar"
        subprocess.run(["tar", "-C", tmp_path, "-cf", archive, name], check=True)
        built, said = steps_of(str(archive), name)
        assert begun(said)
        assert built.origin()["objects"] == (name == "other")
        assert text in built.image.read_text()


def state(tree: Path) -> dict[str, tuple[int, ...]]:
    """All that a write would change, of every file and folder."""
    found = [tree, *tree.rglob("*")]
    return {
        str(path): (one.st_ino, one.st_size, one.st_mode, one.st_mtime_ns, one.st_ctime_ns, one.st_nlink)
        for path in found
        for one in [path.lstat()]
    }


def plain(repository: Path, folder: Path) -> Path:
    """A directory as people have it, without a history; its files are of long ago."""
    shutil.copytree(repository, folder, ignore=shutil.ignore_patterns(".git"))
    for path in folder.rglob("*"):
        os.utime(path, (1, 1))
    return folder


def test_a_directory_begins_with_its_neighbour_and_is_only_read(repository: Path, tmp_path: Path) -> None:
    first, _ = steps_of(f"{repository}@main")
    for name, text in {"same": "int one;\n", "other": "int one = 2;\n"}.items():
        folder = plain(repository, tmp_path / name)
        (folder / "one.c").write_text(text)
        (folder / "more").touch()  # else it would be the same tree
        os.utime(folder / "one.c", (1, 1))
        before = state(folder)
        built, said = steps_of(str(folder), name)
        assert begun(said)
        assert built.origin()["objects"] == (name == "other")
        assert text in built.image.read_text()
        assert state(folder) == before
    assert "int one;" in first.image.read_text()


def test_a_directory_that_changes_compiles_what_changed(repository: Path, tmp_path: Path) -> None:
    """Also where a date goes back, as when a file is restored: contents decide."""
    folder = plain(repository, tmp_path / "mine")
    assert steps_of(str(folder))[0].origin()["objects"] == 1
    (folder / "notes").write_text("other notes\n")
    assert steps_of(str(folder))[0].origin()["objects"] == 0
    (folder / "one.c").write_text("int one = 3;\n")
    os.utime(folder / "one.c", (1, 1))
    built, _ = steps_of(str(folder))
    assert built.origin()["objects"] == 1
    assert "int one = 3" in built.image.read_text()


def test_what_the_compiler_says_is_of_the_persons_own_files(repository: Path, tmp_path: Path) -> None:
    folder = plain(repository, tmp_path / "mine")
    text = (folder / "Makefile").read_text().replace("gcc -c one.c", "gcc -c $(CURDIR)/one.c")
    (folder / "Makefile").write_text(text)
    (folder / "one.c").write_text("int one\n")
    with pytest.raises(BuildError) as told:
        steps_of(str(folder))
    assert f"{folder}/one.c:" in told.value.message
    assert "sources/tree-" not in str(told.value)


@pytest.mark.parametrize("line", ["VERSION = 7", "PATCHLEVEL = 98"])
def test_another_version_is_no_neighbour(repository: Path, clone: Path, line: str) -> None:
    steps_of(f"{repository}@main")
    name = line.partition(" ")[0]
    changed = "\n".join(line if one.startswith(f"{name} ") else one for one in MAKEFILE.splitlines())
    commit(clone, "another version", Makefile=changed + "\n")
    assert not begun(steps_of(f"{clone}@main")[1])


def test_the_nearest_sublevel_is_the_neighbour(tmp_path: Path) -> None:
    for sublevel in (1, 40, 50):
        tree = make_tree(tmp_path / f"v{sublevel}")
        git(tree, "init", "-q", "-b", "main")
        commit(tree, "one", Makefile=f"{MAKEFILE}\nSUBLEVEL = {sublevel}\n")
    steps_of(f"{tmp_path}/v1@main", "one")
    steps_of(f"{tmp_path}/v50@main", "fifty")
    _, said = steps_of(f"{tmp_path}/v40@main")
    assert f"beginning with the build of {kernels.find('fifty').origin()['key']}" in said


def test_notes_of_places_are_rewritten_and_keep_their_dates(repository: Path, clone: Path) -> None:
    first, _ = steps_of(f"{repository}@main")
    key = first.origin()["key"]
    tree, place = store.cache("sources", key), store.cache("build", key)
    (place / "net").mkdir()
    note = place / "net/.tcp.o.cmd"
    note.write_text(f"gcc -I{tree}/include -o {place}/net/tcp.o")
    os.utime(note, (5, 5))
    commit(clone, "other notes", notes="better\n")  # the same tree would be the same kernel
    other = steps_of(f"{clone}@main", "other")[0].origin()["key"]
    copy = store.cache("build", other, "net") / note.name
    assert other != key
    assert copy.read_text() == note.read_text().replace(key, other)
    assert copy.stat().st_mtime == 5


def test_a_kernel_built_aside_is_found_but_not_the_default(repository: Path) -> None:
    usual = kernels.build(f"{repository}@main", "usual")
    commit(repository, "another", one__c="int one = 3;\n")
    aside = kernels.build(f"{repository}@main", "step", aside=True)
    assert kernels.find("step") == aside
    assert kernels.default() == usual
    kernels.build(f"{repository}@main", "step")
    assert kernels.default().name == "step"


def test_a_repository_is_made_of_an_archive_once(repository: Path, tmp_path: Path) -> None:
    (repository / "Documentation").mkdir()
    (repository / "Documentation/long.rst").write_text("words\n")
    (repository / "Documentation/Kconfig").write_text("# read by Kconfig\n")
    (repository / "arch/arm/crypto").mkdir(parents=True)
    (repository / "arch/arm/crypto/Kconfig").write_text("# read by Kconfig\n")
    (repository / "arch/arm/crypto/aes.c").write_text("int aes;\n")
    (repository / "run.sh").write_text("exit\n")
    (repository / "run.sh").chmod(0o755)
    (repository / "link").symlink_to("one.c")
    archive = tmp_path / "linux.tar"
    subprocess.run(["tar", "-C", tmp_path, "--exclude=.git", "-cf", archive, repository.name], check=True)
    made = kernels.repository(str(archive))
    listed = git(made, "ls-tree", "-r", "main")
    modes = {line.partition("\t")[2]: line.split()[0] for line in listed.splitlines()}
    assert modes["run.sh"] == "100755"
    assert modes["link"] == "120000"
    assert {"Documentation/Kconfig", "arch/arm/crypto/Kconfig"} <= modes.keys()
    assert not {"Documentation/long.rst", "arch/arm/crypto/aes.c"} & modes.keys()
    assert git(made, "show", "main:one.c") == "int one;"
    assert kernels.repository(str(archive)) == made
    assert steps_of(f"{made}@main")[0].release == "6.99.0"
