"""The copy of a directory: equal in all that a build can see, by rewriting no more than what differs."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rushhour.lab.kernel import workcopy


def names(tree: Path) -> list[str]:
    return [str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_symlink() or path.is_file()]


def seen(tree: Path) -> dict[str, tuple[str, bytes]]:
    found = {}
    for name in names(tree):
        path = tree / name
        link = path.is_symlink()
        kind = "link" if link else oct(path.stat().st_mode & 0o100)
        found[name] = kind, bytes(path.readlink()) if link else path.read_bytes()
    return found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "net/ipv4").mkdir(parents=True)
    (tree / "net/ipv4/tcp.c").write_text("int tcp;\n")
    (tree / "net/Makefile").write_text("obj-y += ipv4/\n")
    (tree / "scripts").mkdir()
    (tree / "scripts/run.sh").write_text("exit\n")
    (tree / "scripts/run.sh").chmod(0o750)
    (tree / "link").symlink_to("net/Makefile")
    (tree / "folder").symlink_to("net")
    return tree


def grow(tree: Path) -> None:
    (tree / "net/ipv4/tcp.c").write_text("int tcp2\n")  # of the same length


def become_executable(tree: Path) -> None:
    (tree / "net/Makefile").chmod(0o755)


def go(tree: Path) -> None:
    (tree / "net/ipv4/tcp.c").unlink()


def file_for_link(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").write_text("obj-y += ipv4/\n")


def link_for_file(tree: Path) -> None:
    (tree / "net/Makefile").unlink()
    (tree / "net/Makefile").symlink_to("../scripts/run.sh")


def folder_for_file(tree: Path) -> None:
    (tree / "net/Makefile").unlink()
    (tree / "net/Makefile").mkdir()
    (tree / "net/Makefile/one").write_text("1")


def file_for_folder(tree: Path) -> None:
    shutil.rmtree(tree / "net")
    (tree / "net").write_text("1")


def folder_for_linked_folder(tree: Path) -> None:
    (tree / "folder").unlink()
    (tree / "folder").mkdir()
    (tree / "folder/Makefile").write_text("other\n")


CHANGES = [grow, become_executable, go, file_for_link, link_for_file, folder_for_file, file_for_folder,
           folder_for_linked_folder]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_reaches_the_copy_and_no_tree_that_shares_its_files(
    tree: Path, change: Callable[[Path], None]
) -> None:
    copy, other = tree.parent / "copy", tree.parent / "other"
    workcopy.bring(tree, copy, names(tree))
    assert seen(copy) == seen(tree)
    shutil.copytree(copy, other, symlinks=True, copy_function=os.link)
    before = seen(other)
    change(tree)
    workcopy.bring(tree, copy, names(tree))
    assert seen(copy) == seen(tree)
    assert seen(other) == before


def test_what_is_the_same_keeps_its_date(tree: Path) -> None:
    copy = tree.parent / "copy"
    workcopy.bring(tree, copy, names(tree))
    for name in names(copy):
        os.utime(copy / name, (5, 5), follow_symlinks=False)
    (tree / "net/ipv4/tcp.c").write_text("int other;\n")
    os.utime(tree / "net/ipv4/tcp.c", (1, 1))
    workcopy.bring(tree, copy, names(tree))
    dates = {name: (copy / name).lstat().st_mtime for name in names(copy)}
    assert dates.pop("net/ipv4/tcp.c") > 1e9
    assert set(dates.values()) == {5}


def test_only_what_is_named_is_there(tree: Path) -> None:
    copy = tree.parent / "copy"
    workcopy.bring(tree, copy, names(tree))
    workcopy.bring(tree, copy, ["net/Makefile"])
    assert names(copy) == ["net/Makefile"]
