"""The pytest plugin: the fixture `rushhour`, its options and marker, and what a failing test shows.

It is loaded at the start of every pytest in an environment with Rush Hour, so it imports what it needs when a
test asks for the fixture.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    import pluggy

    from rushhour.testing import Network, Run, Setting

NAME = "rushhour"
_MARKER = (
    "rushhour(seed=1, seeds=None, kernel=None, kernels=None): runs in networks in virtual time; "
    "seeds=5 (or a list) and kernels=[...] repeat the test with each"
)
_NO_LINUX = f"virtual kernels run on Linux only, and this is {sys.platform}"
_KEYS = frozenset(("seed", "seeds", "kernel", "kernels"))


class Choice(NamedTuple):
    """With what a test is repeated."""

    kernel: str | None
    seed: int


class Lab:
    """The fixture `rushhour`: networks for one test (docs/pytest.md)."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    @property
    def seed(self) -> int:
        """The seed of this test's runs."""
        return self._setting.seed

    @property
    def kernel(self) -> str | None:
        """The kernel under test by name; None: that of the latest version."""
        return self._setting.kernel

    @property
    def runs(self) -> Sequence[Run]:
        """The runs of this test, in order."""
        return tuple(self._setting.runs)

    def network(self, scenario: str | Path | None = None, **keys: Any) -> Network:
        """A network from keyword arguments, or a scenario; see `rushhour.testing.Network`."""
        __tracebackhide__ = True
        from rushhour.testing import Network  # noqa: PLC0415 - only where a test asks

        return Network(self._setting, scenario, **keys)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of Rush Hour's group."""
    group = parser.getgroup(NAME, "Rush Hour: networks in virtual time")
    group.addoption(
        "--rushhour-kernel", action="append", metavar="K", default=[],
        help="kernel under test, instead of the latest version; several: each test with each",
    )  # fmt: skip
    group.addoption(
        "--rushhour-seeds", type=int, metavar="N", help="run each test with N seeds: 1, 2, ..., N"
    )
    group.addoption("--rushhour-fresh", action="store_true", help="run also what is known from before")
    group.addoption(
        "--rushhour-require",
        action="store_true",
        help="fail, instead of skip, where virtual kernels cannot run",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say that the marker is ours."""
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat a test with the seeds and kernels that its marker or the command line names."""
    if NAME not in metafunc.fixturenames:
        return
    said = _said(metafunc.definition)
    seeds, kernels = _seeds(said, metafunc.config), _kernels(said, metafunc.config)
    choices = [Choice(kernel, seed) for kernel in kernels for seed in seeds]
    if len(choices) > 1:
        names = [
            "-".join(
                ([str(one.kernel)] if len(kernels) > 1 else [])
                + ([f"seed{one.seed}"] if len(seeds) > 1 else [])
            )
            for one in choices
        ]
        metafunc.parametrize(NAME, choices, ids=names, indirect=True)


def _said(item: pytest.Item | Any) -> dict[str, Any]:
    """What the markers of a test say, the nearest first."""
    said: dict[str, Any] = {}
    for marker in item.iter_markers(NAME):
        odd = [str(word) for word in marker.args] + sorted(marker.kwargs.keys() - _KEYS)
        if odd:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker rushhour takes no {odd[0]}: it takes {', '.join(sorted(_KEYS))}"
            )
        said = {**marker.kwargs, **said}
    return said


def _seeds(said: dict[str, Any], config: pytest.Config) -> list[int]:
    if "seeds" in said:
        seeds = said["seeds"]
        return list(range(1, seeds + 1)) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    many = config.getoption("rushhour_seeds")
    first = int(said.get("seed", 1))
    return list(range(first, first + many)) if many else [first]


def _kernels(said: dict[str, Any], config: pytest.Config) -> list[str | None]:
    asked = config.getoption("rushhour_kernel")
    if asked:
        return list(asked)
    return list(said.get("kernels") or [said.get("kernel")])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that has the fixture, so that `-m rushhour` finds it."""
    for item in items:
        if NAME in getattr(item, "fixturenames", ()) and item.get_closest_marker(NAME) is None:
            item.add_marker(NAME)


@pytest.fixture
def rushhour(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    """Networks in virtual time: the real Linux kernel's, the same every time (docs/pytest.md)."""
    from rushhour.lab import kernel, uml  # noqa: PLC0415 - only where a test asks

    choice = getattr(request, "param", None)
    if choice is None:
        said = _said(request.node)
        choice = Choice(_kernels(said, request.config)[0], _seeds(said, request.config)[0])
    if why := _said_by(uml.require) if sys.platform == "linux" else _NO_LINUX:
        _cannot(request, why)
    if why := _said_by(lambda: kernel.find(choice.kernel) if choice.kernel else kernel.default()):
        pytest.fail(f"Rush Hour cannot run this test: {why}", pytrace=False)
    from rushhour.testing import Setting  # noqa: PLC0415

    setting = Setting(
        tmp_path / NAME,
        request.path.parent,
        choice.kernel,
        choice.seed,
        fresh=request.config.getoption("rushhour_fresh"),
    )
    request.node.stash[_RUNS] = setting
    return Lab(setting)


_RUNS = pytest.StashKey["Setting"]()


def _said_by(check: Callable[[], object]) -> str | None:
    """What a check complains of."""
    from rushhour.errors import RushHourError  # noqa: PLC0415 - only where a test asks

    try:
        check()
    except RushHourError as error:
        return str(error)
    return None


def _cannot(request: pytest.FixtureRequest, why: str) -> None:
    if request.config.getoption("rushhour_require"):
        pytest.fail(f"--rushhour-require: {why}", pytrace=False)
    pytest.skip(f"Rush Hour cannot run here: {why}")


# The wrapper that pytest 7 knows, too: a plugin that it cannot load would stop every other test.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
    """Show what ran in a test that failed: the record's folder, how programs ended, their last words."""
    outcome = yield
    report = outcome.get_result()
    setting = item.stash.get(_RUNS, None)
    if call.when == "call" and report.failed and setting is not None:
        for number, run in enumerate(setting.runs, 1):
            which = f" {number} of {len(setting.runs)}" if len(setting.runs) > 1 else ""
            report.sections.append((f"Rush Hour: run{which}", run.told()))
