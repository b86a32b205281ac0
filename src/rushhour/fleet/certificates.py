"""Certificates of a fleet: an authority of its own, and one pair for each member.

Dask checks that a certificate is the authority's, not whose it is: whoever holds a member's key is a member.
So the authority signs for one fleet only. What can be told apart is who may be called: a client's certificate
is good for calling, not for being called.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rushhour.extras import need

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, KeyUsage, Name

# Clocks of machines that nobody minds differ by minutes; more is said before anything is started.
EARLIER = timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both as PEM."""

    certificate: str
    key: str


class Authority:
    """Signs the certificates of one fleet, all valid for the same time."""

    def __init__(self, certificate: Certificate, key: EllipticCurvePrivateKey) -> None:
        self._certificate, self._key = certificate, key

    @classmethod
    def make(cls, fleet: str, now: datetime, days: int) -> Self:
        """A new one, from a day before `now` until `days` after it."""
        need("fleet-up", "rushhour fleet up")
        from cryptography import x509  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

        key = _key()
        name = _name(f"Rush Hour fleet {fleet}")
        builder = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - EARLIER)
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def of(cls, pair: Pair) -> Self:
        """The one of a fleet that is there already.

        Raises:
            ValueError: the texts are no certificate and key.
        """
        need("fleet-up", "rushhour fleet up")
        from cryptography import x509  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

        key = serialization.load_pem_private_key(pair.key.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("no key of this program")  # noqa: TRY004 - a file's fault, not a type's
        return cls(x509.load_pem_x509_certificate(pair.certificate.encode()), key)

    @property
    def identity(self) -> str:
        """Twelve hexadecimal digits that no other fleet has."""
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415

        return self._certificate.fingerprint(hashes.SHA256()).hex()[:12]

    @property
    def begins(self) -> datetime:
        """From when on its certificates are valid."""
        return self._certificate.not_valid_before_utc

    @property
    def ends(self) -> datetime:
        """Until when they are."""
        return self._certificate.not_valid_after_utc

    @property
    def pair(self) -> Pair:
        """Its own certificate and key."""
        return _pair(self._certificate, self._key)

    def issue(self, member: str, *, called: bool) -> Pair:
        """A certificate for a member; `called` says that others call it, so that it may serve them."""
        from cryptography import x509  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.x509.oid import ExtendedKeyUsageOID as Use  # noqa: PLC0415

        key = _key()
        uses = [Use.CLIENT_AUTH, Use.SERVER_AUTH] if called else [Use.CLIENT_AUTH]
        issuer = self._key.public_key()
        builder = (
            x509.CertificateBuilder(
                self._certificate.subject, _name(member), key.public_key(), x509.random_serial_number()
            )
            .not_valid_before(self.begins)
            .not_valid_after(self.ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False)
        )
        return _pair(builder.sign(self._key, hashes.SHA256()), key)


def _key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> Name:
    from cryptography import x509  # noqa: PLC0415

    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text[:64])])


def _usage(*, signs: bool) -> KeyUsage:
    from cryptography import x509  # noqa: PLC0415

    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip


def _pair(certificate: Certificate, key: EllipticCurvePrivateKey) -> Pair:
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Pair(certificate.public_bytes(Encoding.PEM).decode(), secret.decode())
