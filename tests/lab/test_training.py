"""Kernels compiled with a profile: the counters' bytes, and a little kernel by the real compiler."""

import struct
import subprocess
import tarfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from counting import RULES, counting_tree
from little_tree import starts

from rushhour.cli import cli
from rushhour.errors import KernelError, LabError
from rushhour.lab import boot
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import given, process, sources, store, training, variant
from rushhour.lab.kernel.training import cells, profile
from rushhour.record import counts

GCC_12, GCC_11 = 0x42323252, 0x42313452  # "B22R", "B14R"


def record(tag: int, *words: int) -> bytes:
    return struct.pack(f"<II{len(words)}I", tag, 4 * len(words), *words)


def arcs(*values: int) -> bytes:
    return struct.pack(f"<Ii{len(values)}q", 0x01A10000, 8 * len(values), *values)


def written(*parts: bytes, version: int = GCC_12) -> bytes:
    return struct.pack("<4sIII", b"adcg", version, 0xDA7E, 0xC4EC) + b"".join(parts) + bytes(4)


def summary(most: int) -> bytes:
    return record(0xA1000000, 1, most)


ONE = record(0x01000000, 7, 0x11E5, 0xC0DE)
OTHER = record(0x01000000, 3, 0x11E6, 0xCAFE)
NONE = record(0x01000000)
ZEROS = struct.pack("<Ii", 0x01A10000, -16)


def test_counters_of_runs_are_added_and_get_the_summary_that_the_compiler_wants() -> None:
    run = {"net/ipv4/tcp": written(ONE, arcs(5, 0, 1 << 33), NONE, OTHER, ZEROS)}
    again = {
        "net/ipv4/tcp": written(ONE, arcs(1, 2, 3), NONE, OTHER, arcs(0, 4)),
        "lib/x": written(ONE, arcs(9)),
    }
    files = profile.Profile([run, again]).files()
    # Of each object its own most, which has no more than 32 bits.
    assert list(files) == ["lib#x.gcda", "net#ipv4#tcp.gcda"]
    head = struct.pack("<4sIII", b"adcg", GCC_12, 0, 0)
    other = record(0x01000000, 3, 0, 0xCAFE) + arcs(0, 4)
    one = record(0x01000000, 7, 0, 0xC0DE) + arcs(6, 2, (1 << 33) + 3)
    assert files["net#ipv4#tcp.gcda"] == head + summary(0xFFFFFFFF) + other + one + bytes(4)
    assert files["lib#x.gcda"] == head + summary(9) + record(0x01000000, 7, 0, 0xC0DE) + arcs(9) + bytes(4)


def test_zeros_stay_unwritten_and_what_was_written_reads_the_same() -> None:
    files = profile.Profile([{"a": written(OTHER, ZEROS, ONE, arcs(1))}]).files()
    assert ZEROS in files["a.gcda"]
    assert profile.Profile([{"a": files["a.gcda"]}]).files() == files
    assert profile.sha256(files) != profile.sha256({"b.gcda": files["a.gcda"]})


def test_where_the_source_lay_does_not_count() -> None:
    moved = ONE.replace(struct.pack("<I", 0x11E5), struct.pack("<I", 0x7777))
    one, other = (profile.Profile([{"a": written(head, arcs(1, 2))}]).files() for head in (ONE, moved))
    assert one == other


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (written(ONE, arcs(1), version=GCC_11), "of gcc 11; from 12 on"),
        (b"no counters at all", "no counters of gcc"),
        (b"adcg", "end too early"),
        (written(ONE, arcs(1, 2))[:-9], "in the middle of a record"),
    ],
)
def test_counters_that_cannot_be_read_are_named(data: bytes, message: str) -> None:
    with pytest.raises(KernelError, match=message) as told:
        profile.Profile([{"net/core/dev": data}])
    assert told.value.where == "net/core/dev"


def test_counters_of_another_object_are_not_added() -> None:
    for other in (
        written(OTHER, arcs(1)),
        written(ONE, arcs(1, 2)),
        written(ONE.replace(b"\xde", b"\xdf"), arcs(1)),
    ):
        with pytest.raises(KernelError, match="counters of two runs"):
            profile.Profile([{"a": written(ONE, arcs(1))}, {"a": other}])


def test_the_cells_are_plans_whatever_the_machine() -> None:
    plans = [(name, cell.plan) for name, cell in cells.plans(training.scenarios())]
    assert len({name for name, _ in plans}) == len(plans) >= 8
    assert {flow.kind for _, plan in plans for flow in plan.flows} >= {"tcp", "udp", "crr"}
    assert plans == [(name, cell.plan) for name, cell in cells.plans(training.scenarios())]


# A rule of kbuild's: what is made by another command is made again.
OBJECT = "net/ipv4/tcp.o"
train = partial(kernels.build, train=True)
FORCED = RULES.replace("%.o: $(TREE)/%.c\n", "%.o: $(TREE)/%.c FORCE\n") + "FORCE:\n"


def archive(place: Path) -> Path:
    """A little kernel as a tarball: `linux` is a program that counts where it is told so."""
    tree = counting_tree(place / "little")
    (tree / "rules").write_text(FORCED)
    (tree / "net/with").mkdir()
    path = place / "little.tar"
    with tarfile.open(path, "w") as tar:
        tar.add(tree, "little")
    return path


