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
from rushhour.lab.kernel import given, objects, process, sources, store, training, variant
from rushhour.lab.kernel.training import cells, notes, profile
from rushhour.record import counts

GCC_13, GCC_12, GCC_11 = 0x42333252, 0x42323252, 0x42313452  # "B32R", "B22R", "B14R"


def record(tag: int, *words: int) -> bytes:
    return struct.pack(f"<II{len(words)}I", tag, 4 * len(words), *words)


def arcs(*values: int) -> bytes:
    return struct.pack(f"<Ii{len(values)}q", 0x01A10000, 8 * len(values), *values)


def written(*parts: bytes, version: int = GCC_12) -> bytes:
    return struct.pack("<4sIII", b"adcg", version, 0xDA7E, 0xC4EC) + b"".join(parts) + bytes(4)


def summary(most: int) -> bytes:
    return record(0xA1000000, 1, most)


def text(word: str) -> bytes:
    return struct.pack("<I", len(word) + 1) + word.encode() + b"\0"


def noted(*functions: tuple[int, str, str]) -> bytes:
    """What the compiler notes of an object's functions: number, name, file."""
    parts = [struct.pack("<4s4sII", b"oncg", b"*22B", 1, 0), text("/build"), struct.pack("<I", 0)]
    for number, name, file in functions:
        body = struct.pack("<III", number, 0x11E5, 0xC0DE) + text(name) + struct.pack("<I", 0) + text(file)
        parts += [struct.pack("<II", 0x01000000, len(body)), body]
        parts += [struct.pack("<II", 0x01410000, 4), bytes(4)]
    return b"".join(parts)


TREE, FILE = "/home/me/linux", "/home/me/linux/net/ipv4/tcp.c"
SEEN = notes.number_of("tcp_ack", "", "net/ipv4/tcp")
INNER = notes.number_of("clean", FILE, "net/ipv4/tcp")
NOTES = {"net/ipv4/tcp": noted((SEEN, "tcp_ack", FILE), (INNER, "clean", FILE), (9, "gone", FILE))}
ONE = record(0x01000000, SEEN, 0x11E5, 0xC0DE)
OTHER = record(0x01000000, INNER, 0x11E6, 0xCAFE)
NONE = record(0x01000000)
ZEROS = struct.pack("<Ii", 0x01A10000, -16)


def added(*runs: bytes, tree: str = TREE) -> profile.Profile:
    return profile.added([{"net/ipv4/tcp": run} for run in runs], NOTES, tree)


def test_numbers_are_those_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/one.c").write_text(
        "static int __attribute__((noinline)) inner(int x) { return x ? 3 : 5; }\n"
        "int seen(int x) { return x > 3 ? inner(x) : 7; }\n"
    )
    words = ["gcc", "-O2", "-ftest-coverage", "-c", f"{tmp_path}/in/one.c", "-o", "in/one.o"]
    subprocess.run(words, cwd=tmp_path, check=True)
    found = {one.name: one for one in notes.read((tmp_path / "in/one.gcno").read_bytes())}
    assert {name: one.file for name, one in found.items()} == dict.fromkeys(
        ("inner", "seen"), f"{tmp_path}/in/one.c"
    )
    assert found["seen"].number == notes.number_of("seen", "", "in/one")
    assert found["inner"].number == notes.number_of("inner", f"{tmp_path}/in/one.c", "in/one")


def test_counters_of_runs_are_added_and_get_the_summary_that_the_compiler_wants() -> None:
    run = written(ONE, arcs(5, 0, 1 << 33), NONE, OTHER, ZEROS)
    again = written(ONE, arcs(1, 2, 3), NONE, OTHER, arcs(0, 4))
    files = added(run, again).files(TREE, GCC_12)
    assert list(files) == ["net#ipv4#tcp.gcda"]
    # The most has no more than 32 bits. Functions that others see come first, then by file and name.
    head = struct.pack("<4sIII", b"adcg", GCC_12, 0, 0)
    one = record(0x01000000, SEEN, 0, 0xC0DE) + arcs(6, 2, (1 << 33) + 3)
    other = record(0x01000000, INNER, 0, 0xCAFE) + arcs(0, 4)
    assert files["net#ipv4#tcp.gcda"] == head + summary(0xFFFFFFFF) + one + other + bytes(4)


def test_in_another_tree_functions_have_the_numbers_that_they_have_there() -> None:
    files = added(written(ONE, arcs(1), OTHER, arcs(2, 3))).files("/srv/linux", GCC_12)
    moved = notes.number_of("clean", "/srv/linux/net/ipv4/tcp.c", "net/ipv4/tcp")
    functions = profile.read(files["net#ipv4#tcp.gcda"]).functions
    assert list(functions) == [SEEN, moved]
    assert list(functions[moved].counts) == [2, 3]


def test_zeros_stay_unwritten_and_what_is_kept_reads_the_same(tmp_path: Path) -> None:
    one = added(written(OTHER, ZEROS, ONE, arcs(1)))
    assert ZEROS in one.files(TREE, GCC_12)["net#ipv4#tcp.gcda"]
    profile.pack(one, tmp_path / "kept")
    again = profile.unpack((tmp_path / "kept").read_bytes(), "kept")
    assert again == one
    assert again.sha256() == one.sha256() != added(written(OTHER, ZEROS, ONE, arcs(2))).sha256()
    assert again.gcc == 12


