"""A program that counts as a kernel does: built by the kernel's builder from a little tree, run, and read."""

import subprocess
from pathlib import Path

from little_tree import MAKEFILE, make_tree

from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel
from rushhour.record import counts

TCP = """#include "../../include/net/tcp.h"
static int never(int x)
{
	return x * 3;
}

int tcp(int x)
{
	if (x > 7)
		return never(x);
	return smaller(x);
}
"""
HEADER = """static inline int smaller(int x)
{
	return x - 1;
}
"""
# Its child ends before it executed anything, as those by which a kernel tries what its host can do.
ONE = """#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int tcp(int x);
int main(int argc, char **argv)
{
	(void)argv;
	if (!fork())
		exit(0);
	wait(NULL);
	return !tcp(argc);
}
"""
# As the kernel's own makefiles: in the build directory, CFLAGS_KERNEL for each object.
RULES = """
linux: net/ipv4/tcp.o mm/one.o
\t@echo "  LD      linux"
\tgcc -static -o $@ $^ $(filter coverage.o,$(LINK_WRAPS))
net/ipv4/tcp.o mm/one.o: %.o: $(TREE)/%.c
\t@echo "  CC      $@"
\t@mkdir -p $(@D)
\tgcc -O2 $(CFLAGS_KERNEL) -c -o $@ $<
"""


def counting_tree(root: Path) -> Path:
    """A tree of which one file is covered and another is not."""
    tree = make_tree(root)
    head, _, _ = MAKEFILE.partition("linux: $(O)/linux")
    (tree / "Makefile").write_text(
        head + "linux:\n\t@$(MAKE) --no-print-directory -C $(O) -f $(CURDIR)/rules TREE=$(CURDIR) linux\n"
    )
    for name, text in {
        "rules": RULES, "net/ipv4/tcp.c": TCP, "mm/one.c": ONE, "include/net/tcp.h": HEADER,
    }.items():  # fmt: skip
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    return tree


def counting_kernel(tree: Path) -> Kernel:
    return kernels.build(str(tree), files=["coverage"])


def run_of(kernel: Kernel, place: Path, *words: str) -> dict[str, bytes]:
    """The counters of one run of the program, with so many words behind its name."""
    (place / "out").mkdir(parents=True)
    subprocess.run([kernel.image, *words], cwd=place, check=True)
    counts.pack(place / "out")
    assert [path.name for path in (place / "out").iterdir()] == [counts.FILE]
    return counts.read(place / "out" / counts.FILE)
