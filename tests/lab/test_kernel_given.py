"""Files and patches given beside a source: what is refused, and what is built of them with a little tree."""

import re
import shutil
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner
from little_tree import MAKEFILE, commit, git, make_tree, starts

from rushhour.cli import cli
from rushhour.errors import BuildError, KernelError, UsageError
from rushhour.lab import boot
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import config, example, given, registered, store

# What the little tree compiles has to stand for itself.
HEAD = """
struct tcp_congestion_ops { const char *name; };
struct Qdisc_ops { const char *id; };
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
#define INIT(f) int (*f##_)(void) = f;
#define LICENSE(x)
"""
OPS = "struct tcp_congestion_ops mine = {{\n\t.name = {name},\n}};\n"
REST = """
int begin(void) { return tcp_register_congestion_control(&mine); }
module_init(begin)
MODULE_LICENSE("GPL")
"""
BUILT = REST.replace("module_init", "#define module_init INIT\n#define MODULE_LICENSE LICENSE\nmodule_init")
# As the kernel's: what is in net/with is compiled where net/Makefile names it.
MORE = """
	@if grep -q with/ net/Makefile; then for f in net/with/*.c; do \\
		echo "  CC      $$f"; gcc -Wall -c $(CURDIR)/$$f -o $(O)/with.o || exit 1; done; fi
	@cat net/with/* net/ipv4/tcp_cubic.c 2>/dev/null >> $(O)/linux || true
"""
DEPENDS = "$(O)/linux: one.c net/Makefile net/ipv4/tcp_cubic.c $(wildcard net/with/*)\n"


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = make_tree(tmp_path / "little")
    (root / "net/ipv4").mkdir(parents=True)
    (root / "net/Makefile").write_text("obj-y := core/\n")
    (root / "net/ipv4/tcp_cubic.c").write_text(HEAD + OPS.format(name='"cubic"'))
    (root / "Makefile").write_text(MAKEFILE.replace("$(O)/linux: one.c\n", DEPENDS) + MORE.lstrip("\n"))
    return root


def write(name: str = "tcp_mine.c", ops: str = '"mine"', rest: str = BUILT, head: str = HEAD) -> str:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(head + OPS.format(name=ops) + rest)
    return name


def build(tree: Path | str, *files: str, **options: object) -> tuple[kernels.Kernel, list[str]]:
    said: list[str] = []
    made = kernels.build(str(tree), None, lambda step: said.append(step.text), files=files, **options)  # type: ignore[arg-type]
    return made, said


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_file_makes_a_kernel_of_its_own_and_the_tree_stays_as_it_is(tree: Path) -> None:
    base, _ = build(tree)
    before = state(tree), state(store.cache("sources", base.origin()["key"]))
    made, said = build(tree, write())
    assert (state(tree), state(store.cache("sources", base.origin()["key"]))) == before
    assert made.name == "little-mine"
    assert made.id != base.id
    assert made.identity["source"]["with_files"] == "tcp_mine.c"
    assert made.identity["brings"] == {"congestion_controls": ["mine"]}
    assert any(text.startswith("beginning with") for text in said)
    assert "mine" in made.image.read_text()
    assert '"mine"' not in base.image.read_text()
    assert kernels.find(str(tree)) == base
    assert kernels.find(f"{tree} --with tcp_mine.c") == made


def test_a_change_of_the_file_is_another_kernel_and_none_is_unchanged(tree: Path) -> None:
    first, _ = build(tree, write())
    again, said = build(tree, "tcp_mine.c")
    assert again == first
    assert said[-1].startswith("unchanged")
    second, _ = build(tree, write(ops='"other"'))
    assert second.id != first.id
    assert "other" in second.image.read_text()
    assert second.origin()["key"] == first.origin()["key"]
    third, _ = build(tree, write("tcp_third.c", '"third"'))
    assert "other" not in third.image.read_text()


def test_a_changed_tree_reaches_the_kernel_with_a_file(tree: Path) -> None:
    build(tree, write())
    (tree / "one.c").write_text("int one = 2;\n")
    assert "int one = 2" in build(tree, "tcp_mine.c")[0].image.read_text()


def test_a_git_revision_takes_files_and_patches(tree: Path) -> None:
    git(tree, "init", "-q", "-b", "main")
    commit(tree, "one")
    (tree / "one.c").write_text("int one = 2;\n")
    Path("0001-two.patch").write_text(git(tree, "diff") + "\n")
    git(tree, "checkout", "-q", "one.c")
    made, _ = build(f"{tree}@main", write(), patches=["0001-two.patch"])
    assert made.name == "little-main-two-mine"
    assert made.identity["source"]["patches"] == "0001-two.patch"
    assert "int one = 2" in made.image.read_text()
    assert git(tree, "status", "--porcelain") == ""
    assert "int one;" in build(f"{tree}@main")[0].image.read_text()


