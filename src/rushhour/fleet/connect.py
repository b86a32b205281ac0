"""Connecting: an address becomes a client of a scheduler; workers are started first where it says so."""

from __future__ import annotations

import logging
import warnings
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from rushhour.errors import FleetError, RushHourError
from rushhour.extras import need
from rushhour.fleet import deploy
from rushhour.fleet.tls import lacking, refusal, security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from distributed import Client

    from rushhour.fleet.address import Address

CONNECT_S = 20
_LOUD = ("distributed", "tornado", "asyncio", "dask_kubernetes", "kr8s")


@contextmanager
def connected(address: Address, tell: Callable[[str], None] = lambda _: None) -> Iterator[Client]:
    """A client of the scheduler, for a while; `tell` is told of workers that are started for it.

    Raises:
        ExtraError: Dask, or what starts workers, is not installed.
        FleetError: nobody answers there, or it does not accept us.
    """
    need("fleet", f"--on {address.word}")
    import dask  # noqa: PLC0415 - an extra
    from distributed import Client  # noqa: PLC0415 - an extra

    _quiet()

    class Ours(Client):  # type: ignore[misc] # Dask has no types
        """A client that nothing closes but `close`: one that has not connected would wait for ever."""

        def __del__(self) -> None:
            pass

    with ExitStack() as held:
        held.enter_context(dask.config.set(_SETTINGS))
        where: dict[str, Any] = {"address": address.scheduler}
        if address.certificates is not None:
            where["security"] = security(address.certificates, "client")
        elif address.scheduler.startswith("tls:") and (reason := lacking(address.scheduler)):
            raise FleetError(reason.message, hint=reason.hint)
        if address.kind != "scheduler":
            where = held.enter_context(deploy.started(address, tell))
        try:
            how = {"timeout": CONNECT_S, "set_as_default": False, "name": "rushhour"}
            client = _in_time(partial(Ours, **where, **how))
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise _unreachable(address, error) from error
        held.callback(client.close, 5)
        yield client


def _in_time(make: Callable[[], Client]) -> Client:
    """What is made, or an error after a while: Dask waits for ever for a scheduler that is frozen.

    Raises:
        TimeoutError: it takes too long; what goes on then ends with this process.
    """
    made: Future[Client] = Future()

    def work() -> None:
        try:
            made.set_result(make())
        except BaseException as error:  # noqa: BLE001 - told where it is waited for
            made.set_exception(error)

    Thread(target=work, name="fleet-connect", daemon=True).start()
    return made.result(timeout=2 * CONNECT_S)


_SETTINGS = {
    # A kernel's image is sent in one piece.
    "distributed.admin.large-graph-warning-threshold": "64MB",
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
}


def _quiet() -> None:
    """What Dask logs of lost connections is told by us, once and in words."""
    # Dask gives some of its loggers a level and a handler of their own, which those above do not reach.
    own = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOUD]
    for name in {*_LOUD, *own}:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"distributed\..*")


def _unreachable(address: Address, error: BaseException) -> RushHourError:
    if address.kind != "scheduler":
        return FleetError(f"the workers of {address.word} cannot be started: {error}")
    if address.scheduler.startswith("tls:") and (reason := refusal(address.scheduler, address.certificates)):
        return FleetError(reason.message, hint=reason.hint)
    return FleetError(
        f"no scheduler answers at {address.scheduler}",
        hint="is it running, and does a firewall let its port through? "
        "a scheduler with TLS is named tls://…, one without tcp://…",
    )
