"""Workers started for one command, and ended with it: on ssh hosts, in Slurm's queue, in Kubernetes.

Those on ssh hosts are a fleet as `rushhour fleet up` starts one, under a name of its own; the others are
started by Dask's deployers.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import FleetError, LabError, RushHourError, UsageError
from rushhour.extras import need
from rushhour.files import places, rooms
from rushhour.fleet import state
from rushhour.fleet.tls import security
from rushhour.lab import clock, interrupts
from rushhour.lab.host.inventory import load_inventory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from rushhour.fleet.address import Address

    Tell = Callable[[str], None]

_BORROWED, _QUEUED = "ssh-", "slurm-"
_DAYS = 30
# Its lock says that the command goes on.
_USED = "used"


@contextmanager
def started(address: Address, tell: Tell) -> Iterator[dict[str, Any]]:
    """Workers for a while; the words by which Dask's client is told of their scheduler.

    Raises:
        ExtraError: the deployer is not installed.
        UsageError: what it needs is not named.
        FleetError: it could not start.
    """
    start = {"ssh": _ssh, "slurm": _slurm, "k8s": _k8s}[address.kind]
    with start(address, tell) as words:
        yield words


@contextmanager
def _ssh(address: Address, tell: Tell) -> Iterator[dict[str, Any]]:
    need("fleet-up", f"--on {address.word}")
    from rushhour.fleet.up import Asked, up  # noqa: PLC0415 - of all that use a fleet, few start one

    assert address.inventory is not None
    inventory = load_inventory(address.inventory, fewest=1)
    with _folder(_BORROWED, tell) as home:
        try:
            made = up(home.name, inventory, Asked(), tell)
            yield {"address": made.scheduler, "security": security(state.certificates(home.name), "client")}
        finally:
            _end(home.name, tell)


def _end_what_was_left(tell: Tell) -> None:
    """End the workers of commands that were killed."""
    for path in places.config("fleet").glob("*/"):
        if path.name.startswith((_BORROWED, _QUEUED)):
            # Its lock is held as long as its command goes on.
            with suppress(UsageError, OSError), rooms.alone(path / _USED, "command"):
                _end(path.name, tell)
                if not (path / state.FILE).exists():
                    state.forget(path.name)


def _end(name: str, tell: Tell) -> None:
    from rushhour.fleet.down import down  # noqa: PLC0415 - as of `up`

    try:
        if (state.folder(name) / state.FILE).exists():
            down(name)
    except RushHourError as error:
        tell(f"{error.message}\n  rushhour fleet down --name {name} ends what is left")


@contextmanager
def _slurm(address: Address, tell: Tell) -> Iterator[dict[str, Any]]:
    need("fleet-slurm", f"--on {address.word}")
    need("fleet-up", f"--on {address.word}")
    with interrupts.kept():
        from rushhour.fleet import queue  # noqa: PLC0415 - an extra

    with _certificates(tell) as home:
        both = security(state.certificates(home.name), "client", "scheduler", "worker")
        with _by_dask(address, queue.submitted(address, both, home, tell)) as words:
            yield words


@contextmanager
def _certificates(tell: Tell) -> Iterator[Path]:
    """Certificates of one command, in a folder of this user's, whose home its jobs have, too."""
    from rushhour.fleet.certificates import Authority  # noqa: PLC0415 - an extra

    with _folder(_QUEUED, tell) as home:
        authority = Authority.make(home.name, clock.now(), _DAYS)
        state.write(home / state.AUTHORITY, authority.pair.certificate)
        pair = authority.issue("all", called=True)
        state.write_pair(home.name, pair, state.CERTIFICATE, state.KEY)
        yield home


@contextmanager
def _folder(prefix: str, tell: Tell) -> Iterator[Path]:
    """A folder of this command among those of fleets."""
    _end_what_was_left(tell)
    home = places.config("fleet")
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=home))
    except OSError as error:
        hint = "XDG_CONFIG_HOME names another place"
        raise LabError(f"cannot be made: {error.strerror}", where=str(home), hint=hint) from error
    with rooms.alone(made / _USED, "command"):
        try:
            yield made
        finally:
            if not (made / state.FILE).exists():
                state.forget(made.name)


@contextmanager
def _k8s(address: Address, tell: Tell) -> Iterator[dict[str, Any]]:
    need("fleet-k8s", f"--on {address.word}")
    from rushhour.fleet import pods  # noqa: PLC0415 - an extra

    with _by_dask(address, pods.started(address.count, tell)) as words:
        yield words


_HINTS: Mapping[str, str] = {
    "slurm": "what a job asks for stands in ~/.config/dask/jobqueue.yaml, under jobqueue.slurm",
    "k8s": "the cluster needs dask-kubernetes' operator; ~/.config/dask/kubernetes.yaml names the image",
}


@contextmanager
def _by_dask(address: Address, started: AbstractContextManager[Any]) -> Iterator[dict[str, Any]]:
    with ExitStack() as held:
        try:
            made = held.enter_context(started)
        except RushHourError:
            raise
        except Exception as error:
            # Of a command that failed Dask tells all; its last line says why.
            said = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            raise FleetError(
                f"the workers of {address.word} cannot be started: {said}", hint=_HINTS[address.kind]
            ) from error
        yield {"address": made}