def test_patches_of_a_folder_are_a_series(tree: Path) -> None:
    Path("series").mkdir()
    for number in (1, 2):
        old, new = ("int one;", "int one = 2;") if number == 1 else ("int one = 2;", "int one = 3;")
        patch = f"--- a/one.c\n+++ b/one.c\n@@ -1 +1 @@\n-{old}\n+{new}\n"
        Path(f"series/000{number}-x.patch").write_text(patch)
    made, _ = build(tree, patches=["series"])
    assert "int one = 3;" in made.image.read_text()
    with pytest.raises(KernelError, match="the patch expects"):
        build(tree, patches=["series/0002-x.patch"])
    # What did not fit has left nothing behind that would make the next build a whole one.
    assert not list(store.cache("sources", "x").parent.glob("*-patched-*.tmp*"))


def test_the_compilers_words_are_about_the_persons_file(tree: Path, tmp_path: Path) -> None:
    write("mine/tcp_mine.c", rest=f"int x = nonsense;\n{BUILT}")
    with pytest.raises(BuildError) as caught:
        build(tree, "mine/tcp_mine.c")
    assert re.search(
        r"^  mine/tcp_mine\.c:\d+:9: error: 'nonsense' undeclared", caught.value.message, re.MULTILINE
    )
    assert str(tmp_path) not in caught.value.message
    assert "net/with" not in caught.value.message


def test_warnings_are_told_and_a_licence_that_is_not_free(tree: Path) -> None:
    rest = "static int unused(void) { return 1; }\n" + BUILT.replace('"GPL"', '"Proprietary"')
    made, _ = build(tree, write(rest=rest))
    licence, warning = made.origin()["notes"]
    assert licence.startswith('tcp_mine.c: the licence "Proprietary"')
    assert re.match(r"tcp_mine\.c:\d+:12: warning: 'unused' defined but not used", warning)


def test_an_algorithm_that_the_kernel_has_is_refused_and_nothing_is_begun(tree: Path) -> None:
    with pytest.raises(KernelError, match=r'"cubic" already \(net/ipv4/tcp_cubic\.c\)') as caught:
        build(tree, write("tcp_x.c", '"cubic"'))
    assert "--patch" in str(caught.value.hint)
    assert not list(store.cache("sources", "x").parent.glob("*-with"))


def test_a_folder_is_built_by_its_kbuild_or_file_by_file() -> None:
    write("algo/tcp_mine.c")
    (made,) = [one for one in files_of("algo") if one.endswith("Kbuild")]
    assert files_of("algo")[made] == b"obj-y += tcp_mine.o\n"
    Path("algo/Makefile").write_text("obj-m := tcp_mine.o\n")
    Path("algo/Kconfig").write_text('config TCP_CONG_MINE\n\ttristate "mine"\n\nconfig SIZE\n\tint\n')
    Path("algo/tcp_mine.mod.c").write_text("")
    found = files_of("algo")
    assert found["net/with/algo/Makefile"] == b"obj-y := tcp_mine.o\n"
    assert found["net/with/Kconfig"] == b'source "net/with/algo/Kconfig"\n'
    assert b"obj-y += algo/\n" in found["net/with/Makefile"]
    assert not any(name.endswith(".mod.c") for name in found)
    taken = given.read(["algo"], [])
    assert taken is not None
    assert taken.options() == ["TCP_CONG_MINE"]


def files_of(*files: str) -> dict[str, bytes]:
    taken = given.read(files, [])
    assert taken is not None
    return {name: edit.data or b"" for name, edit in taken.files_of_ours().items()}


@pytest.mark.parametrize(
    ("ops", "rest", "told"),
    [
        ('"mine"', REST.replace("tcp_register", "x"), "nothing here registers"),
        (
            '"mine"',
            REST.replace("tcp_register", "/* tcp_register_congestion_control( */ x"),
            "nothing here reg",
        ),
        ('"mine"', REST.replace("module_init", "x"), "nothing here is called"),
        ('"sixteen-letters-"', REST, "has 16 characters; the kernel keeps 15"),
        ('"Mine"', REST, "no name that a scenario can give"),
    ],
)
def test_a_file_that_could_not_be_used_is_refused(ops: str, rest: str, told: str) -> None:
    with pytest.raises(KernelError, match=told) as caught:
        given.read([write(ops=ops, rest=rest, head="")], [])
    assert str(caught.value.where).startswith("tcp_mine.c")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("none.c", "no such file"),
        ("my algo.c", "not a file of C"),
        ("tcp.cpp", "not a file of C"),
        ("x.patch", "this is a patch"),
        ("empty", "no C in this folder"),
        ("a folder", "letters, digits"),
    ],
)
def test_what_is_no_file_of_c_is_refused(file: str, told: str) -> None:
    for name in ("my algo.c", "tcp.cpp", "x.patch"):
        Path(name).touch()
    for name in ("empty", "a folder"):
        Path(name).mkdir()
    with pytest.raises(KernelError, match=told):
        given.read([file], [])


