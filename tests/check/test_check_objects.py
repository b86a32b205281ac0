"""Changes of options, flags and headers: told by the objects that both kernels are linked of."""

from pathlib import Path

import pytest
from checks import BODY, elsewhere, judged, measured
from fakes import FakeLab
from little_tree import commit, git

from rushhour.check.built import Built
from rushhour.check.change import Change, FileChange
from rushhour.check.reach import is_indirect
from rushhour.errors import UnsupportedError
from rushhour.lab import kernel as kernels

# In place of the image: of one object, the text of the configuration, and an archive that lists them.
IMAGE = """
linux: $(O)/linux
$(O)/linux: FORCE
\t@mkdir -p $(O)/arch/um/kernel
\t@gcc -O0 $(FLAGS_one) -include flags.h -c one.c -o $(O)/one.o
\t@cp $(O)/.config $(O)/arch/um/kernel/config.o
\t@cat one.c $(O)/.config flags.h > $(O)/linux
\t@cd $(O) && rm -f vmlinux.a && ar cDPrST vmlinux.a one.o arch/um/kernel/config.o
FORCE:
"""
OFF = "# CONFIG_GENTLE is not set\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree whose image has the text of its configuration, and of which it is known how it is linked."""
    made = elsewhere(tmp_path, monkeypatch)
    text = (made / "Makefile").read_text().partition("linux: ")[0]
    # Configured again when a file of Kconfig differs, as kbuild lists them.
    text = text.replace("extra.config", "Kconfig.extra")
    text += "\t@printf '\\tKconfig.extra\\n' > $(O)/include/config/auto.conf.cmd\n"
    commit(made, "linked", Makefile=text + IMAGE, flags__h="#define SPEED 1\n", Kconfig__extra="")
    return made


def test_an_option_that_is_off_is_the_same_code_and_nothing_runs(tree: Path) -> None:
    lab = measured({"bbr"})
    commit(tree, "an option", Kconfig__extra=OFF)
    found = judged(tree, lab=lab)["commits"][0]
    assert (found["verdict"], found["exit"], found.get("configuration"), lab.ran) == ("same", 0, True, [])
    assert found["sentence"] == (
        "Same: it compiles to the same code; only the text of the configuration in the image differs."
    )


def test_an_index_holds_behind_an_option_that_is_off(tree: Path) -> None:
    """What an index is of is the first kernel with the code, whose configuration has another text."""
    made = Built(tree / ".git", lambda _: None)
    first = git(tree, "rev-parse", "HEAD")
    second = commit(tree, "an option", Kconfig__extra=OFF)
    kernels_of = [made.build(one) for one in (first, second)]
    configured = [str(one.identity["config_sha256"]) for one in kernels_of]
    assert configured[0] != configured[1]
    assert made.identity(second)["config_sha256"] == configured[1]
    made.same(first, second)
    assert (made.origin(second), made.identity(second)["config_sha256"]) == (first, configured[0])


def test_an_option_that_code_reads_is_no_text_alone(tree: Path) -> None:
    commit(tree, "an option", Kconfig__extra=OFF, one__c=BODY.format(80))
    assert judged(tree)["verdict"] == "worse"


def test_what_a_header_makes_other_code_of_is_told(tree: Path) -> None:
    (tree / "flags.h").write_text("static int used(void) { return 2; }\nint user(void) { return used(); }\n")
    found = judged(tree, lab=measured(set()))["commits"][0]
    assert found["objects"] == ["one.o"]
    assert found["sentence"].endswith("are equal to the byte. It makes other code of one.o.")


def test_what_an_option_takes_away_is_lost(tree: Path) -> None:
    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        image = next(one for one in kernels.installed() if one.name == kernel).image.read_text()
        if OFF in image and cc == "vegas":
            raise UnsupportedError("this kernel has no congestion control vegas")
        return 90.0

    commit(tree, "no vegas", Kconfig__extra=OFF, one__c=BODY.format(80))
    found = judged(tree, lab=FakeLab(behaviour))["commits"][0]
    assert (found["verdict"], found["exit"]) == ("worse", 1)
    assert "this kernel has no congestion control vegas" in found["sentence"]
    # The other way round nothing is lost: the base has no such cell.
    git(tree, "revert", "--no-edit", "HEAD")
    assert judged(tree, lab=FakeLab(behaviour))["verdict"] == "same"


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("include/net/tcp.h", True, True),
        ("include/net/tcp.h", False, False),  # a comment
        ("net/ipv4/Makefile", True, True),
        ("net/ipv4/tcp.c", True, False),
        ("Documentation/networking/ip-sysctl.rst", True, False),
    ],
)
def test_what_may_change_the_code_of_other_files(path: str, code: bool, expected: bool) -> None:
    change = Change("a", "b", (FileChange(path, "changed", (1,), (1,), code=code),))
    assert is_indirect(change) is expected
