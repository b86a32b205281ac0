"""Kernel sources: what a specification means, and that a content hash follows content and nothing else."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from little_tree import git

from rushhour.errors import KernelError
from rushhour.lab.kernel import debian, process, said, sources, store


def quiet(_text: str) -> None:
    pass


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "linux"
    for name in (
        "net/ipv4/tcp.c",
        "arch/um/kernel/time.c",
        "arch/arm/kernel/setup.c",
        "Documentation/index.rst",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"/* {name} */\n")
    (root / "Makefile").write_text("VERSION = 6\n")
    (root / "Kconfig").write_text('mainmenu "x"\n\nsource "init/Kconfig"\n')
    return root


@pytest.fixture
def repository(tree: Path) -> Path:
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "one")
    git(tree, "tag", "v1")
    (tree / "net/ipv4/tcp.c").write_text("/* two */\n")
    git(tree, "commit", "-qam", "two")
    git(tree, "tag", "v2")
    return tree


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "nonsense",
        "debian:",
        "debian:6",
        "debian:6.12@",
        "debian:6.12@a b",
        "no/such/dir@v6",
        "@",
        "debian:six",
    ],
)
def test_an_unknown_source_is_refused_with_what_is_accepted(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KernelError) as caught:
        sources.resolve(spec, quiet)
    assert caught.value.hint


def test_a_debian_version_that_is_not_known_names_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    listing = (
        " linux-source-6.1 | 6.1.9-1 | http://deb/debian x/main amd64 Packages\n"
        " linux-source-6.1 | 6.1.8-1 | http://deb/debian x/main Sources\n"
    )
    monkeypatch.setattr(debian, "_elsewhere", lambda _tell: ([], ""))  # that needs the network
    monkeypatch.setattr(process, "answer", lambda command, **_: listing if command[0] == "apt-cache" else "")
    with pytest.raises(KernelError, match=r"there are 6\.1\.9-1$"):  # 6.1.8-1 is only a source package
        sources.resolve("debian:6.1@6.1.7-1", quiet)


def test_a_debian_kernel_that_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_elsewhere", lambda _tell: ([], ""))
    monkeypatch.setattr(debian, "_APT", ())
    with pytest.raises(KernelError, match=r"no release of Debian at .* has linux-source-4\.99") as caught:
        sources.resolve("debian:4.99", quiet)
    assert "tarball" in str(caught.value)


def test_a_tree_hash_follows_content_not_dates(tree: Path) -> None:
    before = sources.hash_tree(tree)
    os.utime(tree / "net/ipv4/tcp.c", (1, 1))
    assert sources.hash_tree(tree) == before
    (tree / "net/ipv4/tcp.c").write_text("/* other */\n")
    assert sources.hash_tree(tree) != before


@pytest.mark.parametrize("change", ["rename", "add", "delete", "mode", "link"])
def test_a_tree_hash_sees_every_kind_of_change(tree: Path, change: str) -> None:
    before = sources.hash_tree(tree)
    file = tree / "arch/um/kernel/time.c"
    if change == "rename":
        file.rename(file.with_name("clock.c"))
    elif change == "add":
        (tree / "net/new.c").touch()
    elif change == "delete":
        file.unlink()
    elif change == "mode":
        file.chmod(0o755)
    else:
        content = file.read_text()
        file.unlink()
        file.symlink_to(content.strip())
    assert sources.hash_tree(tree) != before


def test_a_tree_hash_ignores_what_cannot_reach_the_image(tree: Path) -> None:
    before = sources.hash_tree(tree)
    (tree / "arch/arm/kernel/setup.c").write_text("changed")
    (tree / "Documentation/index.rst").write_text("changed")
    assert sources.hash_tree(tree) == before


def test_a_tree_hash_does_not_depend_on_the_place(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree, tmp_path / "elsewhere")
    assert sources.hash_tree(tree) == sources.hash_tree(tmp_path / "elsewhere")


def test_a_directory_keeps_its_build_directory_when_it_changes(tree: Path) -> None:
    first = sources.resolve(str(tree), quiet)
    (tree / "Makefile").write_text("VERSION = 7\n")
    second = sources.resolve(str(tree), quiet)
    assert first.key == second.key
    assert first.sha256 != second.sha256
    copy = store.cache("sources", first.key)
    assert first.directory() == second.directory() == copy
    assert (copy / "Makefile").read_text() == "VERSION = 7\n"


def test_a_tree_built_inside_is_refused_with_the_cure(tree: Path) -> None:
    (tree / ".config").touch()
    with pytest.raises(KernelError, match="mrproper"):
        sources.resolve(str(tree), quiet).directory()


def test_a_directory_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="no Makefile or no Kconfig"):
        sources.resolve(str(tmp_path), quiet)


def test_a_revision_is_exported_and_the_repository_left_alone(repository: Path) -> None:
    (repository / "Makefile").write_text("uncommitted\n")
    status = git(repository, "status", "--porcelain")
    one = sources.resolve(f"{repository}@v1", quiet)
    assert (one.directory() / "net/ipv4/tcp.c").read_text() == "/* net/ipv4/tcp.c */\n"
    assert (one.directory() / "Makefile").read_text() == "VERSION = 6\n"
    assert git(repository, "status", "--porcelain") == status
    assert git(repository, "worktree", "list").count("\n") == 0


def test_what_the_compiler_says_of_a_revision_names_files_by_their_place_in_it(repository: Path) -> None:
    one = sources.resolve(f"{repository}@v1", quiet)
    copy = one.directory()
    assert said.words(f"{copy}/net/ipv4/tcp.c:3:1: error: no", one, copy) == "net/ipv4/tcp.c:3:1: error: no"


def test_another_revision_rewrites_only_what_differs(repository: Path) -> None:
    folder = sources.resolve(f"{repository}@v1", quiet).directory()
    before = (folder / "Makefile").stat().st_mtime_ns
    two = sources.resolve(f"{repository}@v2", quiet)
    assert two.directory() == folder
    assert (folder / "net/ipv4/tcp.c").read_text() == "/* two */\n"
    assert (folder / "Makefile").stat().st_mtime_ns == before


def test_equal_content_has_one_hash_whatever_the_revision_is_called(repository: Path) -> None:
    git(repository, "commit", "-q", "--allow-empty", "-m", "nothing")
    hashes = {
        rev: sources.resolve(f"{repository}@{rev}", quiet).sha256 for rev in ("v1", "v2", "main", "HEAD")
    }
    assert hashes["v2"] == hashes["main"] == hashes["HEAD"] != hashes["v1"]


def test_a_revision_that_is_not_there(repository: Path) -> None:
    with pytest.raises(KernelError, match="no revision v9"):
        sources.resolve(f"{repository}@v9", quiet)


@pytest.mark.parametrize("suffix", [".tar.xz", ".tar.gz", ".tar.bz2", ".tar.zst", ".tar"])
def test_every_kind_of_tarball_unpacks(tree: Path, tmp_path: Path, suffix: str) -> None:
    archive = tmp_path / f"linux-6.99{suffix}"
    subprocess.run(["tar", "-C", tree.parent, "--auto-compress", "-cf", archive, tree.name], check=True)
    source = sources.resolve(str(archive), quiet)
    assert source.name == "linux-6.99"
    assert (source.directory() / "Makefile").read_text() == "VERSION = 6\n"


def test_a_torn_tarball_leaves_nothing_behind(tree: Path, tmp_path: Path) -> None:
    archive = tmp_path / "linux.tar.gz"
    subprocess.run(["tar", "-C", tree.parent, "-czf", archive, tree.name], check=True)
    archive.write_bytes(archive.read_bytes()[:-40])
    source = sources.resolve(str(archive), quiet)
    with pytest.raises(KernelError, match="unpack failed"):
        source.directory()
    assert not list((tmp_path / "cache/rushhour/sources").iterdir())


def test_an_archive_without_a_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hello").write_text("hello")
    archive = tmp_path / "x.tar"
    subprocess.run(["tar", "-C", tmp_path, "-cf", archive, "hello"], check=True)
    with pytest.raises(KernelError, match="holds no kernel source"):
        sources.resolve(str(archive), quiet).directory()
