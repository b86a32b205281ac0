"""Objects that are put in place instead of compiled: what comes out is what a build from nothing makes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from little_tree import commit, git, make_tree

from rushhour.errors import BuildError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import macros, reuse, sources, store

# As kbuild does it: a note beside each object has its command and the files it was made of.
MAKEFILE = """
VERSION = 6
PATCHLEVEL = 99
allnoconfig:
\t@(cat $(KCONFIG_ALLCONFIG); echo CONFIG_HZ=1000; echo) > $(O)/.config; mkdir -p $(O)/include/config
\t@echo 6.99.0 > $(O)/include/config/kernel.release
linux:
\t@$(MAKE) --no-print-directory -C $(O) -f $(CURDIR)/Build SRC=$(CURDIR) linux
"""
BUILD = """
MAKEFLAGS += -r
OBJECTS = net/one.o net/two.o net/three.o
linux: $(OBJECTS)
\t@cat $^ > $@
net/%.o: $(SRC)/net/%.c | scripts/basic/fixdep
\t@echo "  CC      $@"
\t@gcc -Wp,-MMD,net/.$*.o.d $(KCFLAGS) -I$(SRC)/net -c -o $@ $<
\t@scripts/basic/fixdep net/.$*.o.d $@ 'gcc -Wp,-MMD,net/.$*.o.d $(KCFLAGS) -I$(SRC)/net -c -o $@ $<' \\
\t\t> net/.$*.o.cmd
scripts/basic/fixdep:
\t@mkdir -p net scripts/basic && cp $(SRC)/fixdep $@
net/two.o: | net/one.o
-include $(patsubst net/%,net/.%.cmd,$(wildcard $(OBJECTS)))
"""
FIXDEP = """#!/bin/sh
echo "savedcmd_$2 := $3"; echo
echo "source_$2 := $(echo "$3" | sed 's/.* //')"; echo
echo "deps_$2 := \\\\"; tr -d '\\\\\\n' < "$1" | sed 's/^[^ ]*: *[^ ]*//'; echo; echo
echo "$2: \\$(deps_$2)"; echo; echo "\\$(deps_$2):"; echo ".SECONDARY: \\$(deps_$2)"
"""
HEADER = "#define SCALE 3\n#define STEP 4\n"
USES = '#include "all.h"\nint {0}(int value) {{ return value * {1}; }}\n'


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = make_tree(tmp_path / "linux")
    (made / "net").mkdir()
    (made / "fixdep").touch(0o755)
    files = {"Makefile": MAKEFILE, "Build": BUILD, "fixdep": FIXDEP, "net/all.h": HEADER, "net/other.h": ""}
    for name, uses in (("one", "SCALE"), ("two", "STEP"), ("three", "7")):
        files[f"net/{name}.c"] = USES.format(name, uses)
    for name, text in files.items():
        (made / name).write_text(text)
    (made / "lacks").unlink()
    git(made, "init", "-q", "-b", "main")
    commit(made, "first")
    return made


def build(tree: Path, *, from_nothing: bool = False, **texts: str) -> tuple[object, object]:
    """How many objects are compiled where these files below net/ have these texts, and the image's hash."""
    for name, text in texts.items():
        (tree / "net" / name.replace("__", ".")).write_text(text)
    head = commit(tree, "next")
    kernel = kernels.build(f"{tree}@{head}", "k", from_nothing=from_nothing)
    return kernel.origin()["objects"], kernel.identity["image_sha256"]


def test_of_the_users_of_a_header_those_that_use_what_differs_are_compiled(tree: Path) -> None:
    assert build(tree)[0] == 3
    assert build(tree, all__h=HEADER.replace("3", "5"))[0] == 1
    count, image = build(tree, all__h="/* Two. */\n" + HEADER.replace("3", "5").replace("4", "6"))
    assert count == 1
    assert build(tree, from_nothing=True, notes="")[1] == image


