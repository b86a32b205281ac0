"""Debian's archive without apt: what is fetched is what was signed, and what is wrong is said."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path

import pytest
from debian_archives import Archive, Signer, served
from hypothesis import given
from hypothesis import strategies as st

from rushhour.errors import DOCTOR, KernelError, UsageError
from rushhour.lab import packages
from rushhour.lab.kernel import archive, debian, keys, mirror, sources


def quiet(_text: str) -> None:
    pass


@pytest.fixture(scope="module")
def signers() -> Iterator[list[Signer]]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        made = [Signer(Path(one)), Signer(Path(two))]
        yield made
        for signer in made:
            signer.close()


@pytest.fixture
def debians(tmp_path: Path, signers: list[Signer], monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    """An archive of our own where Debian's would be, and a machine without apt."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(debian, "_APT", ("no-apt-here",))
    monkeypatch.setattr(debian, "_installed", lambda _package: None)
    monkeypatch.setattr(keys, "shipped", signers[0].public)
    monkeypatch.setattr(keys, "KEYRING", Path("/nowhere"))
    made = Archive(tmp_path / "web/debian", signers[0])
    with served(tmp_path / "web") as (url, _):
        monkeypatch.setenv(mirror.VARIABLE, f"{url}/debian {url}/debian-security")
        made.add("6.12.9-1", b"nine")
        made.add("6.12.10-1~deb12u1", b"ten")
        made.publish()
        yield made


def content(spec: str) -> bytes:
    found = sources.resolve(spec, quiet)
    assert found.archive
    return found.archive.read_bytes()


def test_the_newest_version_is_fetched_without_apt(debians: Archive) -> None:
    found = sources.resolve("debian:6.12", quiet)
    assert found.facts == {"kind": "debian", "package": "linux-source-6.12", "version": "6.12.10-1~deb12u1"}
    assert content("debian:6.12") == b"ten"
    assert content("debian:6.12@6.12.9-1") == b"nine"
    shutil.rmtree(debians.folder)
    assert content("debian:6.12") == b"ten"  # nothing is asked of the network again today


@pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt here")
def test_apt_fetches_by_the_same_keys(debians: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_APT", ("apt-get",))
    with pytest.raises(
        KernelError, match=r"6\.12\.8-1 is not there; there are 6\.12\.10-1~deb12u1, 6\.12\.9-1$"
    ):
        content("debian:6.12@6.12.8-1")
    assert content("debian:6.12@6.12.9-1") == b"nine"
    assert debians.suite.is_dir()


@pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt here")
def test_apt_is_not_given_what_another_key_signed(
    debians: Archive, signers: list[Signer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "_APT", ("apt-get",))
    debians.signer = signers[1]
    debians.publish()
    with pytest.raises(KernelError, match=r"archive could not be read: .*(NO_PUBKEY|signature|signed)"):
        content("debian:6.12@6.12.9-1")


def test_an_index_without_hashes_in_its_names_will_do(debians: Archive) -> None:
    shutil.rmtree(debians.suite)
    debians.by_hash = False
    debians.publish()
    assert content("debian:6.12") == b"ten"


def test_a_package_that_was_changed_is_refused(debians: Archive) -> None:
    path = debians.add("6.12.10-1~deb12u1", b"evil")
    assert path.is_file()
    with pytest.raises(KernelError, match="not the one that Debian's signed index describes"):
        content("debian:6.12")
    assert not list((Path(os.environ["XDG_CACHE_HOME"]) / "rushhour/sources").iterdir())


def test_an_index_that_was_changed_is_refused(debians: Archive) -> None:
    for path in debians.suite.rglob("by-hash/SHA256/*"):
        path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(KernelError, match="not the one that was signed"):
        content("debian:6.12")


def test_a_release_that_was_changed_is_refused(debians: Archive) -> None:
    release = debians.suite / "InRelease"
    release.write_bytes(release.read_bytes().replace(b"Suite: stable", b"Suite: stabl3"))
    with pytest.raises(KernelError, match="signature is missing, wrong"):
        content("debian:6.12")


def test_a_release_without_a_signature_is_refused(debians: Archive) -> None:
    release = debians.suite / "InRelease"
    text = release.read_text()
    release.write_text(text[text.index("Suite:") : text.index("-----BEGIN PGP SIGNATURE")])
    with pytest.raises(KernelError, match="signature is missing, wrong"):
        content("debian:6.12")


def test_text_around_the_signed_part_is_not_believed(debians: Archive) -> None:
    """An index that only stands beside the signed text, with its own checksum, is never looked at."""
    (index,) = debians.suite.rglob("by-hash/SHA256/*")
    evil = index.read_bytes() + b"\0"
    digest = hashlib.sha256(evil).hexdigest()
    index.with_name(digest).write_bytes(evil)
    release = debians.suite / "InRelease"
    around = f"SHA256:\n {digest} {len(evil)} main/binary-amd64/Packages.xz\n\n"
    release.write_bytes(around.encode() + release.read_bytes() + around.encode())
    assert content("debian:6.12") == b"ten"


def test_a_key_that_is_not_known_is_not_believed(debians: Archive, signers: list[Signer]) -> None:
    debians.signer = signers[1]
    debians.publish()
    with pytest.raises(KernelError, match="by a key that is not known"):
        content("debian:6.12")


def test_the_machines_own_keys_are_believed_too(
    debians: Archive, signers: list[Signer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debians.signer = signers[1]
    debians.publish()
    (tmp_path / "keyring.gpg").write_bytes(signers[1].public())
    monkeypatch.setattr(keys, "KEYRING", tmp_path / "keyring.gpg")
    assert content("debian:6.12") == b"ten"


@pytest.mark.parametrize(("days", "accepted"), [(1, True), (-1, False)])
def test_a_release_that_is_past_its_time_is_refused(debians: Archive, days: int, *, accepted: bool) -> None:
    debians.release += f"Valid-Until: {formatdate(time.time() + days * 86400, usegmt=True)}\n"
    debians.publish()
    if accepted:
        assert content("debian:6.12") == b"ten"
    else:
        with pytest.raises(KernelError, match="was valid until") as caught:
            content("debian:6.12")
        assert "clock" in str(caught.value.hint)


def test_without_gpgv_nothing_is_believed(debians: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_VERIFIERS", ("no-gpgv-here",))
    with pytest.raises(KernelError, match="this machine has no gpgv") as caught:
        content("debian:6.12")
    assert caught.value.hint == f"{packages.advice('gpgv')}\n  {DOCTOR}"
    assert debians.suite.is_dir()


def test_what_debian_does_not_have_is_told_from_a_network_that_is_not_there(
    debians: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KernelError, match=r"no release of Debian at .* has linux-source-4\.99"):
        content("debian:4.99")
    with pytest.raises(KernelError, match=r"there are 6\.12\.10-1~deb12u1, 6\.12\.9-1$"):
        content("debian:6.12@6.12.8-1")
    monkeypatch.setenv(mirror.VARIABLE, "http://127.0.0.1:9/debian")
    with pytest.raises(KernelError, match=r"cannot be reached: .*refused") as caught:
        content("debian:6.12")
    assert "https_proxy" in str(caught.value.hint)
    assert debians.suite.is_dir()


def test_what_was_read_before_will_do_where_the_network_is_gone(
    debians: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert content("debian:6.12") == b"ten"
    monkeypatch.setattr(archive, "FRESH_S", -1)
    monkeypatch.setattr(mirror, "_TIMEOUT_S", 1)
    (debians.suite / "InRelease").write_bytes(b"")
    assert content("debian:6.12") == b"ten"


def test_a_mirror_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mirror.VARIABLE, "ftp://example.org/debian")
    with pytest.raises(UsageError, match=mirror.VARIABLE):
        mirror.mirror("https")
    monkeypatch.setenv(mirror.VARIABLE, "http://example.org/debian/")
    assert mirror.mirror("https") == mirror.Mirror(
        "http://example.org/debian", "https://deb.debian.org/debian-security"
    )


def test_a_proxy_of_the_environment_is_used(debians: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(debians.folder.parent) as (url, asked):
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv(mirror.VARIABLE, "http://archive.example.org/debian")
        monkeypatch.setattr(mirror, "_SUITES", ("bookworm",))
        monkeypatch.setattr(mirror, "_RELEASES", ())
        with pytest.raises(KernelError):
            content("debian:6.12")  # the little server is no proxy, but it is what is asked
    assert any("http://archive.example.org/debian/dists/bookworm/InRelease" in line for line in asked)


def test_the_keys_that_come_with_the_program_are_those_it_names() -> None:
    text = Path(keys.__file__).with_name("debian-keys.asc").read_text()
    lines = [line for line in text.splitlines() if re.match(r"([0-9A-F]{4} +){9}", line)]
    with tempfile.TemporaryDirectory() as home:
        words = ["gpg", "--homedir", home, "--show-keys", "--with-colons"]
        said = subprocess.run(words, input=keys.shipped(), capture_output=True, check=True).stdout.decode()
    prints = re.findall(r"^pub:.*(?:\nrvk:.*)*\nfpr:+([0-9A-F]{40}):", said, re.MULTILINE)
    assert set(prints) == {re.sub(r"\s", "", line[:51]) for line in lines}
    assert len(prints) == 4


ASCENDING = (
    "1.0~rc1-1", "1.0-1~bpo1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0-2", "1.0a-1", "1.0+dfsg-1", "1.2-1",
    "1.10-1", "6.12.9-1", "6.12.10-1~deb12u1", "6.12.10-1", "1:0.1-1",
)  # fmt: skip


@pytest.mark.parametrize(("older", "newer"), [*pairwise(ASCENDING)])
def test_versions_are_ordered_by_debians_rules(older: str, newer: str) -> None:
    assert archive.compared(older, newer) < 0 < archive.compared(newer, older)


VERSIONS = st.from_regex(r"\A([0-3]:)?[0-9][0-9a-z.+~]{0,6}(-[0-9a-z.+~]{1,4})?\Z").filter(str.isascii)


@given(VERSIONS, VERSIONS)
def test_the_order_is_dpkgs(one: str, other: str) -> None:
    if not shutil.which("dpkg"):
        pytest.skip("no dpkg here to compare with")
    said = next(
        sign
        for word, sign in (("lt", -1), ("eq", 0), ("gt", 1))
        if not subprocess.run(["dpkg", "--compare-versions", one, word, other], check=False).returncode
    )
    assert archive.compared(one, other) == said
