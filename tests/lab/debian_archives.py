"""A small archive as Debian's are, signed with a key of its own, on a server on the loopback interface."""

from __future__ import annotations

import hashlib
import io
import lzma
import subprocess
import tarfile
import threading
from contextlib import contextmanager
from email.utils import formatdate
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "linux-source-6.12"


class Signer:
    """A key of our own in a folder; its name must be short, for the socket in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        who = "Archive <archive@example.org>"
        self._gpg("--passphrase", "", "--quick-gen-key", who, "ed25519", "sign", "never")

    def public(self) -> bytes:
        return self._gpg("--export")

    def sign(self, text: str) -> bytes:
        return self._gpg("--clear-sign", "--output", "-", data=text.encode())

    def close(self) -> None:
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "gpg-agent"], check=True)

    def _gpg(self, *words: str, data: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", str(self.home), "--batch", "--quiet", *words]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout


class Archive:
    """The archive in a folder; what is changed after `publish` is no longer what was signed."""

    def __init__(self, folder: Path, signer: Signer) -> None:
        self.folder, self.signer = folder, signer
        self.packages: dict[str, bytes] = {}
        self.release = "Suite: stable\nCodename: bookworm\nArchitectures: amd64\nComponents: main\n"
        self.release += f"Date: {formatdate(usegmt=True)}\n"
        self.by_hash = True

    @property
    def suite(self) -> Path:
        return self.folder / "dists/bookworm"

    def add(self, version: str, content: bytes = b"source") -> Path:
        data = deb(f"./usr/src/{NAME}.tar.xz", content)
        path = self.folder / f"pool/{NAME}_{version}_all.deb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.packages[version] = data
        return path

    def publish(self) -> None:
        stanzas = [
            f"Package: {NAME}\nArchitecture: all\nVersion: {version}\nSize: {len(data)}\n"
            f"Filename: pool/{NAME}_{version}_all.deb\n"
            f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
            for version, data in self.packages.items()
        ]
        text = "\n".join([*stanzas, "Package: other\nArchitecture: all\nVersion: 1\n"]).encode()
        index = lzma.compress(text)
        digest = hashlib.sha256(index).hexdigest()
        place = self.suite / "main/binary-amd64"
        (place / "by-hash/SHA256").mkdir(parents=True, exist_ok=True)
        target = place / f"by-hash/SHA256/{digest}" if self.by_hash else place / "Packages.xz"
        target.write_bytes(index)
        said = "Acquire-By-Hash: yes\n" if self.by_hash else ""
        sums = f"SHA256:\n {hashlib.sha256(text).hexdigest()} {len(text)} main/binary-amd64/Packages\n"
        sums += f" {digest} {len(index)} main/binary-amd64/Packages.xz\n"
        (self.suite / "InRelease").write_bytes(self.signer.sign(self.release + said + sums))


def deb(name: str, content: bytes) -> bytes:
    """A Debian package of one file."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    members = [("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", data.getvalue())]
    return b"!<arch>\n" + b"".join(_member(*member) for member in members)


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
    return head.encode() + content + b"\n" * (len(content) % 2)


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folder's address, and what was asked of it."""
    asked: list[str] = []

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's interface
            asked.append(str(args[0]))

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()
