"""Set-up on systems that lack everything: what it asks for, in whose words, and that it changes nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAIN = ("bash", "cut", "dirname", "env", "grep", "head", "id", "ls", "sed", "sh", "sort", "tr", "uname")
NOBODY = 65534


@pytest.fixture
def bare() -> Iterator[Path]:
    """A folder of programs as the smallest system has them, and no more, where anybody may read."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "bin"
        folder.mkdir()
        for name in PLAIN:
            found = shutil.which(name)
            assert found, name
            (folder / name).symlink_to(found)
        folder.parent.chmod(0o755)
        yield folder


def set_up(bare: Path, release: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/setup` as an ordinary user of a system that calls itself so."""
    tree = bare.parent / "tree"
    shutil.copytree(ROOT / "scripts", tree / "scripts")
    (tree / "src/rushhour/lab").mkdir(parents=True)
    shutil.copy(ROOT / "src/rushhour/lab/packages.txt", tree / "src/rushhour/lab")
    (bare.parent / "os-release").write_text(release)
    # The script looks there, too; a system without anything has nothing there.
    script = tree / "scripts/setup"
    script.write_text(script.read_text().replace("/usr/sbin:/sbin", "/nowhere"))
    return subprocess.run(
        [shutil.which("bash") or "bash", script, *words],
        env={"PATH": str(bare), "OS_RELEASE": str(bare.parent / "os-release")},
        user=NOBODY if os.geteuid() == 0 else None,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("release", "words"),
    [
        ("ID=debian\nVERSION_CODENAME=bookworm\n", "apt-get update && apt-get install -y "),
        ("ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n", " cargo-1.85 rustc-1.85\n"),
        ("ID=fedora\n", "    dnf install -y --setopt=install_weak_deps=False gcc binutils make flex"),
        ("ID=arch\n", "    pacman -Syu --needed --noconfirm gcc binutils"),
        ("ID=alpine\n", "    apk update && apk add gcc binutils"),
        ("ID=opensuse-leap\nID_LIKE='suse opensuse'\n", "    zypper install -y --no-recommends gcc"),
        ("ID=nixos\n", "    nix-shell -p gcc binutils gnumake"),
        ("ID=own\n", "Install them as your system does it, then run this again: gcc ld make"),
    ],
)
def test_an_ordinary_user_is_told_the_command_of_the_system(bare: Path, release: str, words: str) -> None:
    said = set_up(bare, release)
    assert said.returncode == 1
    assert said.stdout == ""
    assert words in said.stderr
    assert "linux-source" not in said.stderr
    assert "\033" not in said.stderr
    assert not (bare.parent / "tree/.venv").exists()


def test_what_a_system_cannot_have_is_said_once_and_not_asked_for(bare: Path) -> None:
    said = set_up(bare, "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n", "--test").stderr
    assert said.splitlines()[0] == "This system has no package of chromium."
    assert said.count("chromium") == 1


def test_sudo_is_part_of_the_command_where_there_is_one(bare: Path) -> None:
    (bare / "sudo").write_text("#!/bin/sh\nexit 1\n")
    (bare / "sudo").chmod(0o755)
    said = set_up(bare, "ID=debian\nVERSION_CODENAME=trixie\n").stderr
    assert "    sudo apt-get update && sudo apt-get install -y" in said


def test_pip_without_rust_says_what_is_missing(bare: Path) -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-build-isolation",
            "--no-deps",
            "--wheel-dir",
            bare,
            ROOT,
        ],
        env={"PATH": str(bare), "HOME": str(bare.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 1
    assert "building it takes cargo 1.85 or newer" in said.stdout + said.stderr
    assert "Traceback" not in said.stdout + said.stderr
    assert not list(bare.glob("*.whl"))
