"""A tree that answers as the kernel's does and builds in no time, and repositories of it."""

import subprocess
from pathlib import Path

from rushhour.lab.boot import Booted

# `linux` depends on one.c, as an image on its sources; everything is written below O, as in the kernel.
MAKEFILE = """
VERSION = 6
PATCHLEVEL = 99
allnoconfig:
\t@test "$(ARCH)" = um && test -s "$(KBUILD_KCONFIG)"
\t@(cat "$(KCONFIG_ALLCONFIG)" extra.config; echo CONFIG_HZ=1000; echo) | grep -vxFf lacks > $(O)/.config
\t@mkdir -p $(O)/include/config; echo 6.99.0 > $(O)/include/config/kernel.release
linux: $(O)/linux
$(O)/linux: one.c
\t@echo "  CC      one.o"
\t@echo "$(KCFLAGS)" > $(O)/flags
\t@gcc -c one.c -o $(O)/one.o
\t@(cat one.c; echo "$$KBUILD_BUILD_TIMESTAMP $$KBUILD_BUILD_USER$$LOCALVERSION") > $(O)/linux
"""


def starts(_kernel: object) -> Booted:
    """What is built of such a tree is no program; a test that is about something else has this for `boot`."""
    return Booted(0.1, [])


def make_tree(root: Path) -> Path:
    root.mkdir()
    (root / "Makefile").write_text(MAKEFILE)
    (root / "Kconfig").write_text('mainmenu "x"\n\nsource "init/Kconfig"\n')
    (root / "lacks").write_text("CONFIG_NET_SCH_CBQ=y\n")
    (root / "extra.config").write_text("")
    (root / "one.c").write_text("int one;\n")
    (root / "arch/um").mkdir(parents=True)
    (root / "arch/um/Makefile").write_text("LINK_WRAPS = -Wl,--wrap,malloc\n")
    return root


def git(tree: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", tree, *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(tree: Path, message: str, **files: str) -> str:
    """Write files (a double underscore stands for the dot) and commit them."""
    for name, text in files.items():
        (tree / name.replace("__", ".")).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", "-m", message)
    return git(tree, "rev-parse", "HEAD")
