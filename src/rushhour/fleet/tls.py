"""TLS between the machines of a fleet: 1.3 at least, with the certificates of both sides.

The only place that says what Dask has to ask of a connection.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from distributed.security import Security


@dataclass(frozen=True)
class Certificates:
    """Files with what TLS needs: who is believed, who this is, and the key that proves it."""

    ca: Path
    certificate: Path
    key: Path


def security(certificates: Certificates, *roles: Literal["client", "scheduler", "worker"]) -> Security:
    """What Dask calls and answers with, in these roles only."""
    import ssl  # noqa: PLC0415 - with what needs it

    from distributed.security import Security  # noqa: PLC0415 - an extra

    own = {f"tls_{role}_cert": str(certificates.certificate) for role in roles}
    own |= {f"tls_{role}_key": str(certificates.key) for role in roles}
    return Security(
        require_encryption=True,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        tls_ca_file=str(certificates.ca),
        **own,
    )


@dataclass(frozen=True)
class Refusal:
    """Why two machines do not talk by TLS, and what to do about it."""

    message: str
    hint: str


def lacking(scheduler: str) -> Refusal | None:
    """What is missing to call a scheduler with the certificates of Dask's own configuration."""
    if _context(None) is not None:
        return None
    return Refusal(
        f"{scheduler} needs certificates, and Dask's configuration names none",
        "distributed.comm.tls in ~/.config/dask/distributed.yaml names them; "
        "a fleet that `rushhour fleet up` started is --on fleet:NAME",
    )


def refusal(scheduler: str, certificates: Certificates | None) -> Refusal | None:
    """Why a scheduler does not take us, or we do not take it: Dask says only that the connection ended.

    Args:
        scheduler: Its address, `tls://HOST:PORT`.
        certificates: With which we call; None: those of Dask's own configuration.
    """
    import ssl  # noqa: PLC0415 - with what needs it

    try:
        asyncio.run(_call(scheduler, _context(certificates)))
    except ssl.SSLCertVerificationError as error:
        return Refusal(
            f"the certificate of the scheduler {scheduler} is not of this fleet: {error.verify_message}", _ASK
        )
    except ssl.SSLError as error:
        # What the other side says of ours, as OpenSSL names it: TLSV1_ALERT_UNKNOWN_CA.
        said = (error.reason or str(error)).partition("ALERT_")[2].replace("_", " ").lower()
        reason = _ALERTS.get(said, said or str(error))
        return Refusal(
            f"the scheduler {scheduler} does not accept this machine's certificate: {reason}", _ASK
        )
    except (OSError, TimeoutError):
        pass
    return None


def _context(certificates: Certificates | None) -> Any:
    from distributed.security import Security  # noqa: PLC0415 - an extra

    own = Security() if certificates is None else security(certificates, "client")
    return own.get_connection_args("client").get("ssl_context")


_ASK = "whoever started the fleet has certificates for it: ca.pem, client.pem and client-key.pem"
_ALERTS = {
    "unknown ca": "it is of another authority",
    "certificate expired": "it has ended",
    "certificate required": "it asks for one",
}
_PATIENCE_S = 10


async def _call(scheduler: str, context: Any) -> None:
    """Call as Dask does, and wait for the first byte: a refusal comes after the handshake."""
    host, _, port = scheduler.removeprefix("tls://").rpartition(":")
    opened = asyncio.open_connection(host.strip("[]"), int(port), ssl=context)
    reader, writer = await asyncio.wait_for(opened, _PATIENCE_S)
    try:
        await asyncio.wait_for(reader.read(1), _PATIENCE_S)
    finally:
        writer.close()
