"""Kernels with sanitizers: variants of a source, built beside it, never the default."""

from collections.abc import Callable
from pathlib import Path

import pytest
from little_tree import make_tree

from rushhour.errors import BuildError, KernelError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import config, given, seed, store
from rushhour.lab.kernel.make import Make
from rushhour.lab.kernel.sanitizers import SANITIZERS, absent, at_end, options_of, part_of


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "little")


def test_each_switches_on_what_has_to_come() -> None:
    for name, (option, why) in SANITIZERS.items():
        assert f"CONFIG_{option}=y\n" in options_of([name])
        assert absent(options_of([name]), [name]) == []
        assert absent("", [name]) == [f"{name}: {why}"]
    assert options_of([]) == ""


def test_it_is_a_kernel_of_its_own_and_not_the_one_that_is_used_where_none_is_named(tree: Path) -> None:
    plain = kernels.build(str(tree))
    watched = kernels.build(str(tree), files=["ubsan", "kasan", "kasan"])
    assert watched.name == "little-kasan-ubsan"
    assert watched.id != plain.id
    assert kernels.default().id == plain.id
    assert "brings" not in watched.identity
    assert watched.identity["source"] == plain.identity["source"] | {"sanitizers": "kasan ubsan"}
    assert watched.is_variant
    text = (watched.folder / "config").read_text()
    assert "CONFIG_KASAN=y" in text
    assert "CONFIG_KASAN=y" not in (plain.folder / "config").read_text()


def test_what_is_seen_only_at_the_end_is_looked_for_in_the_kernels_that_can(tree: Path) -> None:
    (tree / "net").mkdir()
    (tree / "net/Makefile").write_text("obj-y := core/\n")
    plain = kernels.build(str(tree), files=["ubsan"])
    watched = kernels.build(str(tree), files=["kmemleak", "ubsan"])
    for kernel, there in ((plain, False), (watched, True)):
        copy = store.cache("sources", str(kernel.origin()["key"]))
        assert (copy / "net/with/at_end.c").exists() is there
        assert ("obj-y += with/" in (copy / "net/Makefile").read_text()) is there
    text = at_end(["kmemleak"])
    assert (store.cache("sources", str(watched.origin()["key"])) / "net/with/at_end.c").read_text() == text
    assert at_end(["debug-net"]) == text
    assert at_end(["kasan", "coverage"]) == ""


def test_while_a_variant_compiles_its_source_is_free_for_others(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels.build(str(tree))
    base = next(path.name for path in store.cache("sources", "any").parent.glob("tree-*") if path.is_dir())
    free, compiling = [], Make.compile

    def compile_it(self: Make, on_object: Callable[[int], None], how: str | None = None) -> int:
        with store.lock(base, lambda: pytest.fail("held by the variant that compiles")):
            free.append(base)
        return compiling(self, on_object, how)

    monkeypatch.setattr(Make, "compile", compile_it)
    kernels.build(str(tree), files=["kasan"])
    assert len(free) == 1


def test_building_it_again_does_nothing_and_the_plain_one_stays_built(tree: Path) -> None:
    plain, watched = kernels.build(str(tree)), kernels.build(str(tree), files=["kasan"])
    assert kernels.build(str(tree), files=["kasan"]).folder == watched.folder
    assert kernels.build(str(tree)).folder == plain.folder


def test_a_kernel_that_has_none_is_refused_with_the_reason(tree: Path) -> None:
    (tree / "lacks").write_text("CONFIG_KASAN=y\n")
    with pytest.raises(BuildError, match=r"kasan: this kernel's User-Mode Linux has none"):
        kernels.build(str(tree), files=["kasan"])


def test_a_word_that_is_none_is_told_which_there_are() -> None:
    with pytest.raises(KernelError, match="no such file") as told:
        given.read(["kasam"], [])
    assert told.value.hint is not None
    assert told.value.hint.endswith("a word is kasan, ubsan, lockdep, debug-net, kmemleak, symbols, coverage")


def test_a_file_of_that_name_is_given_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "kasan").mkdir()
    (tmp_path / "kasan" / "x.c").write_text("int x;\n")
    with pytest.raises(KernelError, match="nothing here registers"):
        given.read(["./kasan"], [])


def test_the_build_of_a_plain_kernel_is_no_neighbour(tree: Path) -> None:
    kernels.build(str(tree))
    (place,) = store.cache("build", "any").parent.glob("*")
    assert part_of(place / "lab.config") == ""
    version = config.version_in((tree / "Makefile").read_text())
    assert seed._nearest(version, "", "") is not None
    assert seed._nearest(version, "", options_of(["kasan"])) is None
    kernels.build(str(tree), files=["kasan"])
    found = seed._nearest(version, "", options_of(["kasan"]))
    assert found is not None
    assert found.key.endswith("-with-kasan")
