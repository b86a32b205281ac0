"""Certificates of a fleet: who believes whom, and for how long."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from rushhour.fleet.certificates import Authority, Pair

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make("lab", NOW, 30)


def context(purpose: ssl.Purpose, authority: Authority, pair: Pair, folder: Path) -> ssl.SSLContext:
    """One side, as Dask makes it: certificates of both sides, no names."""
    made = ssl.create_default_context(purpose, cadata=authority.pair.certificate)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    file = folder / "pair.pem"
    file.write_text(pair.certificate + pair.key)
    made.load_cert_chain(file)
    return made


def shake(caller: ssl.SSLContext, called: ssl.SSLContext) -> str:
    """Let two sides meet in memory: "met", or why not."""
    there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [caller.wrap_bio(here, there), called.wrap_bio(there, here, server_side=True)]
    try:
        for _ in range(4):
            for side in sides:
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        for side in sides:
            side.write(b"x")
            assert sides[side is sides[0]].read(1) == b"x"
    except ssl.SSLError as error:
        return getattr(error, "verify_message", None) or str(error)
    return "met"


def meet(caller: Pair, called: Pair, authority: Authority, folder: Path) -> str:
    return shake(
        context(ssl.Purpose.SERVER_AUTH, authority, caller, folder),
        context(ssl.Purpose.CLIENT_AUTH, authority, called, folder),
    )


def test_members_meet(authority: Authority, tmp_path: Path) -> None:
    client = authority.issue("client", called=False)
    worker = authority.issue("alice", called=True)
    assert meet(client, worker, authority, tmp_path) == "met"
    assert meet(worker, authority.issue("bob", called=True), authority, tmp_path) == "met"


def test_a_client_is_called_by_nobody(authority: Authority, tmp_path: Path) -> None:
    # Its key cannot pass for a scheduler or a worker.
    client, worker = authority.issue("client", called=False), authority.issue("alice", called=True)
    assert "certificate purpose" in meet(worker, client, authority, tmp_path)


def test_another_fleet_of_the_same_name_is_none_of_ours(authority: Authority, tmp_path: Path) -> None:
    other = Authority.make("lab", NOW, 30)
    assert other.identity != authority.identity
    worker = authority.issue("alice", called=True)
    assert "certificate" in meet(other.issue("client", called=False), worker, authority, tmp_path)
    assert "certificate" in meet(worker, other.issue("alice", called=True), authority, tmp_path)


@pytest.mark.parametrize(
    ("begun", "why"), [(-40, "certificate has expired"), (40, "certificate is not yet valid")]
)
def test_their_time(tmp_path: Path, begun: int, why: str) -> None:
    old = Authority.make("lab", NOW + timedelta(days=begun), 30)
    client, worker = old.issue("client", called=False), old.issue("alice", called=True)
    assert why in meet(client, worker, old, tmp_path)


def test_one_that_is_kept_goes_on(authority: Authority, tmp_path: Path) -> None:
    again = Authority.of(authority.pair)
    assert (again.identity, again.begins, again.ends) == (
        authority.identity,
        authority.begins,
        authority.ends,
    )
    assert again.begins == NOW - timedelta(days=1)
    assert again.ends == NOW + timedelta(days=30)
    one, other = authority.issue("client", called=False), again.issue("alice", called=True)
    assert meet(one, other, authority, tmp_path) == "met"


def test_a_member_signs_nobody(authority: Authority, tmp_path: Path) -> None:
    member = authority.issue("alice", called=True)
    forger = Authority.of(member)
    forged = forger.issue("mallory", called=True)
    chained = Pair(forged.certificate + member.certificate, forged.key)
    assert "CA certificate" in meet(chained, authority.issue("bob", called=True), authority, tmp_path)


def test_long_names_are_cut(authority: Authority) -> None:
    certificate = x509.load_pem_x509_certificate(authority.issue("h" * 100, called=True).certificate.encode())
    assert certificate.subject.rfc4514_string() == f"CN={'h' * 64}"
