"""Connecting: an address becomes a client of a scheduler; workers are started first where it says so."""

from __future__ import annotations

import logging
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from rushhour.errors import FleetError, RushHourError
from rushhour.extras import need
from rushhour.fleet import deploy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client
    from distributed.security import Security

    from rushhour.fleet.address import Address, Certificates

CONNECT_S = 20
_LOUD = ("distributed", "tornado", "asyncio")


@contextmanager
def connected(address: Address) -> Iterator[Client]:
    """A client of the scheduler, for a while.

    Raises:
        ExtraError: Dask, or what starts workers, is not installed.
        FleetError: nobody answers there, or it does not accept us.
    """
    need("fleet", f"--on {address.word}")
    import dask  # noqa: PLC0415 - an extra
    from distributed import Client  # noqa: PLC0415 - an extra

    _quiet()
    with ExitStack() as held:
        held.enter_context(dask.config.set(_SETTINGS))
        where: Any = address.scheduler
        if address.kind != "scheduler":
            where = held.enter_context(deploy.cluster(address))
        try:
            client = Client(
                where, timeout=CONNECT_S, set_as_default=False, name="rushhour",
                security=_security(address.certificates),
            )  # fmt: skip
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise _unreachable(address, error) from error
        held.callback(client.close, 5)
        yield client


_SETTINGS = {
    # A kernel's image is sent in one piece.
    "distributed.admin.large-graph-warning-threshold": "64MB",
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
}


def _quiet() -> None:
    """What Dask logs of lost connections is told by us, once and in words."""
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"distributed\..*")


def _security(certificates: Certificates | None) -> Security | None:
    if certificates is None:
        return None
    from distributed.security import Security  # noqa: PLC0415 - an extra

    return Security(
        tls_ca_file=str(certificates.ca),
        tls_client_cert=str(certificates.certificate),
        tls_client_key=str(certificates.key),
        require_encryption=True,
    )


def _unreachable(address: Address, error: BaseException) -> RushHourError:
    if address.kind != "scheduler":
        return FleetError(f"the workers of {address.word} cannot be started: {error}")
    said = f"{error} {error.__cause__ or ''}"
    if "certificate" in said.lower() or "ssl" in said.lower() or "TLS" in said:
        return FleetError(
            f"the scheduler {address.scheduler} and this machine do not accept each other's certificates",
            hint=f"it said: {said.strip()[:200]}",
        )
    return FleetError(
        f"no scheduler answers at {address.scheduler}",
        hint="is it running, and does a firewall let its port through? "
        "a scheduler with TLS is named tls://…, one without tcp://…",
    )