def test_at_a_text_that_was_there_before_nothing_is_compiled(tree: Path) -> None:
    before = build(tree)[1]
    other = build(tree, all__h=HEADER.replace("3", "5"), two__c=USES.format("two", "SCALE"))[1]
    assert other != before
    for kernel in kernels.installed():
        kernels.remove(kernel.folder.name)
    again = build(tree, all__h=HEADER, two__c=USES.format("two", "STEP"), notes="")
    assert again == (0, before)
    assert build(tree, all__h=HEADER.replace("3", "5"), two__c=USES.format("two", "SCALE"), notes="x") == (
        0, other,
    )  # fmt: skip


def test_what_nobody_uses_is_compiled_once_and_if_it_is_wrong_does_not_build(tree: Path) -> None:
    unused = "static inline int unused(int value)\n{{\n\treturn value {};\n}}\n{}"
    build(tree, all__h=HEADER + unused.format("+ 1", ""))
    assert build(tree, all__h=HEADER + unused.format("+ 2", ""))[0] == 1
    assert build(tree, all__h=HEADER + unused.format("+ 1", ""), notes="")[0] == 0
    with pytest.raises(BuildError, match="nonsense"):
        build(tree, all__h=HEADER + unused.format("+ nonsense", ""))
    with pytest.raises(BuildError, match="too little"):
        build(tree, all__h=HEADER + unused.format("+ 1", '_Static_assert(STEP > 5, "too little");\n'))
    assert build(tree, all__h=HEADER + unused.format("+ 1", '_Static_assert(STEP > 3, "x");\n'))[0] == 1


def test_a_declaration_that_one_file_uses_is_compiled_for_it(tree: Path) -> None:
    build(tree)
    declared = HEADER + "int more(int value);\n"
    count, image = build(
        tree, all__h=declared, three__c=USES.format("three", "more(3)") + USES[16:].format("more", "2")
    )
    assert count == 2  # three, and one for what is new to the others
    assert build(tree, from_nothing=True, notes="")[1] == image
    with pytest.raises(BuildError, match="what"):
        build(tree, all__h=HEADER + "int more(struct what value, what);\n")


