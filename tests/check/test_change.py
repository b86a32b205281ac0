"""What differs between two commits of a kernel: files, functions, lines."""

from pathlib import Path

import pytest
from little_tree import git

from rushhour.check.change import between, functions_of, lines_of, series
from rushhour.check.reach import Reach
from rushhour.check.telling import differing, files

SOURCE = """\
// SPDX
#include <net/tcp.h>

static int beta __read_mostly = 717;
module_param(beta, int, 0644);

struct bictcp {
	u32 cnt;
};

static inline void bictcp_reset(struct bictcp *ca)
{
	ca->cnt = 0;
}

/* Calculate. */
__bpf_kfunc static u32 cubictcp_recalc_ssthresh(struct sock *sk,
						const char *why)
{
	if (sk) {
		return 1;
	}
	return max(2U, beta);
}
EXPORT_SYMBOL_GPL(cubictcp_recalc_ssthresh);

SYSCALL_DEFINE3(bind, int, fd,
		struct sockaddr __user *, umyaddr, int, addrlen)
{
	return __sys_bind(fd, umyaddr, addrlen);
}

static struct tcp_congestion_ops cubictcp __read_mostly = {
	.name = "cubic",
};

static void
old_style(int a)
{
}
"""


def test_functions_are_found_by_the_kernels_style() -> None:
    found = [(one.name, one.first, one.last) for one in functions_of(SOURCE)]
    assert found == [
        ("bictcp_reset", 11, 14),
        ("cubictcp_recalc_ssthresh", 17, 24),
        ("bind", 27, 31),
        ("old_style", 37, 40),
    ]


def test_lines_of_a_diff() -> None:
    diff = "@@ -3 +3 @@ x\n-a\n+b\n@@ -7,2 +8,0 @@\n-c\n-d\n@@ -9,0 +9,3 @@\n+e\n+f\n+g\n"
    assert lines_of(diff) == ((3, 7, 8), (3, 9, 10, 11))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "linux"
    (made / "net").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", "linux")
    save(made, SOURCE)
    return made


def save(tree: Path, text: str, name: str = "net/cubic.c") -> str:
    (tree / name).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "a change")
    return git(tree, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("old", "new", "functions", "outside"),
    [
        ("return 1;", "return 2;", ("cubictcp_recalc_ssthresh",), False),
        ("= 717", "= 716", (), True),
        ("\tca->cnt = 0;\n", "", ("bictcp_reset",), False),
        ("const char *why", "const char *because", ("cubictcp_recalc_ssthresh",), False),
        ("static void\nold_style(int a)\n{\n}\n", "", ("old_style",), False),
        (".name", ".flags = 1,\n\t.name", (), True),
        (
            "/* Calculate. */\n",
            "/* A.\n */\nint one(void)\n{\n}\nEXPORT_SYMBOL(one);\n\n",
            ("one",),
            False,
        ),
        ("/* Calculate. */\n", "/* Count. */ int two;\n", (), True),
    ],
)
def test_a_change_names_the_functions(
    tree: Path, old: str, new: str, functions: tuple[str, ...], outside: bool
) -> None:
    before = git(tree, "rev-parse", "HEAD")
    after = save(tree, SOURCE.replace(old, new))
    change = between(tree, before, after)
    assert [(one.path, one.kind) for one in change.files] == [("net/cubic.c", "changed")]
    assert change.files[0].functions == functions
    assert change.files[0].outside is outside


def test_files_that_come_and_go_and_odd_names(tree: Path) -> None:
    before = git(tree, "rev-parse", "HEAD")
    (tree / "net/cubic.c").unlink()
    odd = 'net/a "b" [*] é.c'
    after = save(tree, SOURCE, odd)
    files = {one.path: one for one in between(tree, before, after).files}
    assert {path: one.kind for path, one in files.items()} == {"net/cubic.c": "removed", odd: "added"}
    assert files[odd].functions == files["net/cubic.c"].functions
    assert len(files[odd].functions) == 4
    assert files[odd].new == tuple(range(1, 41))


def test_a_series_is_in_order_and_follows_a_merge_by_its_first_parent(tree: Path) -> None:
    first = git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "-q", "-b", "side")
    save(tree, "int a;\n", "net/side.c")
    git(tree, "checkout", "-q", "main")
    second = save(tree, "int b;\n", "net/b.c")
    git(tree, "merge", "-q", "--no-ff", "-m", "merge", "side")
    merge = git(tree, "rev-parse", "HEAD")
    assert series(tree, first, merge) == [(first, second), (second, merge)]


def test_a_file_under_another_name_is_told_as_that(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("same.c", "more.c", "gone.c", "mode.c"):
        (tmp_path / name).write_text(f"/* {name} */\n" + SOURCE * 2)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    git(tmp_path, "mv", "same.c", "other.c")
    git(tmp_path, "mv", "more.c", "less.c")
    (tmp_path / "less.c").write_text((tmp_path / "less.c").read_text().replace("717", "300"))
    (tmp_path / "gone.c").unlink()
    (tmp_path / "new.c").write_text("int one(void)\n{\n\treturn 1;\n}\n")
    (tmp_path / "mode.c").chmod(0o755)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "-q", "-m", "two")
    change = between(tmp_path, "HEAD^", "HEAD")
    moved = {one.path: (one.kind, one.moved, one.alike) for one in change.files if one.moved}
    assert moved == {
        "other.c": ("added", "same.c", True), "same.c": ("removed", "other.c", True),
        "less.c": ("added", "more.c", False), "more.c": ("removed", "less.c", False),
    }  # fmt: skip
    reached = Reach(executed={("gone.c", "old_style"): frozenset()})
    assert [*files(differing(change, reached))] == [
        ("gone.c: gone: bictcp_reset, cubictcp_recalc_ssthresh, bind, "
        "old_style (executed by no cell), declarations"),
        "less.c: was more.c, and is another text",
        "mode.c: only its mode",
        "new.c: new: one",
        "other.c: was same.c, with the same text",
    ]  # fmt: skip