def test_where_the_source_lay_does_not_count() -> None:
    moved = ONE.replace(struct.pack("<I", 0x11E5), struct.pack("<I", 0x7777))
    assert added(written(ONE, arcs(1, 2))) == added(written(moved, arcs(1, 2)))


def test_functions_that_are_numbered_otherwise_are_no_profile() -> None:
    strange = {"net/ipv4/tcp": noted((SEEN, "tcp_push", FILE))}
    with pytest.raises(KernelError, match="the compiler's number of tcp_push is not known"):
        profile.added([{"net/ipv4/tcp": written(ONE, arcs(1))}], strange, TREE)


@pytest.mark.parametrize("data", [b"", b"xz", b"\xfd7zXZ\x00"])
def test_a_damaged_profile_is_named(data: bytes) -> None:
    with pytest.raises(KernelError, match="damaged") as told:
        profile.unpack(data, "kept")
    assert told.value.where == "kept"


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
        profile.added([{"net/core/dev": data}], {}, TREE)
    assert told.value.where == "net/core/dev"


def test_counters_of_another_object_are_not_added() -> None:
    for other in (
        written(OTHER, arcs(1)),
        written(ONE, arcs(1, 2)),
        written(ONE.replace(b"\xde", b"\xdf"), arcs(1)),
    ):
        with pytest.raises(KernelError, match="counters of two runs"):
            added(written(ONE, arcs(1)), other)


def test_the_cells_are_plans_whatever_the_machine() -> None:
    plans = [(name, cell.plan) for name, cell in cells.plans(training.scenarios())]
    assert len({name for name, _ in plans}) == len(plans) >= 8
    assert {flow.kind for _, plan in plans for flow in plan.flows} >= {"tcp", "udp", "crr"}
    assert plans == [(name, cell.plan) for name, cell in cells.plans(training.scenarios())]


# A rule of kbuild's: what is made by another command is made again.
OBJECT = "net/ipv4/tcp.o"
train = partial(kernels.build, train=True)
build_plain = partial(kernels.build, train=False)
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
    kept = profile.unpack((trained.folder / profile.FILE).read_bytes(), "kept")
    assert [one.name for one in kept.objects["net/ipv4/tcp"]] == ["tcp"]
    assert trained.identity["trained"] == kept.sha256()
    plain = build_plain(spec)
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
    plain = build_plain(spec)
    assert build_plain(spec, files=["symbols"]).identity["image_sha256"] == plain.identity["image_sha256"]


def test_a_trained_build_leaves_the_plain_one_to_who_goes_on_from_it(cell: None, spec: str) -> None:
    """Mutants link its objects again, and `check` begins with them."""
    place = store.cache("build", str(train(spec).origin()["key"]))
    left, linked = (place / OBJECT).read_bytes(), (place / "linux").read_bytes()
    assert not (place / "plain").exists()
    assert not list(place.glob("profile-*"))
    assert (place / objects.BUILT).is_file()
    build_plain(spec, from_nothing=True)
    assert ((place / OBJECT).read_bytes(), (place / "linux").read_bytes()) == (left, linked)


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
    assert build_plain(spec).image.read_bytes() == built.image.read_bytes()
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


def test_the_programs_profile_needs_no_cell_and_gives_the_image_that_was_trained(
    cell: None, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = train(spec)
    kept = profile.unpack((trained.folder / profile.FILE).read_bytes(), "kept")
    identity, image = trained.identity, trained.image.read_bytes()
    kernels.remove(trained.folder.name, sources=True)
    monkeypatch.setattr(training, "shipped", lambda: kept)
    monkeypatch.setattr(training, "SHIPPED_SOURCE", identity["source_sha256"])
    monkeypatch.setattr(cells, "carry_out", None)
    built = train(spec)
    assert built.image.read_bytes() == image
    assert built.identity == identity
    place = store.cache("build", str(built.origin()["key"]))
    left = (place / OBJECT).read_bytes()
    assert not list(place.glob("profile-*"))
    assert build_plain(spec).image.read_bytes() != image
    assert (place / OBJECT).read_bytes() == left


@pytest.mark.parametrize(("version", "source"), [(GCC_13, ""), (GCC_11, ""), (GCC_12, "another")])
def test_another_compiler_or_source_is_trained_by_its_own_cells(
    spec: str, monkeypatch: pytest.MonkeyPatch, version: int, source: str
) -> None:
    found = sources.resolve(spec, lambda _: None)
    monkeypatch.setattr(training, "SHIPPED_SOURCE", source or found.sha256)
    monkeypatch.setattr(training, "_version", lambda: version)
    monkeypatch.setattr(training, "hindrance", lambda: "")
    assert training.wanted(found, aside=False, train=True) == training.Wanted(training.sha256())
    monkeypatch.setattr(training, "_version", lambda: GCC_12)
    monkeypatch.setattr(training, "SHIPPED_SOURCE", found.sha256)
    assert training.wanted(found, aside=False, train=True).kept == training.shipped()


def test_the_profile_that_comes_with_the_program_is_whole() -> None:
    one = training.shipped()
    assert {f"{name}.o" for name in one.objects} == {*training.OBJECTS}
    assert one.gcc == 12
    for name, functions in one.objects.items():
        assert any(any(function.counts) for function in functions), name
        assert not any(function.file.startswith("/") for function in functions), name
