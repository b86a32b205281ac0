"""What kbuild notes, as its releases write it: of 6.1, 6.12 and 7.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rushhour.errors import KernelError
from rushhour.lab.kernel import kbuild

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = '/src/scripts/link-vmlinux.sh "ld" "-m elf_x86_64 -z noexecstack" "--build-id=sha1"'
FINISH = "objcopy --set-section-flags .modinfo=noload vmlinux.unstripped vmlinux; objcopy -w vmlinux"
RELEASES = {
    "6.1": (
        {".vmlinux.cmd": f"cmd_vmlinux := {SCRIPT};  true\n"},
        [".tmp_vmlinux.kallsyms1.o", ".tmp_vmlinux.kallsyms2.o"],
        ".tmp_vmlinux.kallsyms2.o",
    ),
    "6.12": (
        {".vmlinux.cmd": f"savedcmd_vmlinux := {SCRIPT};  true\n"},
        [".tmp_vmlinux1.kallsyms.o", ".tmp_vmlinux2.kallsyms.o", "init/version-timestamp.o"],
        ".tmp_vmlinux2.kallsyms.o",
    ),
    "7.2": (
        {
            ".vmlinux.cmd": f"savedcmd_vmlinux := {FINISH}\n",
            ".vmlinux.unstripped.cmd": f'savedcmd_vmlinux.unstripped := {SCRIPT} "vmlinux.unstripped"; true',
        },
        [
            ".tmp_vmlinux2.kallsyms.o", ".tmp_vmlinux3.kallsyms.o",
            ".vmlinux.export.o", "init/version-timestamp.o",
        ],
        ".tmp_vmlinux3.kallsyms.o",
    ),
}  # fmt: skip


def built(place: Path, release: str) -> str:
    """A build directory as this release leaves it; gives the table of names."""
    notes, objects, names = RELEASES[release]
    (place / "init").mkdir()
    for name, text in notes.items():
        (place / name).write_text(f"{text}\nsource_vmlinux := /src/scripts/link-vmlinux.sh\n")
    for name in objects:
        (place / name).touch()
    return names


@pytest.mark.parametrize("release", RELEASES)
def test_how_an_image_is_linked(release: str, tmp_path: Path) -> None:
    names = built(tmp_path, release)
    assert kbuild.flags(tmp_path) == ["-m", "elf_x86_64", "-z", "noexecstack"]
    assert kbuild.names(tmp_path) == names


@pytest.mark.parametrize(
    ("release", "beside", "finishing"),
    [
        ("6.1", [], []),
        ("6.12", ["init/version-timestamp.o"], []),
        (
            "7.2",
            [".vmlinux.export.o", "init/version-timestamp.o"],
            [
                ["objcopy", "--set-section-flags", ".modinfo=noload", "/room/linked", "/room/linux"],
                ["objcopy", "-w", "/room/linux"],
            ],
        ),
    ],
)
def test_what_comes_beside_the_archive_and_after_the_linker(
    release: str, beside: list[str], finishing: list[list[str]], tmp_path: Path
) -> None:
    built(tmp_path, release)
    room = tmp_path.parent.parent
    assert kbuild.beside(tmp_path) == beside
    found = kbuild.finishing(tmp_path, room / "linked", room / "linux")
    assert [[word.replace(str(room), "/room") for word in line] for line in found] == finishing


@pytest.mark.parametrize("head", ["cmd_", "savedcmd_"])
def test_the_command_of_an_object(head: str, tmp_path: Path) -> None:
    made = tmp_path / "tcp.o"
    assert kbuild.command(made) == ""
    (tmp_path / ".tcp.o.cmd").write_text(
        f"{head}net/ipv4/tcp.o := gcc -c -o net/ipv4/tcp.o /src/tcp.c\n\nx\n"
    )
    assert kbuild.note(made).is_file()
    assert kbuild.command(made) == "gcc -c -o net/ipv4/tcp.o /src/tcp.c"


def test_a_directory_that_does_not_tell_is_an_error_that_says_where(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="how the image is linked"):
        kbuild.flags(tmp_path)
    with pytest.raises(KernelError, match="table of symbol names"):
        kbuild.names(tmp_path)
    assert kbuild.beside(tmp_path) == []
    assert kbuild.finishing(tmp_path, tmp_path, tmp_path) == []
