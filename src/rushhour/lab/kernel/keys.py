"""Whose signatures on Debian's archive are believed, and whether they are there."""

from __future__ import annotations

import base64
import shutil
import subprocess
from importlib import resources
from pathlib import Path

from rushhour.errors import KernelError
from rushhour.lab import packages
from rushhour.lab.kernel import store

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The machine's own, where it has one: it may know keys that are newer than this program."""
_VERIFIERS = ("gpgv", "gpgv2")


def keyring() -> Path:
    """A keyring of the keys that come with this program and of those that the machine has."""
    target = store.cache("debian", "keys.gpg")
    keys = shipped() + (KEYRING.read_bytes() if KEYRING.is_file() else b"")
    if not target.is_file() or target.read_bytes() != keys:
        fresh = target.with_suffix(".new")
        fresh.write_bytes(keys)
        fresh.replace(target)
    return target


def shipped() -> bytes:
    """The keys that come with this program."""
    text = resources.files(__package__).joinpath("debian-keys.asc").read_text(encoding="ascii")
    block = text.partition("-----BEGIN PGP PUBLIC KEY BLOCK-----")[2].partition("-----END")[0]
    body = block.partition("\n\n")[2].rpartition("\n=")[0]
    return base64.b64decode(body)


def verified(signed: Path, where: str) -> str:
    """The text of a file that a known key signed: what the signature covers, and nothing around it.

    Args:
        signed: a file with its signature in it (`InRelease`).
        where: where it comes from, for messages.

    Raises:
        KernelError: no known key signed it, it was changed since, or no program here can tell.
    """
    program = next(filter(None, map(shutil.which, _VERIFIERS)), None)
    if program is None:
        raise KernelError(
            "Debian's signatures cannot be checked: this machine has no gpgv",
            hint=packages.advice("gpgv"),
            machine=True,
        )
    plain = signed.with_suffix(".plain")
    plain.unlink(missing_ok=True)
    words = [program, "--keyring", str(keyring()), "--status-fd", "1", "--output", str(plain), str(signed)]
    # Its exit code is of no use: a second signature by a key that is not known here is no fault.
    answer = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False).stdout
    said = {line.split()[1] for line in answer.splitlines() if line.startswith("[GNUPG:] ")}
    if "VALIDSIG" not in said or "BADSIG" in said or not plain.is_file():
        raise KernelError(
            "Debian's signature is missing, wrong or by a key that is not known: nothing is taken from there",
            where=where,
            hint="does a mirror or proxy change what it hands out? RUSHHOUR_DEBIAN_MIRROR names another",
        )
    return plain.read_text(encoding="utf-8")
