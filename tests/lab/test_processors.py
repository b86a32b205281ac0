"""A record does not depend on the processor: the C library chooses its code by what the processor can do.

Other processors are not to be had in a test, but the library can be told to see less of this one. It cannot
be told on the kernel's command line, which is the seed of its random numbers; so the guest's first process is
another one, which sets the variable and becomes the agent.
"""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest
import quick_suite

from rushhour.lab import agent
from rushhour.lab.uml import UmlLab

pytestmark = pytest.mark.virtual

BECOME = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words)
{
    setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=" MASK, 1);
    execv("/agent", words);
    return 1;
}
"""
# What is taken away, as glibc spells it (sysdeps/x86/cpu-features.c): each takes what stands before it, too.
NO_AVX512 = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-AVX512ER"
NO_AVX2 = NO_AVX512 + ",-AVX2,-AVX2_Usable,-BMI1,-BMI2,-LZCNT,-MOVBE,-FMA,-ERMS,-FSRM"
NO_AVX = NO_AVX2 + ",-AVX,-AVX_Usable,-XSAVE,-XSAVEC,-OSXSAVE"
BASELINE = NO_AVX + ",-SSE4_2,-SSE4_1,-SSSE3,-SSE3,-POPCNT,-CMPXCHG16B,-LAHF64_SAHF64"
MASKS = {"no AVX-512": NO_AVX512, "no AVX2": NO_AVX2, "no AVX": NO_AVX, "baseline": BASELINE}
# Of so many cells of the quick suite each mask meets one, each mask others: together they meet half of all.
EVERY = 8


class _Masked(agent.Agent):
    """An agent that is another program outside than in the guest."""

    @property
    def binary(self) -> Path:
        return self.root / "agent"


def masked(mask: str, folder: Path) -> UmlLab:
    """A lab whose guests see a processor without these features."""
    lab = UmlLab()
    root = folder / "root"
    shutil.copytree(lab.agent.root, root)
    (root / "init").rename(root / "agent")
    (folder / "become.c").write_text(BECOME)
    words = ["gcc", "-static", "-O1", f'-DMASK="{mask}"', "-o", str(root / "init"), str(folder / "become.c")]
    subprocess.run(words, check=True)
    lab.agent = _Masked(**dataclasses.asdict(dataclasses.replace(lab.agent, root=root)))
    return lab


@pytest.mark.parametrize(("first", "mask"), list(enumerate(MASKS)), ids=list(MASKS))
def test_with_a_lesser_processor_the_bytes_are_the_same(first: int, mask: str, tmp_path: Path) -> None:
    runs = quick_suite.jobs("debian-6.12", every=EVERY, first=first)
    (tmp_path / "all").mkdir()
    (tmp_path / "less").mkdir()
    whole = quick_suite.carried_out(runs, masked("", tmp_path / "all"))
    lesser = quick_suite.carried_out(runs, masked(MASKS[mask], tmp_path / "less"))
    assert not quick_suite.different(whole, lesser)
