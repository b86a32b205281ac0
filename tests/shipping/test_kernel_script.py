"""`scripts/kernel`: a kernel that is here, a package that is what was promised, or one that is built."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from shipping.build import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = "rushhour_kernel_6_12-6.12.117-py3-none-any.whl"
LOCK = """# A comment
rushhour-kernel-6.1==6.1.192 \\
    --hash=sha256:11
rushhour-kernel-6.12==6.12.117 \\
    --hash=sha256:22 \\
    --hash=sha256:33
rushhour-kernel-6.18==6.18.1 \\
    --hash=sha256:44
"""


class Checkout:
    """A folder with the script, and programs that note what they were asked."""

    def __init__(self, root: Path) -> None:
        self.root, self.notes = root, root / "notes"
        (root / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/kernel", root / "scripts")
        shutil.copy(ROOT / "kernels.lock", root)
        (root / ".venv/bin").mkdir(parents=True)
        self.program("rushhour", '[ "$2" = build ]')
        self.program("pip", 'for last; do :; done; [ -e "$last" ] && cat "$last" >>"$NOTES"; true')

    def program(self, name: str, body: str) -> None:
        path = self.root / ".venv/bin" / name
        path.write_text(f'#!/bin/sh\nNOTES=\'{self.notes}\'\necho {name} "$*" >>"$NOTES"\n{body}\n')
        path.chmod(0o755)

    def dist(self, *, sums: bool = True) -> Path:
        (self.root / "dist").mkdir()
        wheel = self.root / "dist" / WHEEL
        wheel.write_text("a kernel\n")
        if sums:
            line = f"{sha256(wheel.read_bytes()).hexdigest()}  {WHEEL}\n"
            (self.root / "dist/SHA256SUMS").write_text(line)
        return wheel

    def run(self, *words: str) -> tuple[list[str], str]:
        done = subprocess.run(
            [self.root / "scripts/kernel", *words], cwd="/", capture_output=True, text=True, check=True
        )
        return self.notes.read_text().splitlines(), done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "a checkout")


SHOWN = "rushhour kernel show debian-6.12 --json"
BUILT = "rushhour kernel build debian:6.12"


def test_a_kernel_that_is_here_is_enough(checkout: Checkout) -> None:
    checkout.program("rushhour", """echo '{"host_sha256": "1"}'""")
    checkout.dist()
    assert checkout.run()[0] == [SHOWN]


def test_a_kernel_of_an_earlier_version_is_linked_again(checkout: Checkout) -> None:
    checkout.program("rushhour", "echo '{}'")
    assert checkout.run()[0] == [SHOWN, BUILT]


def test_a_wheel_in_dist_is_installed_without_an_index(checkout: Checkout) -> None:
    checkout.dist()
    notes, said = checkout.run()
    installed = f"pip --disable-pip-version-check install -q --no-deps --no-index dist/{WHEEL}"
    assert notes == [SHOWN, installed, "a kernel"]
    assert WHEEL in said


@pytest.mark.parametrize("fault", ["changed", "no sums", "not named"])
def test_a_wheel_that_is_not_what_was_promised_is_left(checkout: Checkout, fault: str) -> None:
    wheel = checkout.dist(sums=fault != "no sums")
    if fault == "changed":
        wheel.write_text("another\n")
    if fault == "not named":
        (wheel.parent / "SHA256SUMS").write_text(f"{'0' * 64}  x{WHEEL}\n")
    notes, said = checkout.run()
    assert notes == [SHOWN, BUILT]
    assert "is not what dist/SHA256SUMS says" in said


def test_without_an_entry_in_the_lock_no_index_is_asked(checkout: Checkout) -> None:
    assert checkout.run()[0] == [SHOWN, BUILT]
    (checkout.root / "kernels.lock").write_text(LOCK)
    checkout.notes.unlink()
    assert checkout.run("6.19")[0] == [
        "rushhour kernel show debian-6.19 --json",
        "rushhour kernel build debian:6.19",
    ]


def test_an_index_is_asked_for_what_the_lock_says_and_nothing_else(checkout: Checkout) -> None:
    (checkout.root / "kernels.lock").write_text(LOCK)
    notes, _ = checkout.run()
    assert notes[1].startswith("pip --disable-pip-version-check install -q --no-deps --only-binary :all:")
    assert "--require-hashes -r" in notes[1]
    assert notes[2:] == [
        "rushhour-kernel-6.12==6.12.117 \\",
        "    --hash=sha256:22 \\",
        "    --hash=sha256:33",
    ]


def test_what_the_index_does_not_have_is_built(checkout: Checkout) -> None:
    (checkout.root / "kernels.lock").write_text(LOCK)
    checkout.program("pip", "false")
    assert checkout.run()[0][-1] == BUILT