def runs(image: Path, place: Path) -> dict[str, bytes]:
    (place / "out").mkdir(parents=True)
    subprocess.run([image.resolve(), *"abc"], cwd=place, check=True)
    return counts.left(place / "out")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(boot, "boot", starts)


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One object is trained by one cell, which calls the little kernel with three words."""
    taken = iter(range(99))
    monkeypatch.setattr(training, "OBJECTS", (OBJECT,))
    monkeypatch.setattr(cells, "require", lambda: None)
    monkeypatch.setattr(cells, "plans", lambda _: [("three words", None)])
    monkeypatch.setattr(
        cells, "carry_out", lambda image, _name, _cell: runs(image, tmp_path / f"run{next(taken)}")
    )


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return str(archive(tmp_path))


def test_a_release_is_trained_and_the_plain_kernel_is_another(cell: None, spec: str) -> None:
    said: list[str] = []
    trained = train(spec, progress=lambda step: said.append(step.text))
    assert "running a cell: three words" in said
    assert said.index("compiling with counters") < said.index("compiling with the profile")
    kept = profile.unpack(trained.folder / profile.FILE)
    assert list(kept) == ["net#ipv4#tcp.gcda"]
    assert trained.identity["trained"] == profile.sha256(kept)
    plain = kernels.build(spec)
    assert "trained" not in plain.identity
    assert plain.name == trained.name
    assert plain.id != trained.id
    assert plain.identity["image_sha256"] != trained.identity["image_sha256"]
    assert kernels.default().id == plain.id
    assert train(spec).id == trained.id == kernels.default().id
    assert subprocess.run([trained.image, "a"], check=False).returncode == 0


def test_anywhere_the_same_image_comes_out(
    cell: None, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train(spec)
    assert train(spec, from_nothing=True) == first
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "longer" / "way" / "to" / "it"))
    (tmp_path / "a").mkdir()
    second = train(spec)
    assert second.folder != first.folder
    assert second.identity == first.identity
    assert second.image.read_bytes() == first.image.read_bytes()


def test_symbols_are_those_of_the_trained_image(cell: None, spec: str) -> None:
    trained = train(spec)
    with_symbols = train(spec, files=["symbols"])
    assert with_symbols.identity["image_sha256"] == trained.identity["image_sha256"]
    assert with_symbols.identity["trained"] == trained.identity["trained"]
    plain = kernels.build(spec)
    assert kernels.build(spec, files=["symbols"]).identity["image_sha256"] == plain.identity["image_sha256"]


def test_what_begins_with_a_trained_build_begins_with_its_plain_objects(
    cell: None, spec: str, tmp_path: Path
) -> None:
    trained = train(spec)
    place = store.cache("build", str(trained.origin()["key"]))
    assert (place / "plain" / OBJECT).is_file()
    plain = kernels.build(spec)
    assert not (place / "plain").exists()
    assert not (place / "profile").exists()
    object_of_plain = (place / OBJECT).read_bytes()
    train(spec, from_nothing=True)
    assert (place / OBJECT).read_bytes() != object_of_plain
    training.put_back(place)
    assert (place / OBJECT).read_bytes() == object_of_plain
    assert not (place / "linux").exists()
    assert plain.id


@pytest.mark.parametrize("fault", [LabError("no run was possible"), KernelError("nothing was counted")])
def test_where_a_cell_cannot_be_run_the_kernel_is_plain_and_says_so(
    cell: None, spec: str, monkeypatch: pytest.MonkeyPatch, fault: LabError | KernelError
) -> None:
    def fails(*_: object) -> None:
        raise fault

    works = cells.carry_out
    monkeypatch.setattr(cells, "carry_out", fails)
    done = CliRunner().invoke(cli, ["kernel", "build", spec, "--train"])
    assert done.exit_code == 0, done.output
    assert f"not trained, so that its runs take longer: {fault.message}" in done.stderr
    [built] = kernels.installed()
    assert "trained" not in built.identity
    shown = CliRunner().invoke(cli, ["kernel", "show", built.name]).stdout
    assert f"trained   no: {fault.message}" in shown
    monkeypatch.setattr(cells, "carry_out", works)
    better = train(spec)
    assert better.identity["trained"]
    assert "untrained" not in better.origin()
    assert kernels.build(spec).image.read_bytes() == built.image.read_bytes()
    shown = CliRunner().invoke(cli, ["kernel", "show", better.id]).stdout
    assert f"trained   yes (profile {better.identity['trained'][:12]})" in shown


def test_a_machine_that_cannot_train_keeps_what_it_has(
    cell: None, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, said = process.answer, "11.4.0\n"

    def old(words: Sequence[str], **rest: Any) -> str:
        return said if "-dumpfullversion" in words else real(words, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(process, "answer", old)
        plain = train(spec)
        assert plain.origin()["untrained"] == "counting needs gcc 12 or newer, and this is 11.4.0"
        steps: list[str] = []
        assert train(spec, progress=lambda step: steps.append(step.text)).id == plain.id
        assert any(text.startswith("unchanged") for text in steps)
    trained = train(spec)
    with monkeypatch.context() as patch:
        patch.setattr(process, "answer", old)
        assert train(spec).id == trained.id


def test_what_is_worked_on_is_not_trained(cell: None, spec: str, tmp_path: Path) -> None:
    def mark(source: str, **rest: bool) -> str:
        asked = {"aside": False, "train": True, **rest}
        return training.wanted(sources.resolve(source, lambda _: None), **asked).mark

    assert mark(spec) == training.sha256()
    assert mark(str(tmp_path / "little")) == ""
    assert mark(spec, aside=True) == mark(spec, train=False) == ""
    file = tmp_path / "tcp_mine.c"
    file.write_text(
        'static struct tcp_congestion_ops mine = { .name = "mine" };\n'
        "static int mine_register(void)\n{\n\treturn tcp_register_congestion_control(&mine);\n}\n"
        'module_init(mine_register);\nMODULE_LICENSE("GPL");\n'
    )
    both = given.read([str(file), "symbols"], [])
    assert both is not None
    found = variant.of(sources.resolve(spec, lambda _: None), both)
    assert training.wanted(found, aside=True, train=True) == training.Wanted()
