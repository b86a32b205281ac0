"""New files that nothing in the kernel comes to: by objects of a real compiler, and by text."""

import subprocess
from pathlib import Path

import pytest
from little_tree import commit, git

from rushhour.check.change import between
from rushhour.check.reach import reach
from rushhour.check.telling import commit as sentence
from rushhour.check.telling import differing
from rushhour.check.unused import builds, declares, unused
from rushhour.coverage.index import Index
from rushhour.lab.kernel import git as sources_git
from rushhour.lab.kernel import sources, store
from rushhour.lab.kernel.objects import BUILT

MAKEFILE = "# Objects.\nobj-y := tcp.o \\\n\t udp.o\n"
HEADER = "extern int tcp(int a);\n"
NEW = "net/ipv4/new.c"
TEXT = '#include "tcp.h"\nint new_one(int a)\n{\n\treturn a + 1;\n}\n'
CALL = "int tcp(int a)\n{\n\textern int new_one(int);\n\treturn new_one(a);\n}\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "linux/net/ipv4").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", "linux")
    made = tmp_path / "linux"
    write(
        made,
        Makefile=MAKEFILE,
        tcp__h="extern int tcp(int a);\n",
        tcp__c="int tcp(int a)\n{\n\treturn a;\n}\n",
    )
    write(made, udp__c="__attribute__((weak)) int weak_one(int a)\n{\n\treturn a;\n}\n")
    commit(made, "first")
    return made


def write(tree: Path, **texts: str) -> None:
    for name, text in texts.items():
        (tree / "net/ipv4" / name.replace("__", ".")).write_text(text)


def built(tree: Path) -> frozenset[str]:
    """What nothing comes to of the last commit, whose objects are made as kbuild makes them."""
    head = git(tree, "rev-parse", "HEAD")
    key = sources.resolve(f"{tree}/.git@{head}", lambda _: None).key
    copy, place = sources_git.export(tree / ".git", head, key), store.cache("build", key, BUILT).parent
    (place / "net/ipv4").mkdir(parents=True, exist_ok=True)
    for source in (copy / "net/ipv4").glob("*.c"):
        subprocess.run(["gcc", "-c", "-O2", "-o", place / f"net/ipv4/{source.stem}.o", source], check=True)
        (place / f"net/ipv4/.{source.stem}.o.cmd").touch()
    (place / BUILT).touch()
    return unused(tree / ".git", between(tree, f"{head}~1", head))


def with_new(tree: Path, text: str = TEXT, **more: str) -> frozenset[str]:
    write(tree, new__c=text, Makefile=MAKEFILE + "obj-$(CONFIG_INET) += new.o\n")
    write(tree, **more)
    commit(tree, "new")
    return built(tree)


def test_a_new_file_that_nothing_calls_and_what_builds_and_declares_it(tree: Path) -> None:
    declared = "\n/* More by one. */\nint new_one(int a);\n"
    assert with_new(tree, tcp__h=HEADER + declared) == {NEW, "net/ipv4/Makefile", "net/ipv4/tcp.h"}


def test_a_file_with_another_change_than_its_own_is_none(tree: Path) -> None:
    write(tree, other__c="int other;\n")
    more = {"Makefile": MAKEFILE + "obj-y += new.o\nccflags-y += -DSLOW\n"}
    assert with_new(tree, tcp__h=HEADER + "#define SLOW\n", **more) == {
        NEW,
        "net/ipv4/other.c",
    }


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (TEXT, {"tcp__c": CALL}),
        (TEXT + "int weak_one(int a)\n{\n\treturn a + 1;\n}\n", {}),  # in place of another
        (TEXT + '__attribute__((section(".initcall6.init"))) void *call = new_one;\n', {}),
        (TEXT + "int at;\n__attribute__((constructor)) void at_once(void)\n{\n\tat = 1;\n}\n", {}),
        (TEXT + '__attribute__((section("a_table"))) void *call = new_one;\n', {}),
    ],
    ids=["called", "in place of another", "called at the start", "called at once", "in a table"],
)
def test_what_something_may_come_to(tree: Path, text: str, more: dict[str, str]) -> None:
    assert with_new(tree, text, **more) == frozenset()


def test_what_calls_it_may_be_as_lonely_as_it(tree: Path) -> None:
    more = {"more__c": "extern int new_one(int a);\nint more(int a)\n{\n\treturn new_one(a);\n}\n"}
    assert with_new(tree, **more) >= {NEW, "net/ipv4/more.c"}
    write(tree, tcp__c="extern int more(int);\nint tcp(int a)\n{\n\treturn more(a);\n}\n")
    git(tree, "reset", "--soft", "HEAD~1")
    commit(tree, "called")
    assert built(tree) == frozenset()


def test_without_objects_of_the_candidate_nothing_is_known(tree: Path) -> None:
    assert with_new(tree) == {NEW, "net/ipv4/Makefile"}
    change = between(tree, "HEAD~1", "HEAD")
    key = sources.resolve(f"{tree}/.git@HEAD", lambda _: None).key
    sources_git.export(tree / ".git", "HEAD~1", key)
    assert unused(tree / ".git", change) == frozenset()
    sources_git.export(tree / ".git", "HEAD", key)
    assert unused(tree / ".git", change)
    (store.cache("build", key) / BUILT).unlink()
    assert unused(tree / ".git", change) == frozenset()


def test_it_is_told_that_nothing_calls_it(tree: Path) -> None:
    lonely = with_new(tree)
    change = between(tree, "HEAD~1", "HEAD")
    found = reach(change, Index({}, (), {}, None), lambda _: "", lonely)  # type: ignore[arg-type]
    assert (found.known, found.first) == (True, frozenset())
    assert found.cells(NEW, "new_one") == 0
    said = sentence({"verdict": "unexercised", "change": differing(change, found)})
    assert said == f"Nothing here was exercised: nothing in the kernel calls new_one in {NEW}:1-5."


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (MAKEFILE + "obj-y += new.o\n", True),
        (MAKEFILE + "\n# New.\nobj-$(CONFIG_A) += new.o # it\n", True),
        (MAKEFILE.replace("udp.o", "new.o udp.o"), True),
        (MAKEFILE.replace("udp.o", "new.o"), False),
        (MAKEFILE.replace("tcp.o", "udp.o new.o").replace("\t udp.o", "\t tcp.o"), False),  # another order
        (MAKEFILE + "obj-y += new.o other.o\n", False),
        (MAKEFILE + "ifdef CONFIG_A\nobj-y += new.o\nendif\n", False),
        (MAKEFILE + "CFLAGS_new.o := -O3\n", False),
    ],
)
def test_makefiles_that_differ_by_an_object(text: str, same: bool) -> None:
    assert (builds(MAKEFILE, set()) == builds(text, {"new.o"})) is same


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("int new_one(int a);", True),
        ("/* It. */\nextern struct sock *new_one(struct sock *sk,\n\t\t\t  int a);\n", True),
        ("int new_one(int a);\nint tcp(int a);", False),
        ("#define new_one(a) tcp(a)", False),
        ("static inline int new_one(int a)\n{\n\treturn a;\n}", False),
        ("extern int new_one;", False),
        ("int new_one(int a)", False),
        ("", True),
    ],
)
def test_headers_that_only_declare(text: str, only: bool) -> None:
    assert declares(text.split("\n"), {"new_one"}) is only
