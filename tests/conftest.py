"""The rings of tests: which this machine can run, and which it must.

A ring that cannot run is skipped with the reason, unless `RUSHHOUR_REQUIRE` names it: then its tests fail.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import listings
import pytest


def _lacks_kernel() -> str | None:
    from rushhour.errors import RushHourError  # noqa: PLC0415
    from rushhour.lab import agent, kernel  # noqa: PLC0415

    try:
        kernel.default()
        agent.find()
    except RushHourError as error:
        return str(error)
    return None


def _lacks_browser() -> str | None:
    from rushhour.lab import packages  # noqa: PLC0415

    return None if shutil.which("chromium") else f"chromium is not installed: {packages.advice('chromium')}"


def _lacks_database() -> str | None:
    from databases import programs  # noqa: PLC0415 - only where it is asked

    from rushhour.lab import packages  # noqa: PLC0415

    return None if programs() else f"PostgreSQL is not installed: {packages.advice('postgresql')}"


def _lacks_root() -> str | None:
    from rushhour.errors import RushHourError  # noqa: PLC0415
    from rushhour.lab import agent  # noqa: PLC0415

    if os.geteuid() != 0:
        return "not root"
    try:
        agent.find()
    except RushHourError as error:
        return str(error)
    return None


def _lacks_index() -> str | None:
    from rushhour.errors import RushHourError  # noqa: PLC0415
    from rushhour.lab.kernel import store  # noqa: PLC0415
    from shipping import release  # noqa: PLC0415 - only where it is asked

    try:
        release.wheelhouse(store.cache(f"wheelhouse-{sys.version_info.major}.{sys.version_info.minor}"))
    except RushHourError as error:
        return str(error)
    return None


def _lacks_packetdrill() -> str | None:
    from rushhour.errors import RushHourError  # noqa: PLC0415
    from rushhour.lab import drill  # noqa: PLC0415

    named = os.environ.get(drill.VARIABLE) or shutil.which(drill.NAME)
    if not named:
        return f"no packetdrill: name its program or a clone of its source in {drill.VARIABLE}"
    try:
        drill.find(None, None, [])
    except RushHourError as error:
        return str(error)
    return None


def _lacks_crates() -> str | None:
    from crates import NoProgramError, quic  # noqa: PLC0415 - only where it is asked

    try:
        quic()
    except NoProgramError as error:
        return str(error)
    return None


# A property is true or false; how long an example takes says how busy the machine is.
hypothesis.settings.register_profile("rings", deadline=None)
hypothesis.settings.load_profile("rings")

pytest_plugins = ["experiments", "databases", "sharing_out"]


@pytest.fixture(autouse=True)
def _without_packaged_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests are of kernels that are built here, whatever packages this environment has got since."""
    from rushhour.lab.kernel import wheels  # noqa: PLC0415

    folders = wheels.folders

    def others() -> Iterator[tuple[wheels.Package, Path]]:
        return (found for found in folders() if not found[1].is_relative_to(sys.prefix))

    monkeypatch.setattr(wheels, "folders", others)


RINGS: dict[str, Callable[[], str | None]] = {
    "virtual": _lacks_kernel,
    "browser": _lacks_browser,
    "database": _lacks_database,
    "host": _lacks_root,
    "index": _lacks_index,
    "packetdrill": _lacks_packetdrill,
    "crates": _lacks_crates,
}
_lacking: dict[str, str | None] = {}


def pytest_configure() -> None:
    """Let this process heed interrupts, and so what it starts, and list folders in no file system's order.

    In a shell's background interrupts are ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    listings.shuffle(os.environ.get(listings.VARIABLE, ""))


def pytest_xdist_auto_num_workers() -> int:
    """One more than CPUs: tests in real time wait more than they work."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_runtest_setup(item: pytest.Item) -> None:
    required = {name.strip() for name in os.environ.get("RUSHHOUR_REQUIRE", "").split(",")}
    for ring, lacks in RINGS.items():
        if item.get_closest_marker(ring) is None:
            continue
        if ring not in _lacking:
            _lacking[ring] = lacks()
        if reason := _lacking[ring]:
            if ring in required:
                pytest.fail(f"the ring {ring!r} is required and cannot run: {reason}")
            pytest.skip(f"the ring {ring!r} cannot run: {reason}")