def test_a_header_that_comes_in_counts_from_then_on(tree: Path) -> None:
    build(tree)
    assert build(tree, all__h=HEADER + '#include "other.h"\n')[0] == 0
    count, image = build(tree, other__h="#undef STEP\n#define STEP 9\n")
    assert count == 1
    assert build(tree, from_nothing=True, notes="")[1] == image


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were looked at, for macros or for all of it."""
    found: list[str] = []

    def noting(look: Callable[..., object]) -> Callable[..., object]:
        def note(command: str, *rest: object) -> object:
            found.append(command.rpartition("/")[2])
            return look(command, *rest)

        return note

    monkeypatch.setattr(reuse, "seen_by", noting(reuse.seen_by))
    monkeypatch.setattr(macros, "used_by", noting(macros.used_by))
    return found


def test_who_uses_none_of_the_macros_that_differ_is_looked_at_once(tree: Path, looked: list[str]) -> None:
    build(tree)
    assert build(tree, all__h=HEADER.replace("3", "5"))[0] == 1
    first = sorted(looked)
    assert (first.count("two.c"), first.count("three.c")) == (1, 1)
    looked.clear()
    count, image = build(tree, all__h=HEADER.replace("3", "7"))
    assert count == 1
    assert {*looked} == {"one.c"}
    looked.clear()
    assert build(tree, all__h=HEADER.replace("3", "5"), notes="")[0] == 0
    assert {*looked} == {"one.c"}
    assert build(tree, all__h=HEADER.replace("3", "7"), notes="x")[1] == image
    assert build(tree, from_nothing=True, notes="y")[1] == image


def test_who_begins_to_use_a_macro_is_compiled_for_its_next_value(tree: Path, looked: list[str]) -> None:
    build(tree)
    build(tree, all__h=HEADER.replace("3", "5"))
    assert build(tree, three__c=USES.format("three", "SCALE"))[0] == 1
    count, image = build(tree, all__h=HEADER.replace("3", "9"))
    assert count == 2
    # Together with a file of its own it is looked at as a whole.
    looked.clear()
    count, image = build(tree, all__h=HEADER.replace("3", "8"), two__c=USES.format("two", "SCALE + 1"))
    assert count == 3
    assert {*looked} == {"one.c", "two.c", "three.c"}
    assert build(tree, from_nothing=True, notes="")[1] == image


def test_after_a_build_that_failed_nothing_is_spared_that_is_not_what_it_should_be(tree: Path) -> None:
    build(tree)
    build(tree, all__h=HEADER.replace("3", "5"))
    with pytest.raises(BuildError, match="nonsense"):
        build(tree, all__h=HEADER.replace("4", "6"), one__c="int one = nonsense;\n")
    # The second object, which uses it, is still of the old step; now another value differs.
    _, image = build(tree, all__h=HEADER.replace("4", "6").replace("3", "8"), one__c="int one;\n")
    assert build(tree, from_nothing=True, notes="")[1] == image


def test_what_a_failed_build_left_is_not_taken_for_what_it_is_not(tree: Path) -> None:
    build(tree)
    with pytest.raises(BuildError, match="nonsense"):
        build(tree, all__h=HEADER.replace("4", "6"), one__c="int one = nonsense;\n")
    # The second object is still of the old step.
    count, image = build(tree, all__h="/* Why. */\n" + HEADER.replace("4", "6"), one__c="int one;\n")
    assert count == 2
    assert build(tree, from_nothing=True, notes="")[1] == image


def test_what_other_flags_made_is_not_taken(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of this program may share the cache."""
    build(tree)
    with monkeypatch.context() as other:
        other.setattr("rushhour.lab.kernel.make.FLAGS", ("KCFLAGS=-O2",))
        build(tree, all__h=HEADER.replace("3", "5"))
    build(tree, all__h=HEADER, notes="")
    image = build(tree, all__h=HEADER.replace("3", "5"), notes="x")[1]
    assert build(tree, from_nothing=True, notes="y")[1] == image


def test_a_file_that_is_gone_and_asked_for_does_not_build(tree: Path) -> None:
    """Its object lies there from before, and make would take it."""
    build(tree)
    (tree / "net/three.c").unlink()
    with pytest.raises(BuildError, match=r"net/three\.o"):
        build(tree)


def test_a_header_that_is_gone_and_included_does_not_build(tree: Path) -> None:
    """The object that was made of it lies there, and to kbuild's make nothing is newer."""
    text = USES.format("three", "7")
    build(tree, three__c=f'#include "other.h"\n{text}')
    (tree / "net/other.h").unlink()
    with pytest.raises(BuildError, match=r"other\.h"):
        build(tree)
    image = build(tree, three__c=text)[1]
    assert build(tree, from_nothing=True, notes="y")[1] == image


def test_lines_count_where_an_object_has_them(tree: Path) -> None:
    build(tree)
    found = sources.resolve(f"{tree}@main", lambda _: None)
    place, source = store.cache("build", found.key), store.cache("sources", found.key) / "net/one.c"

    def moved(how: str) -> bool:
        command = f"gcc {how} -I{source.parent} -c -o net/one.o {source}"
        source.write_text(USES.format("one", "SCALE"))
        before = reuse.seen_by(command, place)
        source.write_text("\n" + source.read_text())
        return before != reuse.seen_by(command, place)

    assert not moved("-O2")
    assert moved("-g")
    assert moved("-fsanitize=undefined")


def test_the_shelf_does_not_grow_without_end(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_MOST_BYTES", 4000)
    for number in range(10, 16):
        build(tree, all__h=HEADER.replace("3", str(number)))
    place = store.cache("build", sources.resolve(f"{tree}@main", lambda _: None).key)
    kept = [*(place / reuse.SHELF).glob("*.o")]
    assert 0 < sum(one.stat().st_size for one in kept) <= 4000
