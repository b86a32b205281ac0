"""From a source to what a run of it executed, with the compiler's own gcov."""

import gzip
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from counting import counting_kernel, counting_tree, run_of

from rushhour.coverage.gather import Gatherer
from rushhour.coverage.index import CellRef, Index, cells_calling, cells_executing
from rushhour.errors import KernelError, LabError, RecordError
from rushhour.lab import kernel as kernels
from rushhour.lab.gcov import Gcov, notes_of, texts_of
from rushhour.lab.kernel import Kernel, given, process
from rushhour.lab.kernel.coverage import NOTES
from rushhour.record import counts
from rushhour.running import covered

FEW, MANY = ["a"], [*"abcdefghi"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Kernel]]:
    """A tree and the kernel of it that counts, in a cache of their own."""
    place = tmp_path_factory.mktemp("counting")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        patch.chdir(place)
        tree = counting_tree(place / "little")
        yield tree, counting_kernel(tree)


@pytest.fixture
def tree(world: tuple[Path, Kernel]) -> Path:
    return world[0]


@pytest.fixture
def kernel(world: tuple[Path, Kernel]) -> Kernel:
    return world[1]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree in an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return counting_tree(tmp_path / "little")


def _index(kernel: Kernel, runs: list[dict[str, bytes]]) -> Index:
    gatherer = Gatherer(kernel.identity)
    with Gcov(kernel) as gcov:
        for number, run in enumerate(runs):
            gatherer.take(CellRef("s", number, {"n": number}, 0), gcov.decode(run))
    return gatherer.index(texts_of(kernel))


def test_it_is_a_kernel_of_its_own_that_keeps_what_explains_its_counts(tree: Path, kernel: Kernel) -> None:
    plain = kernels.build(str(tree))
    assert kernel.name == "little-coverage"
    assert kernels.default().id == plain.id
    assert "brings" not in kernel.identity
    assert kernel.identity["source"]["sanitizers"] == "coverage"
    assert kernel.identity["config_sha256"] == plain.identity["config_sha256"]
    assert kernel.identity["host_sha256"] == plain.identity["host_sha256"]
    assert not (plain.folder / NOTES).exists()
    assert set(texts_of(kernel)) == {"net/ipv4/tcp.c", "include/net/tcp.h"}
    assert kernels.build(str(tree), files=["coverage"]).folder == kernel.folder
    assert covered.counting().id == kernel.id


def test_only_the_covered_objects_count(tmp_path: Path, kernel: Kernel) -> None:
    assert set(run_of(kernel, tmp_path / "run", *FEW)) == {"net/ipv4/tcp"}


