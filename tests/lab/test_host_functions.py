"""What is linked into every image between the kernel and its host (`lab/kernel/host`)."""

import re
import subprocess
from pathlib import Path

import pytest
from little_tree import make_tree

from rushhour.errors import BuildError
from rushhour.lab import kernel as kernels
from rushhour.lab import uml
from rushhour.lab.kernel import host


def test_the_kernels_date_is_the_one_that_virtual_time_starts_with() -> None:
    (date,) = re.findall(r"\b(\d{19})LL\b", host.source("clock.c"))
    assert int(date) == uml.START_NS


def test_each_file_is_linked_and_wraps_something() -> None:
    there = {path.name for path in Path(str(host.__file__)).parent.glob("*.c")}
    assert there == set(host.FILES)
    wrapped = host.wrapped()
    assert {"ptrace", "create_mem_file", "deliver_alarm", "os_getrandom"} <= set(wrapped)
    assert len(wrapped) == len(set(wrapped))


def test_the_trees_own_wraps_stay(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    place = tmp_path / "build"
    place.mkdir()
    (place / "linux").write_text("linked with others")
    words = host.build(tree, place, tmp_path / "log")
    assert words.startswith("-Wl,--wrap,malloc -Wl,--wrap,")
    assert words.endswith(" host.o")
    assert not (place / "linux").exists(), "make has to link again"
    (place / "linux").write_text("linked with ours")
    assert host.build(tree, place, tmp_path / "log") == words
    assert (place / "linux").exists(), "and only then"


def test_a_tree_without_a_place_for_them_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    (tree / "arch/um/Makefile").write_text("KBUILD_CFLAGS += -O2\n")
    with pytest.raises(BuildError, match="no LINK_WRAPS"):
        host.build(tree, tmp_path, tmp_path / "log")


@pytest.mark.virtual
@pytest.mark.parametrize("name", ["debian-6.1", "debian-6.12"])
def test_every_call_of_the_image_goes_through_ours(name: str) -> None:
    """The linker says nothing of a name that is not there: a later kernel may have renamed it."""
    image = kernels.find(name).image
    symbols = subprocess.run(
        ["nm", image.with_name("linux.debug")], capture_output=True, text=True, check=True
    ).stdout
    known = {line.split()[-1] for line in symbols.splitlines()}
    ours = {f"__wrap_{one}" for one in host.wrapped()}
    assert {one for one in ours if one in known} == ours
    assert {one for one in host.wrapped() if one in known} >= {"ptrace", "create_mem_file", "deliver_alarm"}