def test_two_files_of_one_name_or_of_one_algorithm_are_refused() -> None:
    one, two, other = write(), write("d/tcp_mine.c"), write("tcp_other.c")
    with pytest.raises(KernelError, match=r"two of these are called tcp_mine\.c"):
        given.read([one, two], [])
    with pytest.raises(KernelError, match=r'"mine" is registered twice: there and at tcp_mine\.c'):
        given.read([one, other], [])


@pytest.mark.parametrize(
    ("spec", "told"), [("none.patch", "no such patch"), ("empty", "no patch in this folder")]
)
def test_a_patch_that_is_not_there_is_said(spec: str, told: str) -> None:
    Path("empty").mkdir()
    with pytest.raises(KernelError, match=told):
        given.read([], [spec])


def test_what_c_registers_is_found_by_its_text() -> None:
    text = '#define NAME "vivid" /* .name = "no" */\n' + OPS.format(name="NAME")
    text += 'static struct Qdisc_ops ops __read_mostly = { .cl_ops = &x, .id = "slow" }; // "x"\n'
    text += "*attr = INET_DIAG_BBRINFO;\n"
    found = registered.of(text)
    assert [(name.text, name.line, name.is_algorithm) for name in found.names] == [
        ("vivid", 3, True),
        ("slow", 5, False),
    ]
    assert (found.registers, found.begins, found.license, found.tells) == (False, False, None, "bbr")


@pytest.mark.parametrize("kind", ["tcp", "sch"])
def test_the_examples_are_what_can_be_given(kind: str) -> None:
    Path(f"{kind}_gentle.c").write_text(example.text(f"{kind}_gentle.c"))
    taken = given.read([f"{kind}_gentle.c"], [])
    assert taken is not None
    assert taken.notes() == []
    assert [*taken.brings().values()] == [["gentle"]]
    own = resources.files("rushhour.lab.kernel").joinpath(f"examples/{kind}_mine.c").read_text()
    assert example.text(f"{kind}_mine.c") == own


@pytest.mark.parametrize("file", ["mine.c", "tcp_Mine.c", "tcp_.c", "sch_sixteen_letters_.c", "tcp_a.h"])
def test_an_example_of_another_name_is_refused(file: str) -> None:
    with pytest.raises(UsageError, match="does not say"):
        example.text(file)


def test_a_released_kernels_options_are_all_asked_for_and_others_switched_on(tree: Path) -> None:
    options = ["TCP_CONG_ADVANCED", "TCP_CONG_CUBIC", "TCP_CONG_PRAGUE", "OTHER"]
    text = "".join(f'config {name}\n\ttristate "{name}"\n\tdepends on X\n\n' for name in options)
    (tree / "net/ipv4/Kconfig").write_text(text)
    assert config.own(tree) == ["TCP_CONG_PRAGUE"]
    assert config.fragment(tree).endswith("CONFIG_TCP_CONG_PRAGUE=y\n")


def test_the_command_takes_both_and_says_what_came(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "boot", starts)
    write("tcp_a.c", '"a"'), shutil.copy("tcp_a.c", "not-c.txt")
    done = CliRunner().invoke(cli, ["kernel", "build", str(tree), "--with", "tcp_a.c"])
    assert done.exit_code == 0, done.output
    assert re.search(r'^brings +cc = "a"$', done.stdout, re.MULTILINE)
    assert "with tcp_a.c" in CliRunner().invoke(cli, ["kernel", "list"]).stdout
    narrow = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["kernel", "list"]).stdout
    # What is copied into a command is never cut.
    assert "…" not in narrow
    refused = CliRunner().invoke(cli, ["kernel", "build", str(tree), "--with", "not-c.txt"])
    assert isinstance(refused.exception, KernelError)


def test_a_kernel_that_lacks_a_name_is_told_which_one_has_it(tree: Path) -> None:
    message = 'no congestion control "mine"; this kernel has: cubic reno'
    assert kernels.elsewhere(message, "debian:6.12").endswith("build debian:6.12 --with tcp_mine.c")
    build(tree, write())
    assert kernels.elsewhere(message, "x") == "little-mine has it: --kernel little-mine"
    assert kernels.elsewhere("this kernel has no qdisc slow", "x").endswith("--with sch_slow.c")
    assert kernels.elsewhere("this kernel has no sysctl x", "x") == ""
