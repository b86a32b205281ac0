"""Whether a change compiles to the same code: by the objects of a real compiler."""

from pathlib import Path

import pytest
from little_tree import commit, git

from rushhour.check.change import between
from rushhour.check.same import compiles_to_the_same
from rushhour.lab.kernel import git as sources_git
from rushhour.lab.kernel import sources, store
from rushhour.lab.kernel.objects import BUILT

FILE = "net/ipv4/one.c"
TEXT = """\
#include "one.h"
extern void warn(const char *file, int line);
int speed(int window)
{
	int round = window * SCALE;

	if (round < 0)
		warn(__FILE__, __LINE__);
	return round / 2;
}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree, and its build directory as make leaves it: with the command beside each object."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "linux"
    (made / "net/ipv4").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", "linux")
    (made / "net/ipv4/one.h").write_text("#define SCALE 3\n")
    (made / FILE).write_text(TEXT)
    (made / "net/ipv4/other.c").write_text("int other;\n")
    head = commit(made, "first")
    key = sources.resolve(f"{made}/.git@{head}", lambda _: None).key
    copy, place = sources_git.export(made / ".git", head, key), store.cache("build", key, BUILT).parent
    (place / "net/ipv4").mkdir(parents=True)
    for name in ("one", "other"):
        said = f"gcc -Wp,-MMD,net/ipv4/.{name}.o.d -fmacro-prefix-map={copy}/= -O2 -DNAME='\"{name}\"'"
        note = f"savedcmd_net/ipv4/{name}.o := {said} -c -o net/ipv4/{name}.o {copy}/net/ipv4/{name}.c\n"
        (place / f"net/ipv4/.{name}.o.cmd").write_text(f"{note}\ndeps_x := \\\n  {copy}/net/ipv4/one.h \\\n")
    (place / BUILT).touch()
    return made


def told(tree: Path, text: str, path: str = FILE) -> bool | None:
    base = git(tree, "rev-parse", "HEAD")
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).write_text(text)
    found = compiles_to_the_same(tree / ".git", between(tree, base, commit(tree, "other")))
    return None if found is None else found.same


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("round", "turn", True),
        ("\tint round", "\n\n\n\tint round", True),  # the warning's line moves
        ("int speed(", "/* Lines. */\n\nint speed(", True),
        ("round / 2", "(round / (1 + 1))", True),
        ("round / 2", "round / 3", False),
        ("round < 0", "round < 1", False),
        ("int speed(", "int more;\n\nint speed(", False),
        ("__FILE__", '"elsewhere.c"', False),
    ],
)
def test_moved_lines_and_other_names_are_the_same_code(tree: Path, old: str, new: str, same: bool) -> None:
    assert told(tree, TEXT.replace(old, new)) is same


def test_what_the_build_directory_does_not_tell(tree: Path) -> None:
    key = sources.resolve(f"{tree}/.git@main", lambda _: None).key
    place = store.cache("build", key)
    assert told(tree, TEXT + "int wrong = nonsense;\n") is None  # make has better words
    assert told(tree, TEXT) is None  # as above: of the base
    assert told(tree, "#define SCALE 4\n", "net/ipv4/one.h") is None
    # The private copy has another header than this base.
    assert told(tree, TEXT.replace("round", "turn")) is None
    git(tree, "checkout", "-q", "HEAD~4")
    assert told(tree, TEXT.replace("round", "turn")) is True
    assert told(tree, "int third;\n", "net/ipv4/third.c") is None  # a file that was never compiled
    (place / BUILT).unlink()
    assert told(tree, TEXT.replace("round", "way")) is None
    assert not list(place.parent.glob(".tmp*"))


def test_what_the_compiler_newly_warns_of_is_told(tree: Path) -> None:
    for note in (store.cache("build", "any").parent).rglob(".one.o.cmd"):
        note.write_text(note.read_text().replace(" -O2 ", " -O2 -Wall "))
    base = commit(tree, "warns", **{"net/ipv4/one__c": TEXT.replace("int round", "int old; int round")})
    after = TEXT.replace("int round", "int old, new; int round")
    found = compiles_to_the_same(
        tree / ".git", between(tree, base, commit(tree, "more", **{"net/ipv4/one__c": after}))
    )
    assert found is not None
    assert found.same
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith(f"{FILE}: unused variable ")
    assert "new" in found.warnings[0]