def test_where_no_run_is_nothing_is_written(tmp_path: Path, kernel: Kernel) -> None:
    (tmp_path / "elsewhere").mkdir()
    subprocess.run([kernel.image, "x"], cwd=tmp_path / "elsewhere", check=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_an_image_does_not_say_where_it_was_built(tree: Path, kernel: Kernel) -> None:
    assert str(tree.parent).encode() not in kernel.image.read_bytes()


def test_lines_functions_and_branches_of_each_run(tmp_path: Path, kernel: Kernel) -> None:
    index = _index(kernel, [run_of(kernel, tmp_path / "few", *FEW)])
    tcp = index.files["net/ipv4/tcp.c"]
    executed = dict(zip(tcp.lines.tolist(), index.executed[tcp.line_sets].tolist(), strict=True))
    assert executed == {2: False, 4: False, 7: True, 9: True, 10: False, 11: True}
    called = index.executed[tcp.function_sets].tolist()
    assert [(one.name, one.first, one.last) for one in tcp.functions] == [("never", 2, 5), ("tcp", 7, 12)]
    assert called == [False, True]
    assert set(tcp.branches.tolist()) == {9}
    assert sorted(index.executed[tcp.branch_sets].tolist()) == [False, True]
    header = index.files["include/net/tcp.h"]
    assert index.executed[header.line_sets].all()


def test_which_cells_execute_a_line_the_cheapest_first(tmp_path: Path, kernel: Kernel) -> None:
    runs = [run_of(kernel, tmp_path / name, *words) for name, words in {"m": MANY, "f": FEW}.items()]
    index = _index(kernel, runs)
    # With many words never() is called, with few smaller().
    assert [cell.cell for cell in cells_executing(index, "net/ipv4/tcp.c", [4])] == [0]
    assert [cell.cell for cell in cells_executing(index, "net/ipv4/tcp.c", [11, 1])] == [1]
    both = cells_executing(index, "net/ipv4/tcp.c", [7, 9])
    assert [cell.calls for cell in both] == sorted(cell.calls for cell in both)
    assert {cell.cell for cell in both} == {0, 1}
    assert cells_executing(index, "net/ipv4/tcp.c", [1, 3, 900]) == []
    assert [cell.cell for cell in cells_calling(index, "net/ipv4/tcp.c", ["never"])] == [0]


def test_several_runs_of_one_cell_count_as_one(tmp_path: Path, kernel: Kernel) -> None:
    gatherer = Gatherer(kernel.identity)
    with Gcov(kernel) as gcov:
        for words in (FEW, MANY):
            run = gcov.decode(run_of(kernel, tmp_path / str(len(words)), *words))
            gatherer.take(CellRef("s", 3, {}, 0), run)
    index = gatherer.index(texts_of(kernel))
    assert [(cell.scenario, cell.cell) for cell in index.cells] == [("s", 3)]
    assert index.executed[index.files["net/ipv4/tcp.c"].line_sets].all()


def test_what_was_read_once_is_not_read_again(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(kernel, tmp_path / "run", *FEW)
    with Gcov(kernel) as gcov:
        (first,) = gcov.decode(run)
        monkeypatch.setattr(subprocess, "run", None)
        (second,) = gcov.decode(run)
    assert first is second
    assert np.count_nonzero(first.executed) > 0


def test_counters_of_another_kernel_are_refused(tmp_path: Path, kernel: Kernel) -> None:
    with Gcov(kernel) as gcov:
        with pytest.raises(LabError, match="has no notes of net/ipv4/other"):
            gcov.decode({"net/ipv4/other": b""})
        with pytest.raises(LabError, match="gcov cannot read what the kernel counted"):
            gcov.decode({"net/ipv4/tcp": b"not counters"})


def test_another_compilers_gcov_is_refused_before_it_reads_nonsense(kernel: Kernel) -> None:
    older = kernel.identity | {"compiler": "gcc (Debian 4.9.2-10) 4.9.2, GNU ld 2.25, glibc 2.19"}
    with pytest.raises(KernelError, match=r"compiled by gcc 4\.9\.2, and gcov here is"):
        Gcov(replace(kernel, identity=older))


def test_a_compiler_that_cannot_is_refused_with_one_that_can(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = process.answer
    monkeypatch.setattr(
        process,
        "answer",
        lambda words, **rest: "11.4.0\n" if "-dumpfullversion" in words else real(words, **rest),
    )
    with pytest.raises(KernelError, match=r"counting needs gcc 12 or newer, and this is 11\.4\.0"):
        counting_kernel(elsewhere)


def test_a_kernel_that_does_not_count_says_how_to_get_one_that_does(elsewhere: Path) -> None:
    plain = kernels.build(str(elsewhere))
    with pytest.raises(KernelError, match="does not count") as told:
        notes_of(plain)
    assert told.value.hint == "build one: rushhour kernel build debian:6.12 --with coverage"
    with pytest.raises(KernelError, match="there is no kernel that counts"):
        covered.counting()


@pytest.mark.parametrize("damage", ["no gzip", "short", "begins", "named"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, damage: str) -> None:
    whole = counts.MAGIC + b"\x02\0\0\0\x03\0\0\0abxyz"
    data = {
        "short": gzip.compress(whole[:-1]),
        "begins": gzip.compress(b"x" + whole),
        "named": gzip.compress(counts.MAGIC + b"\x04\0\0\0\0\0\0\0../x"),
    }.get(damage, b"no gzip")
    (tmp_path / counts.FILE).write_bytes(data)
    with pytest.raises(RecordError, match="the counters are damaged") as told:
        counts.read(tmp_path / counts.FILE)
    assert told.value.where == str(tmp_path / counts.FILE)


def test_packed_counts_are_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / counts.LEFT).write_bytes(counts.MAGIC + b"\x02\0\0\0\x03\0\0\0abxyz")
        counts.pack(tmp_path / name)
    one, other = ((tmp_path / name / counts.FILE).read_bytes() for name in ("a", "b"))
    assert one == other
    assert counts.read(tmp_path / "a" / counts.FILE) == {"ab": b"xyz"}


def test_the_word_is_told_beside_the_sanitizers() -> None:
    with pytest.raises(KernelError, match="no such file") as told:
        given.read(["coverag"], [])
    assert told.value.hint is not None
    assert told.value.hint.endswith("a word is kasan, ubsan, lockdep, debug-net, kmemleak, symbols, coverage")
